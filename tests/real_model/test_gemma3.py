"""A model with sliding-window attention: caches go back and are reused all the same."""

from pathlib import Path

import pytest

from specchat.engine.protocol import Message, Plan
from specchat.llama.library import Library
from specchat.speculation.settings import SpeculationSettings
from support.speaking import Speaker

pytestmark = pytest.mark.real_model

LONG = Message("user", "Here is a list of words to read. " + "apple river stone cloud " * 200)


@pytest.mark.parametrize("whole", [True, False], ids=["whole cache", "window alone"])
def test_beyond_the_window_speculative_text_is_plain_text_and_the_prefix_is_reused(
    library: Library, gemma3_path: Path, whole: bool
) -> None:
    plan = Plan(n_ctx=2048, measure_costs=False, whole_window_cache=whole)
    speaker = Speaker(library, gemma3_path, gemma3_path, plan)
    plain = speaker.answer(LONG, speculation=SpeculationSettings(drafter="none"), max_tokens=24)
    assert plain.figures.prompt_tokens > 512  # the model's window
    for length in (2, 5):
        drafted = speaker.answer(
            LONG,
            speculation=SpeculationSettings(drafter="model", draft_length=length),
            max_tokens=24,
        )
        assert drafted.tokens == plain.tokens
        assert drafted.figures.reused_tokens == plain.figures.prompt_tokens - 1
    speaker.session.close()
