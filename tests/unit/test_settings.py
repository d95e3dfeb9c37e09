"""Settings are checked when they are made, and a refusal names the setting and its range."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.engine.protocol import (
    ADDRESS,
    MAX_THREADS,
    Devices,
    Generate,
    Plan,
    require_addresses,
)
from specchat.errors import InvalidSetting
from specchat.speculation.settings import (
    MAX_DRAFT_LENGTH,
    MAX_INTEGER,
    DraftLength,
    RuleChoice,
    SamplingSettings,
    SpeculationSettings,
)

GREEDY = SamplingSettings(temperature=0)
WARM = SamplingSettings(temperature=0.7)


@pytest.mark.parametrize(
    ("setting", "value", "name", "allowed"),
    [
        ("temperature", -0.1, "temperature", "from 0 to 100"),
        ("temperature", 100.1, "temperature", "from 0 to 100"),
        ("temperature", math.nan, "temperature", "from 0 to 100"),
        ("temperature", math.inf, "temperature", "from 0 to 100"),
        ("top_k", -1, "top-k", "0 (all) or more"),
        ("top_k", MAX_INTEGER + 1, "top-k", f"at most {MAX_INTEGER}"),
        ("top_p", 0.0, "top-p", "above 0 and at most 1"),
        ("top_p", 1.01, "top-p", "above 0 and at most 1"),
        ("min_p", -0.01, "min-p", "from 0 to 1"),
        ("min_p", 1.01, "min-p", "from 0 to 1"),
        ("repetition_penalty", 0.0, "repetition penalty", "from 0.01 to 100"),
        ("repetition_penalty", 100.1, "repetition penalty", "from 0.01 to 100"),
        ("repetition_penalty", math.nan, "repetition penalty", "from 0.01 to 100"),
        ("presence_penalty", -100.1, "presence penalty", "from -100 to 100"),
        ("presence_penalty", 100.1, "presence penalty", "from -100 to 100"),
        ("presence_penalty", math.nan, "presence penalty", "from -100 to 100"),
        ("frequency_penalty", -math.inf, "frequency penalty", "from -100 to 100"),
        ("frequency_penalty", 100.1, "frequency penalty", "from -100 to 100"),
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
        {"temperature": 100.0},
        {"top_k": 0},
        {"top_k": MAX_INTEGER},
        {"top_p": 1.0},
        {"top_p": 1e-9},
        {"min_p": 0.0},
        {"min_p": 1.0},
        {"repetition_penalty": 0.01},
        {"repetition_penalty": 100.0},
        {"presence_penalty": -100.0},
        {"presence_penalty": 100.0},
        {"frequency_penalty": -100.0},
        {"frequency_penalty": 100.0},
        {"logit_bias": {0: -math.inf, 1: 1e6}},
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


@pytest.mark.parametrize(
    ("bias", "refused"),
    [
        ({-1: 1.0}, "biased token to -1.*0 or more"),
        ({5: math.inf}, "logit bias to inf.*-inf for never"),
        ({5: math.nan}, "logit bias to nan.*a number"),
    ],
    ids=["no-token", "for-certain", "no-number"],
)
def test_a_bias_that_cannot_be_added_is_refused(bias: dict[int, float], refused: str) -> None:
    with pytest.raises(InvalidSetting, match=refused):
        SamplingSettings(logit_bias=bias)


@pytest.mark.parametrize("length", [-1, MAX_DRAFT_LENGTH + 1])
def test_a_draft_length_out_of_range_is_refused(length: int) -> None:
    with pytest.raises(
        InvalidSetting, match=f"draft length to {length}.*auto, or from 0.*to {MAX_DRAFT_LENGTH}"
    ):
        SpeculationSettings(draft_length=length)


@pytest.mark.parametrize("length", ["auto", 0, MAX_DRAFT_LENGTH])
def test_a_draft_length_within_range_or_left_to_the_program_is_taken(length: DraftLength) -> None:
    assert SpeculationSettings(draft_length=length).draft_length == length


def test_unless_chosen_the_draft_is_as_long_as_it_pays() -> None:
    assert SpeculationSettings().draft_length == "auto"


@pytest.mark.parametrize(
    ("setting", "value", "name"),
    [
        ("n_ctx", 0, "context"),
        ("n_ctx", MAX_INTEGER + 1, "context"),
        ("n_threads", 0, "threads"),
        ("n_threads", MAX_THREADS + 1, "threads"),
        ("n_gpu_layers", -2, "GPU layers"),
        ("n_gpu_layers", MAX_INTEGER + 1, "GPU layers"),
        ("n_draft_gpu_layers", -2, "GPU layers"),
        ("max_draft_length", -1, "longest draft"),
        ("max_draft_length", MAX_DRAFT_LENGTH + 1, "longest draft"),
    ],
)
def test_a_plan_out_of_range_is_refused(setting: str, value: int, name: str) -> None:
    with pytest.raises(InvalidSetting, match=f"set the {name} to {value}"):
        Plan(**{setting: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "address",
    [
        "",
        "host",
        "host:",
        ":50052",
        "host:0",
        "host:65536",
        "host:port",
        "ho st:50052",
        "http://host:50052",
        "[::1]:50052",
        "me@host:50052",
        "host:50052/x",
        "host:\u0663",
        "h\u00f6st:1",
        "ho\0st:1",
    ],
)
def test_what_is_no_address_of_an_rpc_server_is_refused(address: str) -> None:
    for command in (Plan, Devices):
        with pytest.raises(InvalidSetting, match="no address"):
            command(rpc=("10.0.0.2:50052", address))


@pytest.mark.parametrize("address", ["127.0.0.1:1", "big-box.local:65535", "localhost:50052"])
def test_a_host_and_a_port_are_an_address(address: str) -> None:
    assert Plan(rpc=(address,)).rpc == Devices(rpc=(address,)).rpc == (address,)


@given(st.text(max_size=30) | st.from_regex(ADDRESS, fullmatch=True))
def test_an_address_is_taken_or_refused_in_words(text: str) -> None:
    try:
        require_addresses((text,))
    except InvalidSetting:
        return
    host, port = text.split(":")
    assert host
    assert 0 < int(port) < 65536


@pytest.mark.parametrize(
    ("tokens", "allowed"), [(0, "1 token or more"), (MAX_INTEGER + 1, f"at most {MAX_INTEGER}")]
)
def test_an_answer_of_no_or_too_many_tokens_is_refused(tokens: int, allowed: str) -> None:
    with pytest.raises(InvalidSetting, match=f"longest answer to {tokens}.*{allowed}"):
        Generate(id=1, conversation=(), max_tokens=tokens)


@pytest.mark.parametrize("rule", ["auto", "greedy", "token", "block", "coupled"])
def test_at_temperature_zero_every_rule_is_the_greedy_one(rule: RuleChoice) -> None:
    assert SpeculationSettings(rule=rule).effective_rule(GREEDY) == "greedy"


@pytest.mark.parametrize("rule", ["token", "block", "coupled"])
def test_above_temperature_zero_the_rule_is_the_one_that_was_chosen(rule: RuleChoice) -> None:
    assert SpeculationSettings(rule=rule).effective_rule(WARM) == rule


def test_above_temperature_zero_a_draft_is_verified_as_a_block_unless_chosen_otherwise() -> None:
    assert SpeculationSettings().effective_rule(WARM) == "block"


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
