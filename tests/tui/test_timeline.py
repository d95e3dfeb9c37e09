"""The timeline of an answer: every round in its place, and its figures in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot
from textual.widgets import Static

from specchat.chat.rounds import AnswerRound
from specchat.speculation.metrics import Figures
from specchat.tui.screens.timeline import TimelineScreen
from specchat.tui.timeline import Timeline
from specchat.tui.timeline_chart import (
    Heights,
    chart,
    heights,
    in_words,
    share_bar,
    share_legend,
    shares,
    summary,
)
from specchat.tui.widgets.rounds_chart import RoundsChart
from tui.screen_driver import WIDE, ask, ask_and_wait, make_app, until_ready, wait_until


def one_round(
    drafted: int = 4,
    accepted: int = 2,
    *,
    draft_s: float = 0.01,
    verify_s: float = 0.03,
    own_s: float = 0.0,
    text: str = "so on",
) -> AnswerRound:
    return AnswerRound(
        text=text,
        kind="answer",
        drafted=drafted,
        accepted=accepted,
        emitted=accepted + 1,
        source="ngram" if drafted == 5 else "model" if drafted else None,
        reason="drafting 4, fixed",
        draft_s=draft_s,
        verify_s=verify_s,
        own_s=own_s,
    )


def timeline(*rounds: AnswerRound) -> Timeline:
    made = Timeline()
    made.rounds += rounds
    made.prefill_s = 0.5
    made.figures = Figures(
        rounds=len(rounds), emitted=9, drafted=8, tested=6, accepted=4,
        decode_s=0.5, draft_s=0.1, verify_s=0.35,
    )  # fmt: skip
    made.ended = True
    return made


def rows(*rounds: AnswerRound, size: Heights, width: int = 6, cursor: int = 0) -> list[str]:
    return chart(rounds, cursor, size, width).plain.split("\n")


def test_guesses_stand_on_each_other_the_accepted_ones_below() -> None:
    shown = rows(one_round(4, 2), one_round(5, 5), one_round(0, 0), size=Heights(5, 1), cursor=1)

    assert shown == [
        " █    ",
        "░█    ",
        "░█    ",
        "██    ",
        "██    ",
        "dn·   ",
        "███   ",
        " ▲    ",
    ]


def test_long_drafts_are_drawn_to_scale() -> None:
    shown = rows(one_round(16, 6), one_round(4, 4), size=Heights(4, 1))

    assert shown[:4] == ["░     ", "░     ", "▄     ", "██    "]


def test_time_is_stacked_in_the_order_it_passes() -> None:
    slow = one_round(draft_s=0.02, verify_s=0.04, own_s=0.02)
    quick = one_round(draft_s=0.0, verify_s=0.01, own_s=0.0)

    assert rows(slow, quick, size=Heights(1, 4))[2:6] == ["░     ", "█     ", "█     ", "▒█    "]


counts = st.integers(0, 16)


@given(
    st.lists(st.tuples(counts, counts).map(lambda pair: (max(pair), min(pair))), max_size=30),
    st.integers(1, 20),
    st.integers(1, 3),
    st.integers(30, 90),
)
def test_a_chart_fills_its_place_whatever_is_in_it(
    guesses: list[tuple[int, int]], lines: int, step: int, width: int
) -> None:
    size = heights(lines, max((drafted for drafted, _ in guesses), default=0))
    made = [one_round(*each) for each in guesses[: width // step]]
    shown = chart(made, 0, size, width, step).plain.split("\n")

    assert len(shown) == size.guesses + size.times + 2 <= max(4, lines)
    assert {len(line) for line in shown} == {width}


@given(st.lists(st.floats(0, 100), min_size=4, max_size=4), st.integers(4, 120))
def test_the_bar_of_shares_is_full_and_leaves_out_no_part(times: list[float], width: int) -> None:
    made = timeline()
    made.prefill_s = times[0]
    made.figures = Figures(decode_s=sum(times[1:]), draft_s=times[1], verify_s=times[2])
    parts = shares(made)
    bar = share_bar(parts, width).plain

    assert len(bar) == (width if any(parts.values()) else 0)
    assert len(set(bar)) == sum(took > 0 for took in parts.values())


def test_the_legend_of_shares_has_percentages_and_seconds_where_there_is_room() -> None:
    parts = shares(timeline(one_round()))

    assert share_legend(parts, 100).plain == (
        "▚ prompt 0.50 s 50%  ▒ draft 0.10 s 10%  █ target 0.35 s 35%  ░ our own 0.05 s 5%"
    )
    assert share_legend(parts, 56).plain == (
        "▚ prompt 50%  ▒ draft 10%  █ target 35%  ░ our own 5%"
    )


def test_the_summary_has_the_answer_in_a_line() -> None:
    assert summary(timeline(one_round())) == "9 tokens, 1 round · 4 of 8 guesses kept · 1.0 s"
    assert summary(Timeline()).plain.startswith("No rounds yet")


@pytest.mark.parametrize(
    ("made", "outcome"),
    [
        (one_round(4, 2), "drafted 4 (draft), accepted 2, then corrected"),
        (one_round(5, 5), "drafted 5 (n-gram), accepted 5, and 1 of the target's own"),
        (one_round(3, 3)._replace(emitted=3), "drafted 3 (draft), accepted 3, the end among them"),
        (one_round(0, 0), "no guesses, 1 token of the target's own"),
    ],
)
def test_a_round_is_told_in_words(made: AnswerRound, outcome: str) -> None:
    first, reason, times, text = in_words(timeline(made), 0)

    assert first == outcome
    assert reason == "drafting 4, fixed"
    assert times == "40.0 ms: draft 10.0, target 30.0, our own 0.0"
    assert text == "words: so on"


def test_control_characters_of_a_rounds_text_are_shown_not_obeyed() -> None:
    assert in_words(timeline(one_round(text="a\n\x1b[2J")), 0)[3] == "words: a↵␛[2J"


# The screen


def words(pilot: Pilot[None]) -> str:
    """What the screen says of the round under the cursor."""
    box = pilot.app.screen.query_one("#timeline")
    return f"{box.border_subtitle}: {pilot.app.screen.query_one('#words', Static).content}"


async def open_timeline(pilot: Pilot[None]) -> None:
    await pilot.press("f6")
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, TimelineScreen))


async def test_the_cursor_goes_through_the_rounds_of_the_last_answer() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "How does it work?")
        await open_timeline(pilot)
        count = len(pilot.app.screen.query_one(RoundsChart).timeline.rounds)
        await wait_until(pilot, lambda: f"round {count} of {count}" in words(pilot))
        await pilot.press("home")
        assert "round 1 of" in words(pilot)
        assert "drafted 3 (n-gram), accepted 3, and 1 of the target's own" in words(pilot)
        await pilot.press("right", "right", "left")
        assert "round 2 of" in words(pilot)
        assert "drafted 3 (draft), accepted 2, then corrected" in words(pilot)
        await pilot.press("left", "left", "left")
        assert "round 1 of" in words(pilot)
        await pilot.press("pagedown")
        assert "round 21 of" in words(pilot)
        await pilot.press("f6")
        await wait_until(pilot, lambda: len(pilot.app.screen_stack) == 1)


async def test_a_click_goes_to_the_round_under_the_mouse() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "How does it work?")
        await open_timeline(pilot)
        step = pilot.app.screen.query_one(RoundsChart).step
        assert await pilot.click(RoundsChart, offset=(4 * step, 1))
        assert "round 5 of" in words(pilot)


async def test_a_narrow_screen_scrolls_through_a_long_answer() -> None:
    async with make_app("echo").run_test(size=(60, 16)) as pilot:
        await ask_and_wait(pilot, "a long text that comes back " * 40)
        await open_timeline(pilot)
        rounds = pilot.app.screen.query_one(RoundsChart)
        count = len(rounds.timeline.rounds)
        assert count > 60
        assert rounds.size.height >= 4
        await wait_until(pilot, lambda: f"round {count} of {count}" in words(pilot))
        assert rounds.render().plain.split("\n")[-1].rstrip().endswith("▲")
        await pilot.press("home")
        assert rounds.render().plain.split("\n")[-1].startswith("▲")


async def test_the_timeline_follows_an_answer_that_goes_on() -> None:
    async with make_app("hold").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await open_timeline(pilot)
        assert "No rounds yet" in str(app.screen.query_one("#summary", Static).content)
        await pilot.press("escape")
        await ask(pilot, "Two lines, please.")
        await wait_until(pilot, lambda: app.state == "answering")
        await open_timeline(pilot)
        summary_line = app.screen.query_one("#summary", Static)
        await wait_until(pilot, lambda: "going on" in str(summary_line.content))
