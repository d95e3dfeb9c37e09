"""Medians, ratios and pooled counts of answers made by hand."""

import pytest
from msgspec.structs import replace

from specchat.bench.figures import drift, rows, spread
from specchat.bench.over_time import lengths_over_time
from specchat.bench.record import Answer, Difference, Row, Spread


def answer(
    variant: str = "plain",
    *,
    set: str = "chat",
    prompt: int = 1,
    repetition: int = 1,
    rate: float | None = 10.0,
    started_s: float = 0.0,
    lengths: tuple[int, ...] = (),
    kept: tuple[int, ...] = (),
    told: bool = True,
) -> Answer:
    """An answer with the counts that its rounds come to."""
    tested = [min(keep + 1, length) for length, keep in zip(lengths, kept, strict=True)]
    emitted = sum(kept) + len(kept)
    return Answer(
        set=set,
        prompt=prompt,
        repetition=repetition,
        variant=variant,
        started_s=started_s,
        rule="greedy" if told else None,
        finish_reason="length",
        prompt_tokens=20,
        emitted=emitted,
        decode_s=2.0,
        tokens_per_second=rate,
        drafted=sum(lengths),
        accepted=sum(kept),
        tested=sum(tested) if told else None,
        rounds=len(lengths) if told else None,
        accepted_histogram=tuple(kept.count(n) for n in range(max(lengths, default=0) + 1)),
        tested_at=tuple(sum(t > n for t in tested) for n in range(max(lengths, default=0))),
        draft_s=0.5 if told else None,
        verify_s=1.25 if told else None,
        draft_decode_s=0.25 if told else None,
        step_back_s=0.1 if told else None,
        replayed=sum(kept) if told else None,
        accepted_ngram=sum(kept[:1]) if told else None,
        lengths=lengths,
        kept=kept,
        reasons={"fixed": len(lengths)} if lengths else {},
    )


def row(found: tuple[Row, ...], variant: str, set: str | None = None) -> Row:
    return next(each for each in found if (each.variant, each.set) == (variant, set))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], None),
        ([3.0], Spread(3.0, 3.0, 3.0)),
        ([1.0, 3.0], Spread(2.0, 1.5, 2.5)),
        ([5.0, 1.0, 2.0, 4.0, 3.0], Spread(3.0, 2.0, 4.0)),
    ],
)
def test_a_spread_is_the_median_between_the_quartiles(
    values: list[float], expected: Spread | None
) -> None:
    assert spread(values) == expected


def test_the_speed_up_is_the_median_of_ratios_within_a_turn() -> None:
    answers = [
        answer(prompt=1, rate=10),
        answer("model:3", prompt=1, rate=20),
        answer(prompt=2, rate=100),
        answer("model:3", prompt=2, rate=100),
        answer(prompt=2, repetition=2, rate=1),
        answer("model:3", prompt=2, repetition=2, rate=3),
    ]
    found = rows(["plain", "model:3"], ["chat"], answers, None)

    assert row(found, "model:3").speed_up == Spread(2.0, 1.5, 2.5)
    assert row(found, "model:3").tokens_per_second == Spread(20.0, 11.5, 60.0)
    assert row(found, "plain").speed_up == Spread(1.0, 1.0, 1.0)


def test_the_speed_up_is_over_plain_decoding_without_snapshots() -> None:
    """The plain answer: 4 tokens in 2 s, of which snapshots took one."""
    plain = replace(answer(lengths=(0,) * 4, kept=(0,) * 4, rate=2.0), snapshots_s=1.0)
    found = rows(["plain", "model:3"], ["chat"], [plain, answer("model:3", rate=6.0)], None)

    assert row(found, "model:3").speed_up == Spread(1.5, 1.5, 1.5)
    assert row(found, "plain").speed_up == Spread(0.5, 0.5, 0.5)


