"""Where tokens came from, in the chat: asked for by key, kept with the answer, thinking apart."""

from textual.content import Content
from textual.pilot import Pilot

from specchat.chat.tokens import Tokens
from specchat.tui.widgets.answer_body import OriginView
from specchat.tui.widgets.messages import Answer
from specchat.tui.widgets.thought import ThoughtLine
from tui.screen_driver import (
    WIDE,
    ask,
    ask_and_wait,
    chat,
    make_app,
    panel,
    screen,
    until_ready,
    wait_until,
)
from tui.scripted_engine import ANSWER, THINKING, THOUGHT


def marked(pilot: Pilot[None]) -> list[str]:
    """The texts that are shown by origin, each with its legend below it."""
    views = pilot.app.query(OriginView)
    return [view.content.plain for view in views if isinstance(view.content, Content)]


def as_marked(text: str) -> str:
    """How a text looks by origin."""
    return text.replace("\n", "↵\n")


def kept_tokens(pilot: Pilot[None]) -> Tokens:
    """What the store has of the last answer's tokens."""
    conversation = screen(pilot).conversation
    tokens = conversation.store.tokens(conversation.path[-1].id)
    assert tokens is not None
    return tokens


async def test_a_key_marks_the_tokens_of_the_last_answer_and_unmarks_them() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await pilot.press("f7")
        await ask_and_wait(pilot, "How does it work?")
        assert marked(pilot) == []
        await pilot.press("f7")
        await wait_until(pilot, lambda: len(marked(pilot)) == 1)
        text, _, legend = marked(pilot)[0].rpartition("\n\n")
        assert legend.startswith("n-gram ")
        assert f"{text}\n" == as_marked(ANSWER)
        await pilot.press("f7")
        await wait_until(pilot, lambda: marked(pilot) == [])


async def test_a_letter_marks_the_answer_that_has_the_focus() -> None:
    async with make_app("echo").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "first words")
        await ask_and_wait(pilot, "second words")
        pilot.app.query(Answer).first().focus()
        await pilot.press("o")
        await wait_until(pilot, lambda: len(marked(pilot)) == 1)
        assert marked(pilot)[0].startswith("first words\n\n")


async def test_origins_are_kept_with_the_answer() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "How does it work?")
        assert sum(kept_tokens(pilot).sizes) == len(ANSWER)
        await pilot.press("f7")
        await wait_until(pilot, lambda: len(marked(pilot)) == 1)
        before = marked(pilot)
        app = screen(pilot)
        key = app.conversation.key
        assert key is not None
        await app._pane.open(key)
        await wait_until(pilot, lambda: marked(pilot) == [] and len(app.query(Answer)) == 1)
        await pilot.press("f7")
        await wait_until(pilot, lambda: marked(pilot) == before)


async def test_origins_are_marked_while_an_answer_is_written() -> None:
    async with make_app("hold").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await ask(pilot, "Two lines, please.")
        await wait_until(pilot, lambda: app.state == "answering")
        await pilot.press("f7")
        await wait_until(
            pilot, lambda: [each.split("\n")[-3] for each in marked(pilot)] == ["The second line"]
        )
        await pilot.press("escape")
        await wait_until(pilot, lambda: app.state == "ready")
        assert marked(pilot)[0].startswith(as_marked("The first line.\n\nThe second line"))


async def test_thinking_is_folded_with_its_figures_and_kept_apart() -> None:
    async with make_app("think").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "How does it work?")
        line = str(pilot.app.query_one(ThoughtLine).content)
        assert line.startswith("▸ thought for ")
        assert "tokens · " in line
        assert line.endswith("% accepted")
        assert THOUGHT[:20] not in chat(pilot)
        message = screen(pilot).conversation.path[-1]
        assert message.text == THINKING
        assert message.answer is not None
        assert message.answer.opened == "think"
        assert set(message.answer.parts) == {"thinking", "answer", "code"}
        assert sum(part.emitted for part in message.answer.parts.values()) == (
            message.answer.figures.emitted
        )
        for kind in ("thinking", "words", "code"):
            assert f"\n{kind} " in panel(pilot)


async def test_the_model_is_not_told_what_it_once_thought() -> None:
    async with make_app("think").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "How does it work?")
        assert [each.content for each in screen(pilot).conversation.messages] == [
            "How does it work?", ANSWER,
        ]  # fmt: skip


async def test_a_letter_shows_the_thinking_of_the_answer_that_has_the_focus() -> None:
    async with make_app("think").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "How does it work?")
        pilot.app.query_one(Answer).focus()
        await pilot.press("t")
        await wait_until(pilot, lambda: THOUGHT[:20] in chat(pilot))
        await pilot.press("t")
        await wait_until(pilot, lambda: THOUGHT[:20] not in chat(pilot))


async def test_thinking_that_goes_on_is_told_in_a_quiet_line() -> None:
    async with make_app("thinking").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await ask(pilot, "How does it work?")
        await wait_until(
            pilot,
            lambda: any(
                "▸ thinking " in str(line.content) and "tokens" in str(line.content)
                for line in pilot.app.query(ThoughtLine)
            ),
        )
        await pilot.press("escape")
        await wait_until(pilot, lambda: app.state == "ready")
        assert str(pilot.app.query_one(ThoughtLine).content).startswith("▸ thought for ")


async def test_kinds_are_not_told_apart_where_only_one_came_up() -> None:
    async with make_app("echo").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "only words here")
        assert "words" not in panel(pilot)
