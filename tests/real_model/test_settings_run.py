"""`specchat run` in a process of its own, with a settings file and a model that answers."""

import json
from pathlib import Path

import pytest

from specchat.settings import settings_path
from support.command_line import specchat
from support.gguf_models import random_table, write_bigram

pytestmark = pytest.mark.real_model


def test_an_answer_follows_the_settings_and_an_option_wins(tmp_path: Path) -> None:
    model = write_bigram(tmp_path / "bigram.gguf", random_table(0, "abcdefgh"))
    settings_path().write_text(
        f"[models]\ntarget = '{model}'\n[chat]\nmax_tokens = 6\n"
        "[sampling]\ntemperature = 0\nseed = 5\n[speculation]\ndraft_length = 2\n"
    )
    followed = json.loads(specchat("run", "--prompt", "ab", "--json").stdout)
    given = json.loads(
        specchat("run", "--prompt", "ab", "--json", "--temperature", "0.7", "--seed", "9").stdout
    )

    assert (followed["rule"], followed["draft_length"], followed["seed"]) == ("greedy", 2, 5)
    assert (given["rule"], given["draft_length"], given["seed"]) == ("block", 2, 9)
    assert followed["emitted"] <= 6
