"""The sampler against a slow one that looks at every token: what may come next, and how likely."""

import math
from collections.abc import Sequence

import hypothesis
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from specchat.speculation.distribution import Distribution
from specchat.speculation.sampling import Logits, Sampler
from specchat.speculation.settings import SamplingSettings

NEVER = -math.inf
PLAIN = SamplingSettings(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0)


@st.composite
def rows_of_logits(draw: st.DrawFn, rows: int = 1) -> Logits:
    """Rows over 1 to 2000 tokens, coarse ones with many ties, and some with few finite entries."""
    n_vocab = draw(st.one_of(st.integers(1, 8), st.integers(1, 2000)))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    step = draw(st.sampled_from([0.001, 0.5, 4.0]))
    values = random.normal(0, draw(st.sampled_from([0.5, 3.0, 12.0])), (rows, n_vocab))
    logits = (np.round(values / step) * step).astype(np.float32)
    impossible = random.random((rows, n_vocab)) < draw(st.sampled_from([0.0, 0.5, 1.0]))
    impossible[:, random.integers(n_vocab)] = False
    logits[impossible] = NEVER
    return logits


tokens = st.lists(st.one_of(st.integers(0, 9), st.integers(0, 2100)), max_size=12)


@st.composite
def any_settings(draw: st.DrawFn) -> SamplingSettings:
    return SamplingSettings(
        temperature=draw(st.sampled_from([0.05, 0.3, 0.8, 1.0, 1.7, 4.0])),
        top_k=draw(st.one_of(st.sampled_from([0, 1, 40, 5000]), st.integers(0, 2000))),
        top_p=draw(st.one_of(st.just(1.0), st.floats(0.001, 0.999))),
        min_p=draw(st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.001, 0.999))),
        repetition_penalty=draw(st.sampled_from([1.0, 1.3, 0.7])),
        presence_penalty=draw(st.sampled_from([0.0, 0.75, -0.5])),
        frequency_penalty=draw(st.sampled_from([0.0, 0.3])),
        penalty_window=draw(st.integers(0, 16)),
        logit_bias=draw(
            st.dictionaries(
                st.one_of(st.integers(0, 9), st.integers(0, 2100)),
                st.sampled_from([-2.0, 1.5, NEVER]),
                max_size=4,
            )
        ),
    )


def adjusted(row: Logits, settings: SamplingSettings, before: Sequence[int]) -> list[float]:
    """Biases, then penalties, one token at a time."""
    recent = list(before)[-settings.penalty_window :] if settings.penalty_window else []
    result = []
    for token, logit in enumerate(row):
        value = np.float32(logit) + np.float32(settings.logit_bias.get(token, 0.0))
        times = np.float32(recent.count(token))
        if times:
            penalty = np.float32(settings.repetition_penalty)
            value = value / penalty if value > 0 else value * penalty
            value -= times * np.float32(settings.frequency_penalty)
            value -= np.float32(settings.presence_penalty)
        result.append(float(value))
    return result


def expected(logits: list[float], settings: SamplingSettings) -> dict[int, float]:
    """Every token's probability, stage by stage; examples that hang on rounding are given up."""
    ranked = [pair for pair in enumerate(logits) if pair[1] > NEVER]
    assume(ranked)
    ranked.sort(key=lambda pair: (-pair[1], pair[0]))
    if settings.top_k:
        ranked = ranked[: settings.top_k]
    best = ranked[0][1]
    if settings.top_p < 1:
        weights = [math.exp(logit - best) for _, logit in ranked]
        total, sum_so_far, kept = math.fsum(weights), 0.0, 0
        while sum_so_far < settings.top_p * total:
            sum_so_far += weights[kept]
            kept += 1
            assume(abs(sum_so_far / total - settings.top_p) > 1e-6)
        ranked = ranked[:kept]
    if settings.min_p > 0:
        threshold = math.log(settings.min_p)
        assume(all(abs(logit - best - threshold) > 1e-9 for _, logit in ranked if logit != best))
        ranked = [pair for pair in ranked if pair[1] - best >= threshold]
    scaled = {token: math.exp((logit - best) / settings.temperature) for token, logit in ranked}
    total = math.fsum(scaled.values())
    return {token: weight / total for token, weight in scaled.items()}


