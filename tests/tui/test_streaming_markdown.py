"""An answer's text while it comes in."""

from collections.abc import Sequence

import pytest
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import Markdown

from specchat.tui.widgets.steady import STEP, GrowingText
from specchat.tui.widgets.streaming_markdown import FEEDS_PER_SECOND, StreamingMarkdown
from tui.screen_driver import wait_until


class OneAnswer(App[None]):
    """Its text, and nothing else."""

    CSS_PATH = "../../app/specchat/tui/app.tcss"

    def compose(self) -> ComposeResult:
        yield StreamingMarkdown()


def text(pilot: Pilot[None]) -> StreamingMarkdown:
    return pilot.app.query_one(StreamingMarkdown)


def tail(pilot: Pilot[None]) -> GrowingText:
    return pilot.app.query_one(GrowingText)


def markdown(pilot: Pilot[None]) -> Sequence[str]:
    return [each.source.strip() for each in pilot.app.query(Markdown)]


async def write(pilot: Pilot[None], new: str, shown: str) -> None:
    """Let text come, and wait for it."""
    text(pilot).write(new)
    await wait_until(pilot, lambda: str(tail(pilot).content) == shown)


async def test_room_for_some_lines_is_made_at_once() -> None:
    async with OneAnswer().run_test() as pilot:
        await write(pilot, "one", "one")
        assert tail(pilot).size.height == STEP
        await write(pilot, "\n2\n3\n4", "one\n2\n3\n4")
        assert tail(pilot).size.height == STEP
        await write(pilot, "\n5", "one\n2\n3\n4\n5")
        assert tail(pilot).size.height == 2 * STEP


async def test_a_block_becomes_markdown_soon_after_its_end_whatever_comes() -> None:
    async with OneAnswer().run_test() as pilot:
        text(pilot).write("A *block*.\n\nAnd")
        await wait_until(pilot, lambda: markdown(pilot) == ["A *block*."])
        assert str(tail(pilot).content) == "And"


async def test_at_the_end_all_of_it_is_markdown_and_no_room_is_left() -> None:
    async with OneAnswer().run_test() as pilot:
        await write(pilot, "A *block*.\n\nAnd", "And")
        text(pilot).finish()
        await wait_until(pilot, lambda: text(pilot).is_complete)
        assert not tail(pilot).display
        assert markdown(pilot) == ["A *block*.", "And"]


@pytest.mark.parametrize("is_kept", [True, False], ids=["kept", "came in"])
async def test_once_it_has_ended_it_costs_nothing(
    monkeypatch: pytest.MonkeyPatch, is_kept: bool
) -> None:
    async with OneAnswer().run_test() as pilot:
        if not is_kept:
            await write(pilot, "An answer.", "An answer.")
        text(pilot).write("More.")
        text(pilot).finish()
        await wait_until(pilot, lambda: text(pilot).is_complete)
        calls: list[object] = []
        monkeypatch.setattr(GrowingText, "update", lambda *_, **__: calls.append(1))
        await pilot.pause(3 / FEEDS_PER_SECOND)
        assert calls == []


async def test_blocks_that_end_together_are_one_piece_but_long_lists_stay_cut() -> None:
    items = "".join(f"{number}. item\n" for number in range(1, 42))
    async with OneAnswer().run_test() as pilot:
        text(pilot).write(f"One.\n\nTwo.\n\n{items}\nThree.")
        text(pilot).finish()
        await wait_until(pilot, lambda: text(pilot).is_complete)
        first, second, third = markdown(pilot)
        assert first.startswith("One.\n\nTwo.\n\n1. item")
        assert second.startswith("21. item")
        assert third == "41. item\n\nThree."
