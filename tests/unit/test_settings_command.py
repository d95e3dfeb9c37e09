"""The commands read settings.toml: what is given wins, and a mistake is a sentence."""

import select
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from specchat import headless
from specchat.bench import command as bench_command
from specchat.choosing.choice import Choice
from specchat.cli import cli
from specchat.engine.protocol import Generate
from specchat.errors import InvalidSetting
from specchat.settings import settings_path
from specchat.speculation.settings import SamplingSettings, SpeculationSettings
from support.command_line import SPECCHAT, next_piece, specchat, terminal

SETTINGS = """\
[chat]
system = "Be brief."
max_tokens = 40

[sampling]
temperature = 0.5
top_k = 20

[speculation]
draft_length = 4

[loading]
context = 2048
threads = 2

[models]
target = "/models/mine.gguf"
draft = "/models/small.gguf"

[presets.code]
system = "Write code."

[presets.code.sampling]
temperature = 0.0
"""
MISTAKE = "[sampling]\n\ntemprature = 1\n"


class Asked:
    """What the command hands over, in place of an answer."""

    def __init__(self) -> None:
        self.choice: Choice | None = None
        self.request: Generate | None = None
        self.bench: dict[str, Any] = {}

    def answer(self, choice: Choice, request: Generate, *, as_json: bool) -> int:
        """Stands for `headless.run`."""
        self.choice, self.request = choice, request
        return 0

    def measure(self, options: dict[str, Any]) -> int:
        """Stands for `bench`."""
        self.bench = options
        return 0


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Settings are there, and what a command asks for is kept."""
    settings_path().write_text(SETTINGS)
    kept = Asked()
    monkeypatch.setattr(headless, "run", kept.answer)
    monkeypatch.setattr(bench_command, "bench", kept.measure)
    return kept


def run(asked: Asked, *arguments: str) -> Generate:
    """Ask for an answer with these options."""
    CliRunner().invoke(cli, ["run", "--prompt", "Hi", *arguments], catch_exceptions=False)
    assert asked.request is not None
    return asked.request


def test_an_answer_is_as_the_settings_have_it(asked: Asked) -> None:
    request = run(asked)

    assert request.sampling == SamplingSettings(temperature=0.5, top_k=20)
    assert request.speculation == SpeculationSettings(draft_length=4)
    assert request.max_tokens == 40
    assert [m.content for m in request.conversation] == ["Be brief.", "Hi"]
    assert asked.choice is not None
    assert asked.choice.load.pair.target == "/models/mine.gguf"
    assert asked.choice.load.pair.draft == "/models/small.gguf"
    assert (asked.choice.load.plan.n_ctx, asked.choice.load.plan.n_threads) == (2048, 2)


def test_an_option_that_is_given_wins_even_with_the_default_s_value(asked: Asked) -> None:
    request = run(asked, "--temperature", "0.8", "--draft-length", "auto", "--ctx", "512")

    assert request.sampling == SamplingSettings(temperature=0.8, top_k=20)
    assert request.speculation == SpeculationSettings()
    assert asked.choice is not None
    assert asked.choice.load.plan.n_ctx == 512


def test_a_preset_wins_over_the_settings_and_an_option_over_the_preset(asked: Asked) -> None:
    assert run(asked, "--preset", "code").sampling.temperature == 0
    request = run(asked, "--preset", "code", "--temperature", "1", "--system", "Hi")
    assert request.sampling == SamplingSettings(temperature=1, top_k=20)
    assert request.conversation[0].content == "Hi"


def test_a_target_that_is_named_goes_without_the_draft_of_the_settings(asked: Asked) -> None:
    run(asked, "--target", "/models/other.gguf")

    assert asked.choice is not None
    assert asked.choice.load.pair.target == "/models/other.gguf"
    assert asked.choice.load.pair.draft is None


def test_a_preset_that_is_not_there_is_refused_with_the_nearest(asked: Asked) -> None:
    with pytest.raises(InvalidSetting, match="Did you mean code"):
        run(asked, "--preset", "cod")


def test_the_bench_takes_models_and_machine_of_the_settings_and_draws_as_it_always_does(
    asked: Asked,
) -> None:
    CliRunner().invoke(cli, ["bench", "--threads", "3"], catch_exceptions=False)

    assert asked.bench["target"] == "/models/mine.gguf"
    assert asked.bench["threads"] == 3
    assert (asked.bench["temperature"], asked.bench["top_k"]) == (0.0, 40)
    assert asked.bench["ctx"] is None


@pytest.mark.parametrize("command", [("run", "--prompt", "Hi"), ("models",), ("bench", "--quick")])
def test_a_mistake_in_the_file_is_a_sentence_with_its_line(command: tuple[str, ...]) -> None:
    settings_path().write_text(MISTAKE)
    done = specchat(*command)

    assert done.returncode == 2
    assert f"{settings_path()}, line 3: There is no setting temprature here." in done.stderr
    assert "Did you mean temperature?" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_doctor_names_the_mistake_and_goes_on() -> None:
    settings_path().write_text(MISTAKE)
    done = specchat("doctor")

    assert done.returncode == 0
    assert "line 3: There is no setting temprature here" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (MISTAKE, "line 3: There is no setting temprature here."),
        ("[screen]\ntheme = 'nrod'\n", "line 2: There is no theme nrod. Did you mean nord?"),
        ("[keys]\nchat.stpo = 'f9'\n", "line 2: There is no action chat.stpo."),
        ("[keys]\nchat.stop = 'crtl+x'\n", "line 2: chat.stop: there is no key crtl+x."),
    ],
)
def test_the_chat_refuses_what_the_screen_does_not_know(text: str, says: str) -> None:
    settings_path().write_text(text)
    with terminal() as (ours, theirs):
        done = subprocess.run(
            SPECCHAT, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, timeout=60, text=True
        )
        assert not ours_has_output(ours)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def ours_has_output(ours: int) -> bool:
    """Whether anything was drawn."""
    return bool(select.select([ours], [], [], 0)[0]) and bool(next_piece(ours))


def test_folders_of_the_settings_are_looked_at(tmp_path: Path) -> None:
    folder = tmp_path / "my models"
    folder.mkdir()
    (folder / "some.gguf").write_bytes(b"no model")
    settings_path().write_text(f"[models]\nfolders = ['{folder}']\n")
    done = specchat("models")

    assert done.returncode == 0
    assert "some.gguf" in done.stdout
