"""An answer on screen: its thinking folded, its text as it is meant, or its tokens marked."""

from collections.abc import Sequence

from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import Markdown

from specchat.chat.parts import PartFigures
from specchat.chat.tokens import ORIGINS, Origin, Tokens
from specchat.tui.origins import STYLES
from specchat.tui.widgets.answer_body import NOT_KEPT, AnswerBody, OriginView
from specchat.tui.widgets.thought import ThoughtLine
from tui.screen_driver import wait_until

THINKING = PartFigures(rounds=3, emitted=12, tested=10, accepted=8, decode_s=4.2)
LATER = PartFigures(rounds=5, emitted=20, tested=20, accepted=13, decode_s=6.2)


class Body(App[None]):
    """An answer and nothing else."""

    def __init__(self, body: AnswerBody) -> None:
        super().__init__()
        self.body = body

    def compose(self) -> ComposeResult:
        yield self.body


def lines(pilot: Pilot[None]) -> list[str]:
    """The lines of thoughts."""
    return [str(line.content) for line in pilot.app.query(ThoughtLine)]


def markdown(pilot: Pilot[None]) -> list[str]:
    """The Markdown on screen, top to bottom."""
    return [each.source.strip() for each in pilot.app.query(Markdown) if each.is_on_screen]


async def until_markdown(pilot: Pilot[None], *expected: str) -> None:
    """Wait for this on screen, and nothing else."""
    await wait_until(pilot, lambda: markdown(pilot) == list(expected))


def ended(text: str, opened: str | None = None, thinking: PartFigures | None = None) -> AnswerBody:
    """An answer as it comes from the store."""
    body = AnswerBody(opened)
    body.write(text, {"thinking": thinking} if thinking else None)
    body.finish()
    return body


def marked(body: AnswerBody) -> Sequence[tuple[str, str]]:
    """The marked pieces of the origin view, without the legend."""
    content = body.by_origin()
    legend = content.plain.rindex("\n") + 1
    return [
        (content.plain[span.start : span.end], str(span.style))
        for span in content.spans
        if span.start < legend
    ]


async def test_an_answer_without_thinking_is_markdown() -> None:
    async with Body(ended("Yes, **so**.\n\n- one\n")).run_test() as pilot:
        await until_markdown(pilot, "Yes, **so**.\n\n- one")
        assert lines(pilot) == []


async def test_a_kept_thought_is_folded_to_its_time_and_its_acceptance() -> None:
    body = ended("Hm, *so*.\n</think>\n\nYes.", "think", THINKING)
    async with Body(body).run_test() as pilot:
        await until_markdown(pilot, "Yes.")
        assert lines(pilot) == ["▸ thought for 4.2 s · 12 tokens · 80% accepted"]
        pilot.app.query_one(ThoughtLine).focus()
        await pilot.press("enter")
        await until_markdown(pilot, "Hm, *so*.", "Yes.")
        assert lines(pilot) == ["▾ thought for 4.2 s · 12 tokens · 80% accepted"]
        assert await pilot.click(ThoughtLine)
        await until_markdown(pilot, "Yes.")


async def test_a_thought_without_figures_is_folded_too() -> None:
    async with Body(ended("<think>Hm.</think>Yes.")).run_test() as pilot:
        await until_markdown(pilot, "Yes.")
        assert lines(pilot) == ["▸ thought"]


async def test_a_thought_under_way_tells_how_far_it_has_come() -> None:
    body = AnswerBody("think")
    async with Body(body).run_test() as pilot:
        body.write("Let me", {"thinking": THINKING})
        await wait_until(
            pilot, lambda: lines(pilot) == ["▸ thinking 4.2 s · 12 tokens · 80% accepted"]
        )
        body.toggle_thoughts()
        body.write(" see.", {"thinking": LATER})
        await wait_until(
            pilot, lambda: lines(pilot) == ["▾ thinking 6.2 s · 20 tokens · 65% accepted"]
        )
        body.write("</think>Yes.", {"thinking": LATER, "answer": THINKING})
        body.finish()
        await until_markdown(pilot, "Let me see.", "Yes.")
        assert lines(pilot) == ["▾ thought for 6.2 s · 20 tokens · 65% accepted"]


