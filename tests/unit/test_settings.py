"""Settings are checked when they are made, and a refusal names the setting and its range."""

import math
from typing import Any

import pytest

from specchat.engine.protocol import MAX_THREADS, Generate, Plan
from specchat.errors import InvalidSetting
from specchat.speculation.settings import (
    MAX_DRAFT_LENGTH,
    MAX_INTEGER,
    RuleChoice,
    SamplingSettings,
    SpeculationSettings,
)

GREEDY = SamplingSettings(temperature=0)
WARM = SamplingSettings(temperature=0.7)


@pytest.mark.parametrize(
    ("setting", "value", "name", "allowed"),
    [
        ("temperature", -0.1, "temperature", "0 or more"),
        ("temperature", math.nan, "temperature", "0 or more"),
        ("top_k", -1, "top-k", "0 (all) or more"),
        ("top_k", MAX_INTEGER + 1, "top-k", f"at most {MAX_INTEGER}"),
        ("top_p", 0.0, "top-p", "above 0 and at most 1"),
        ("top_p", 1.01, "top-p", "above 0 and at most 1"),
        ("min_p", -0.01, "min-p", "from 0 to 1"),
        ("min_p", 1.01, "min-p", "from 0 to 1"),
        ("repetition_penalty", 0.0, "repetition penalty", "above 0"),
        ("penalty_window", -1, "penalty window", "0 or more"),
        ("seed", -1, "seed", "from 0 to 2^63-1"),
        ("seed", 2**63, "seed", "from 0 to 2^63-1"),
    ],
)
def test_sampling_out_of_range_is_refused(
    setting: str, value: float, name: str, allowed: str
) -> None:
    with pytest.raises(InvalidSetting) as refusal:
        SamplingSettings(**{setting: value})  # type: ignore[arg-type]

    assert name in refusal.value.tried
    assert str(value) in refusal.value.tried
    assert allowed in refusal.value.happened


@pytest.mark.parametrize(
    "chosen",
    [
        {"temperature": 0.0},
        {"top_k": 0},
        {"top_k": MAX_INTEGER},
        {"top_p": 1.0},
        {"top_p": 1e-9},
        {"min_p": 0.0},
        {"min_p": 1.0},
        {"repetition_penalty": 0.01},
        {"penalty_window": 0},
        {"seed": 0},
        {"seed": 2**63 - 1},
        {"seed": None},
    ],
    ids=str,
)
def test_the_ends_of_a_range_belong_to_it(chosen: dict[str, Any]) -> None:
    settings = SamplingSettings(**chosen)

    assert {name: getattr(settings, name) for name in chosen} == chosen


@pytest.mark.parametrize("length", [-1, MAX_DRAFT_LENGTH + 1])
def test_a_draft_length_out_of_range_is_refused(length: int) -> None:
    with pytest.raises(InvalidSetting, match=f"draft length to {length}.*to {MAX_DRAFT_LENGTH}"):
        SpeculationSettings(draft_length=length)

    SpeculationSettings(draft_length=0)
    SpeculationSettings(draft_length=MAX_DRAFT_LENGTH)


@pytest.mark.parametrize(
    ("setting", "value", "name"),
    [
        ("n_ctx", 0, "context"),
        ("n_ctx", MAX_INTEGER + 1, "context"),
        ("n_threads", 0, "threads"),
        ("n_threads", MAX_THREADS + 1, "threads"),
        ("n_gpu_layers", -2, "GPU layers"),
        ("n_gpu_layers", MAX_INTEGER + 1, "GPU layers"),
        ("max_draft_length", -1, "longest draft"),
        ("max_draft_length", MAX_DRAFT_LENGTH + 1, "longest draft"),
    ],
)
def test_a_plan_out_of_range_is_refused(setting: str, value: int, name: str) -> None:
    with pytest.raises(InvalidSetting, match=f"set the {name} to {value}"):
        Plan(**{setting: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tokens", "allowed"), [(0, "1 token or more"), (MAX_INTEGER + 1, f"at most {MAX_INTEGER}")]
)
def test_an_answer_of_no_or_too_many_tokens_is_refused(tokens: int, allowed: str) -> None:
    with pytest.raises(InvalidSetting, match=f"longest answer to {tokens}.*{allowed}"):
        Generate(id=1, conversation=(), max_tokens=tokens)


@pytest.mark.parametrize("rule", ["auto", "greedy", "token"])
def test_at_temperature_zero_every_rule_is_the_greedy_one(rule: RuleChoice) -> None:
    assert SpeculationSettings(rule=rule).effective_rule(GREEDY) == "greedy"


@pytest.mark.parametrize("rule", ["auto", "token"])
def test_above_temperature_zero_tokens_are_verified(rule: RuleChoice) -> None:
    assert SpeculationSettings(rule=rule).effective_rule(WARM) == "token"


def test_the_greedy_rule_is_refused_where_it_would_lose_something() -> None:
    with pytest.raises(InvalidSetting, match=r"temperature 0\.7.*lossless at temperature 0 only"):
        SpeculationSettings(rule="greedy").effective_rule(WARM)


@pytest.mark.parametrize(
    ("settings", "has_penalties"),
    [
        (SamplingSettings(), False),
        (SamplingSettings(repetition_penalty=1.1), True),
        (SamplingSettings(presence_penalty=-0.1), True),
        (SamplingSettings(frequency_penalty=0.1), True),
        (SamplingSettings(frequency_penalty=0.1, penalty_window=0), False),
    ],
)
def test_any_penalty_with_a_window_counts(settings: SamplingSettings, has_penalties: bool) -> None:
    assert settings.has_penalties == has_penalties
