"""What is kept of an answer while it comes in."""

from collections.abc import Sequence

import msgspec

from specchat.chat.parts import PartFigures
from specchat.chat.records import Message
from specchat.chat.tokens import ORIGINS
from specchat.engine.protocol import Finished, PromptProgress, Round
from specchat.speculation.controller import Source
from specchat.speculation.metrics import Figures
from specchat.tui.answer_log import AnswerLog
from support.answers import RECORD

OPENED = PromptProgress(id=1, done=5, total=5, reused=0, opened="think")


def one_round(
    text: str,
    *,
    sizes: Sequence[int] = (),
    drafted: int = 0,
    accepted: int = 0,
    source: Source | None = None,
    figures: Figures | None = None,
) -> Round:
    return Round(
        id=1,
        text=text,
        tokens=tuple(range(len(sizes))),
        sizes=tuple(sizes),
        drafted=drafted,
        accepted=accepted,
        source=source,
        reason="",
        reason_kind="fixed",
        n_past=1,
        figures=figures or Figures(),
    )


def finished(text: str, count: int) -> Finished:
    return Finished(
        id=1,
        finish_reason="stop",
        text=text,
        tail="",
        tokens=tuple(range(count)),
        n_past=1,
        seed=1,
        rule="greedy",
        drafter="chain",
        draft_length="auto",
        log_probabilities=None,
        figures=Figures(),
    )


def log_of(*events: PromptProgress | Round | Finished, begun: Message | None = None) -> AnswerLog:
    log = AnswerLog(begun)
    for event in events:
        log.hear(event)
    return log


def test_every_token_has_its_origin_and_its_characters() -> None:
    log = log_of(
        one_round("abc", sizes=(1, 1, 1), drafted=3, accepted=2, source="ngram"),
        one_round("de", sizes=(1, 1), drafted=1, accepted=1, source="model"),
    )

    assert [ORIGINS[origin] for origin in log.tokens.origins] == [
        "ngram", "ngram", "corrected", "draft", "plain",
    ]  # fmt: skip
    assert sum(log.tokens.sizes) == len("abcde")


def test_a_stop_string_takes_its_tokens_and_characters_back() -> None:
    log = log_of(one_round("ab", sizes=(2, 3, 2)), finished("abc", 2))

    assert log.tokens.ids == (0, 1)
    assert log.tokens.sizes == (2, 1)


def test_text_that_was_held_back_at_a_crash_is_nobodys() -> None:
    log = log_of(one_round("ab", sizes=(2, 3)))

    assert log.tokens.sizes == (2, 0)


def test_parts_begin_where_the_prompt_left_off() -> None:
    log = log_of(OPENED, one_round("Hm", sizes=(2,), figures=Figures(rounds=1, emitted=1)))

    assert log.opened == "think"
    assert set(log.parts) == {"thinking"}


def test_an_answer_that_goes_on_adds_to_what_was_kept() -> None:
    before = PartFigures(rounds=3, emitted=7)
    record = msgspec.structs.replace(RECORD, parts={"thinking": before}, opened="think")
    begun = Message(
        id=5, parent=None, role="assistant", text="Hm", state="stopped", created_at=0,
        answer=record,
    )  # fmt: skip
    closed = PromptProgress(id=1, done=5, total=5, reused=0)
    more = one_round(", so", sizes=(4,), figures=Figures(rounds=1, emitted=1))
    log = log_of(closed, more, begun=begun)

    assert log.opened == "think"
    assert log.parts == {"thinking": PartFigures(rounds=4, emitted=8)}
    assert log.tokens.sizes == (4,)


def test_the_timeline_has_what_each_round_added() -> None:
    first = Figures(
        rounds=1, time_to_first_token_s=0.5, decode_s=0.1, draft_s=0.02, verify_s=0.07
    )  # fmt: skip
    second = Figures(
        rounds=2, time_to_first_token_s=0.5, decode_s=0.4, draft_s=0.02, verify_s=0.27
    )  # fmt: skip
    log = log_of(
        OPENED,
        one_round("Hm", sizes=(1, 1), drafted=4, accepted=1, source="model", figures=first),
        one_round("</think>", sizes=(8,), figures=second),
    )
    timeline = log.timeline
    one, other = timeline.rounds

    assert (one.drafted, one.accepted, one.emitted, one.source) == (4, 1, 2, "model")
    assert round(one.own_s, 6) == 0.01
    assert round(other.verify_s, 6) == 0.2
    assert round(other.total_s, 6) == 0.3
    assert round(timeline.prefill_s, 6) == 0.4
    assert (one.kind, other.kind) == ("thinking", "thinking")
    assert timeline.figures == second
    assert not timeline.ended
    log.hear(finished("Hm</think>", 3))
    assert timeline.ended
