"""What the screen that compares asks of the engine gives the same text twice."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from specchat.engine.protocol import Message, Plan
from specchat.llama.library import Library
from specchat.speculation.settings import SamplingSettings, SpeculationSettings
from specchat.tui.comparison import Side, agreement, settings_for, speed_up
from support.speaking import Speaker

pytestmark = pytest.mark.real_model

QUESTION = Message("user", "Explain why the sky is blue.")


@pytest.fixture(scope="module")
def speaker(library: Library, smollm2_path: Path, worse_path: Path) -> Iterator[Speaker]:
    """SmolLM2, and its worse self as draft."""
    plan = Plan(n_ctx=2048, n_threads=1, measure_costs=False)
    speaker = Speaker(library, smollm2_path, worse_path, plan)
    yield speaker
    speaker.session.close()


@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.2])
@pytest.mark.parametrize("chosen", [SpeculationSettings(draft_length=3), SpeculationSettings()])
def test_plain_and_drafted_answers_are_called_identical(
    speaker: Speaker, temperature: float, chosen: SpeculationSettings
) -> None:
    sampling = SamplingSettings(temperature=temperature, seed=3)
    sampling, *both = settings_for(sampling, chosen)
    sides = []
    for speculation in both:
        side = Side()
        side.finish(
            speaker.answer(QUESTION, sampling=sampling, speculation=speculation, max_tokens=48)
        )
        sides.append(side)
    assert sides[0].figures.drafted == 0
    assert agreement(*sides) == f"identical, {sides[0].figures.emitted} tokens"
    assert speed_up(*sides)
    if chosen.draft_length == 3:
        assert sides[1].figures.accepted > 0