def test_an_answer_without_a_rate_has_no_ratio() -> None:
    answers = [answer(rate=None), answer("model:3", rate=20)]
    found = rows(["plain", "model:3"], ["chat"], answers, None)

    assert row(found, "plain").tokens_per_second is None
    assert row(found, "model:3").speed_up is None
    assert row(found, "model:3").answers == 1


def test_counts_are_pooled_over_answers_before_they_are_divided() -> None:
    answers = [
        answer("model:3", prompt=1, lengths=(3, 3), kept=(3, 0)),
        answer("model:3", prompt=2, lengths=(2,), kept=(1,)),
    ]
    found = row(rows(["model:3"], ["chat"], answers, None), "model:3")

    assert (found.emitted, found.drafted, found.accepted, found.tested) == (7, 8, 4, 6)
    assert found.acceptance == pytest.approx(4 / 6)
    assert found.tokens_per_round == pytest.approx(7 / 3)
    assert found.draft_share == pytest.approx(0.25)
    assert found.of_limit == pytest.approx(0.75)
    assert found.step_back_share == pytest.approx(0.05)
    assert found.ngram_share == 1.0
    assert found.accepted_histogram == (1, 1, 0, 1)
    assert found.acceptance_by_position == pytest.approx((2 / 3, 1 / 2, 1.0))
    assert found.reasons == {"fixed": 3}


def test_what_a_server_does_not_tell_is_none_and_not_zero() -> None:
    answers = [answer("llama-server:3", lengths=(3,), kept=(2,), told=False)]
    found = row(rows(["llama-server:3"], ["chat"], answers, None), "llama-server:3")

    assert (found.drafted, found.accepted) == (3, 2)
    assert found.tested is None
    assert found.acceptance is None
    assert found.tokens_per_round is None
    assert found.draft_share is None
    assert found.of_limit is None
    assert found.step_back_share is None


def test_every_set_has_rows_of_its_own() -> None:
    answers = [answer(set="chat", rate=10), answer(set="code", rate=30)]
    found = rows(["plain"], ["chat", "code"], answers, None)

    assert [(each.set, each.answers) for each in found] == [(None, 2), ("chat", 1), ("code", 1)]
    assert row(found, "plain", "code").tokens_per_second == Spread(30.0, 30.0, 30.0)


def test_differing_texts_are_counted_where_texts_were_compared() -> None:
    difference = Difference(
        set="code",
        prompt=1,
        repetition=1,
        variant="model:3",
        token=4,
        plain_text="one",
        text="other",
    )
    answers = [answer("model:3", set="chat"), answer("model:3", set="code")]

    compared = rows(["model:3"], ["chat", "code"], answers, [difference])
    assert [each.different for each in compared] == [1, 0, 1]
    assert [each.different for each in rows(["model:3"], ["chat"], answers, [])] == [0, 0]
    assert [each.different for each in rows(["model:3"], ["chat"], answers, None)] == [None, None]


def test_drift_compares_plain_in_the_last_third_with_the_first() -> None:
    slowing = [answer(rate=rate, started_s=at) for at, rate in enumerate([10, 10, 9, 9, 8, 8])]

    assert drift(slowing) == pytest.approx(-0.2)
    assert drift(slowing[::-1]) == pytest.approx(-0.2), "by time, not by place"
    assert drift([*slowing, answer("model:3", rate=99, started_s=9)]) == pytest.approx(-0.2)
    assert drift(slowing[:5]) is None


def test_lengths_over_time_are_means_by_how_far_the_answers_are() -> None:
    one = answer("auto", lengths=(3, 3, 0, 1, 2), kept=(3, 3, 0, 0, 1))
    other = answer("auto", lengths=(1, 0), kept=(1, 0))

    # Rounds at 0, 4, 8, 9 and 10 tokens, and at 0 and 2.
    assert lengths_over_time([one, other], 100) == [(0, 7 / 4), (8, 1.0)]
    # With 3 left after the token itself, a draft of 3 could still have been chosen.
    assert lengths_over_time([one], 8) == [(0, 3.0)]
    assert lengths_over_time([], 8) == []