def assert_same_law(found: Distribution, wanted: dict[int, float]) -> None:
    assert list(found.ids) == sorted(set(found.ids))
    ids = set(wanted) | {int(token) for token in found.ids}
    for token in ids:
        assert found.probability(token) == pytest.approx(wanted.get(token, 0.0), abs=1e-9)


def law(logits: Sequence[float], settings: SamplingSettings) -> dict[int, float]:
    """The distribution of one row, without the impossible tokens."""
    row = np.array([logits], dtype=np.float32)
    (found,) = Sampler(settings).distributions(row, [], [])
    pairs = zip(found.ids, found.probabilities, strict=True)
    return {int(token): float(probability) for token, probability in pairs if probability > 0}


@hypothesis.settings(max_examples=400)
@given(rows_of_logits(), any_settings(), tokens)
def test_a_row_has_the_law_that_the_settings_say(
    logits: Logits, settings: SamplingSettings, context: list[int]
) -> None:
    wanted = expected(adjusted(logits[0], settings, context), settings)
    (found,) = Sampler(settings).distributions(logits, context, [])

    assert_same_law(found, wanted)


@given(rows_of_logits(rows=4), any_settings(), tokens, st.lists(st.integers(0, 9), min_size=3))
def test_each_row_comes_after_the_drafted_tokens_before_it_and_minds_no_other_row(
    logits: Logits, settings: SamplingSettings, context: list[int], drafted: list[int]
) -> None:
    sampler = Sampler(settings)
    alone = [logits[index : index + 1].copy() for index in range(4)]
    assume(all(max(adjusted(row[0], settings, [])) > NEVER for row in alone))
    together = sampler.distributions(logits, context, drafted[:3])

    for index, row in enumerate(alone):
        (wanted,) = sampler.distributions(row, [*context, *drafted[:index]], [])
        assert_same_law(
            together[index], dict(zip(map(int, wanted.ids), wanted.probabilities, strict=True))
        )


@given(rows_of_logits(), any_settings(), tokens)
def test_the_pick_is_the_most_likely_token_and_the_first_of_equals(
    logits: Logits, settings: SamplingSettings, context: list[int]
) -> None:
    values = adjusted(logits[0], settings, context)
    assume(max(values) > NEVER)

    assert Sampler(settings).picks(logits, context, []) == [values.index(max(values))]


def test_a_token_biased_to_never_does_not_come_and_is_not_picked() -> None:
    settings = SamplingSettings(temperature=1.0, logit_bias={0: NEVER})

    assert set(law([9.0, 1.0, 1.0], settings)) == {1, 2}
    assert Sampler(settings).picks(np.array([[9, 1, 1]], dtype=np.float32), [], []) == [1]


def test_a_suppressed_token_does_not_come_even_with_a_bias_in_its_favour() -> None:
    settings = SamplingSettings(temperature=1.0, logit_bias={0: 100.0})
    (found,) = Sampler(settings, suppressed=[0]).distributions(
        np.array([[9, 1, 1]], dtype=np.float32), [], []
    )

    assert found.probability(0) == 0.0
    assert found.probability(1) == pytest.approx(0.5)