async def test_a_second_thought_has_figures_of_its_own() -> None:
    body = AnswerBody()
    async with Body(body).run_test() as pilot:
        body.write("<|channel|>analysis<|message|>Hm.<|end|>", {"thinking": THINKING})
        body.write("<|channel|>commentary<|message|>Look.<|end|>", {"thinking": THINKING})
        body.write("<|channel|>analysis<|message|>Fine.<|end|>", {"thinking": LATER})
        body.finish()
        await until_markdown(pilot, "Look.")
        assert lines(pilot) == [
            "▸ thought for 4.2 s · 12 tokens · 80% accepted",
            "▸ thought for 2.0 s · 8 tokens · 50% accepted",
        ]


async def test_a_thought_that_was_stopped_keeps_its_figures() -> None:
    async with Body(ended("Hm", "think", THINKING)).run_test() as pilot:
        await wait_until(
            pilot, lambda: lines(pilot) == ["▸ thought for 4.2 s · 12 tokens · 80% accepted"]
        )


async def test_text_written_before_the_answer_is_on_screen_is_not_lost() -> None:
    body = AnswerBody()
    body.write("<think>Hm.</think>One.\n\n")
    async with Body(body).run_test() as pilot:
        body.write("Two.")
        body.finish()
        await until_markdown(pilot, "One.\n\nTwo.")


def tokens(*parts: tuple[int, Origin]) -> Tokens:
    """Tokens of these sizes and origins."""
    origins = bytes(ORIGINS.index(origin) for _, origin in parts)
    return Tokens(tuple(range(len(parts))), origins, tuple(size for size, _ in parts))


async def test_origins_are_shown_in_place_of_the_text_and_back() -> None:
    body = ended("<think>Hm.</think>Yes.")
    body.tokens = lambda: tokens((7, "plain"), (3, "draft"), (8, "corrected"), (4, "ngram"))
    async with Body(body).run_test() as pilot:
        await until_markdown(pilot, "Yes.")
        body.show_origins(True)
        await until_markdown(pilot)
        assert [view.is_on_screen for view in pilot.app.query(OriginView)] == [True]
        assert not pilot.app.query_one(ThoughtLine).is_on_screen
        assert marked(body) == [
            ("Hm.", STYLES["draft"]),
            ("</think>", STYLES["corrected"]),
            ("Yes.", STYLES["ngram"]),
        ]
        body.show_origins(False)
        await until_markdown(pilot, "Yes.")
        assert not pilot.app.query(OriginView)


async def test_origins_are_shown_while_the_answer_comes_in() -> None:
    parts: list[tuple[int, Origin]] = []
    body = AnswerBody(None, lambda: tokens(*parts))
    async with Body(body).run_test() as pilot:

        def shown() -> str:
            view = pilot.app.query_one(OriginView)
            return str(view.content).partition("\n")[0]

        body.show_origins(True)
        for text, origin in (("One ", "draft"), ("two", "plain")):
            parts.append((len(text), "draft" if origin == "draft" else "plain"))
            body.write(text)
        await wait_until(pilot, lambda: shown() == "One two")
        body.write(".")
        body.finish()
        await wait_until(pilot, lambda: shown() == "One two.")
        assert markdown(pilot) == []
        body.show_origins(False)
        await until_markdown(pilot, "One two.")


async def test_tokens_that_were_not_kept_are_told_of() -> None:
    body = ended("[b]Yes[/b]")
    async with Body(body).run_test() as pilot:
        body.show_origins(True)
        await until_markdown(pilot)
        assert body.by_origin().plain == f"[b]Yes[/b]\n\n{NOT_KEPT}"