def test_biases_and_recent_tokens_beyond_the_vocabulary_are_ignored() -> None:
    settings = SamplingSettings(
        temperature=1.0, logit_bias={3: 5.0, 10**6: 5.0}, presence_penalty=1.0, top_k=0, min_p=0
    )
    (found,) = Sampler(settings).distributions(np.zeros((1, 3), np.float32), [3, 10**6], [])

    assert found.probabilities == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize(
    ("settings", "logits"),
    [
        (replace(PLAIN, repetition_penalty=2.0), [1.0, -2.0, 1.0]),
        (replace(PLAIN, presence_penalty=0.5), [1.5, -1.5, 1.0]),
        (replace(PLAIN, frequency_penalty=0.5), [0.5, -1.5, 1.0]),
        (replace(PLAIN, frequency_penalty=0.5, penalty_window=2), [1.5, -1.5, 1.0]),
        (replace(PLAIN, repetition_penalty=2.0, presence_penalty=0.5), [0.5, -2.5, 1.0]),
        (replace(PLAIN, repetition_penalty=2.0, logit_bias={0: 3.0}), [2.5, -2.0, 1.0]),
        (replace(PLAIN, repetition_penalty=2.0, logit_bias={0: -3.0}), [-2.0, -2.0, 1.0]),
    ],
    ids=[
        "repetition",
        "presence",
        "frequency",
        "frequency in a window",
        "two",
        "after a bias",
        "after a bias that turns the sign",
    ],
)
def test_penalties_change_the_logits_of_recent_tokens(
    settings: SamplingSettings, logits: list[float]
) -> None:
    row = np.array([[2.0, -1.0, 1.0]], dtype=np.float32)
    (found,) = Sampler(settings).distributions(row, [0, 0, 1, 0], [])

    wanted = np.exp(logits) / np.exp(logits).sum()
    assert found.probabilities == pytest.approx(wanted, rel=1e-6)


def test_a_penalty_counts_only_the_tokens_within_its_window() -> None:
    settings = SamplingSettings(temperature=1.0, presence_penalty=50.0, penalty_window=2)
    logits = np.zeros((3, 4), np.float32)
    rows = Sampler(settings).distributions(logits, [0, 1], [2, 3])

    assert [{int(token) for token in row.ids} for row in rows] == [{2, 3}, {0, 3}, {0, 1}]


def test_top_k_keeps_the_lowest_ids_among_equals() -> None:
    assert set(law([1.0] * 500, replace(PLAIN, top_k=2))) == {0, 1}


def test_top_p_keeps_the_token_that_crosses_the_line_and_no_more() -> None:
    logits = [math.log(share) for share in (0.5, 0.3, 0.15, 0.05)]

    for top_p, kept in [(0.01, 1), (0.49, 1), (0.51, 2), (0.79, 2), (0.81, 3), (0.96, 4)]:
        assert set(law(logits, replace(PLAIN, top_p=top_p))) == set(range(kept))


@pytest.mark.parametrize("seed", range(20))
def test_top_p_next_to_one_keeps_nearly_all(seed: int) -> None:
    logits = np.random.default_rng(seed).normal(size=2000)

    assert len(law(list(logits), replace(PLAIN, top_p=math.nextafter(1.0, 0.0)))) > 1990


def test_top_p_and_min_p_look_at_the_law_before_temperature() -> None:
    hot = replace(PLAIN, temperature=100.0)

    for settings in (replace(hot, top_p=0.9), replace(hot, min_p=0.2)):
        assert set(law([0.0, -1.0, -2.0], settings)) == {0, 1}


def test_temperature_sharpens_and_flattens() -> None:
    def odds(temperature: float) -> float:
        found = law([0.0, -1.0], replace(PLAIN, temperature=temperature))
        return found[0] / found[1]

    assert [odds(t) for t in (0.5, 1.0, 2.0)] == pytest.approx([math.e**2, math.e, math.e**0.5])


@pytest.mark.parametrize("temperature", [0.5, 1.0, 4.0])
def test_unlikely_tokens_count_while_they_have_a_billionth_of_the_best_ones_probability(
    temperature: float,
) -> None:
    found = law([0.0, -20.0 * temperature], replace(PLAIN, temperature=temperature))

    assert found[1] == pytest.approx(math.exp(-20), rel=1e-6)


def test_the_context_is_left_as_it_was() -> None:
    context, drafted = [1, 2, 3], [4]
    settings = SamplingSettings(temperature=1.0, repetition_penalty=1.2)
    Sampler(settings).distributions(np.zeros((2, 9), np.float32), context, drafted)

    assert (context, drafted) == ([1, 2, 3], [4])
