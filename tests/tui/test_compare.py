"""One question answered twice, plain and with drafts, side by side."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Markdown, Static

from specchat.chat.records import Message as Kept
from specchat.engine.protocol import (
    Command,
    Failed,
    Finished,
    Generate,
    Message,
    PromptProgress,
    Round,
    Stop,
)
from specchat.speculation.metrics import Figures
from specchat.speculation.settings import SamplingSettings, SpeculationSettings
from specchat.tui import app as app_module
from specchat.tui.app import SpecchatApp
from specchat.tui.comparison import Asked
from specchat.tui.screens.compare import Column, CompareScreen
from specchat.tui.screens.help import HelpScreen
from tui.screen_driver import (
    WIDE,
    ask_and_wait,
    cards,
    chat,
    make_app,
    notes,
    prompt,
    screen,
    until_ready,
    wait_until,
)
from tui.scripted_engine import ANSWER
from tui.test_letters import click_footer
from tui.test_messages import speakers

Compare = Callable[..., bool]
QUESTION = "How does speculative decoding work?"


def verdict(pilot: Pilot[None]) -> str:
    """What is said of both answers."""
    return "\n".join(
        str(line.content) for line in pilot.app.screen.query("#outcome Static").results(Static)
    )


def columns(pilot: Pilot[None]) -> list[Column]:
    """The plain one and the drafted one."""
    return list(pilot.app.screen.query(Column))


def texts(pilot: Pilot[None]) -> list[str]:
    """What each says, as Markdown."""
    return ["".join(piece.source for piece in each.query(Markdown)) for each in columns(pilot)]


async def compare(pilot: Pilot[None], until: str) -> None:
    """Ask something, then compare, until the outcome says this."""
    await ask_and_wait(pilot, QUESTION)
    await pilot.press("f5")
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, CompareScreen))
    await wait_until(pilot, lambda: until in verdict(pilot))


async def test_both_answers_are_shown_with_their_speeds_and_called_identical() -> None:
    async with make_app("twice").run_test(size=WIDE) as pilot:
        await compare(pilot, "identical")
        await wait_until(pilot, lambda: texts(pilot) == [ANSWER, ANSWER])
        plain, drafted = columns(pilot)
        assert plain.border_title == "plain"
        assert drafted.border_title == "with drafts"
        assert str(plain.border_subtitle) == "16.7 tok/s · 6.9 s"
        assert str(drafted.border_subtitle) == "50.4 tok/s · 2.3 s · 80% accepted"
        assert verdict(pilot) == "3.03x plain with drafts · identical, 115 tokens"


async def test_either_is_kept_beside_the_answer_by_key_and_by_mouse() -> None:
    async with make_app("twice").run_test(size=WIDE) as pilot:
        app = screen(pilot)
        await ask_and_wait(pilot, QUESTION)
        await ask_and_wait(pilot, "And why?")
        path = app.conversation.path
        await pilot.press("ctrl+up", "up", "up", "d")
        await wait_until(pilot, lambda: "identical" in verdict(pilot))
        await pilot.press("d", "d")
        assert "✓ The answer with drafts is kept in the conversation, as 2 of 2." in verdict(pilot)
        await click_footer(pilot, "Keep plain")
        await wait_until(pilot, lambda: "The plain answer is kept" in verdict(pilot))
        await pilot.press("escape")
        await wait_until(pilot, lambda: len(app.screen_stack) == 1)
        conversation = app.conversation
        asked, kept = conversation.path
        assert asked == path[0]
        assert conversation.place(kept.id) == (3, 3)
        assert speakers(pilot) == ["you", "model\n< 3/3 >"]
        for message, drafted in ((kept, False), (drafted_one(app), True)):
            assert (message.text, message.state) == (ANSWER, "complete")
            record, tokens = message.answer, conversation.store.tokens(message.id)
            assert record is not None
            assert tokens is not None
            assert bool(record.figures.drafted) == drafted
            assert record.parts["code"].rounds
            assert record.target == "Target-7B-Q4_K_M.gguf"
            assert record.sampling.seed is not None
            assert sum(tokens.sizes) == len(ANSWER)
        assert "tok/s" in notes(pilot)[-1]


def drafted_one(app: SpecchatApp) -> Kept:
    """The try before the one on screen."""
    conversation = app.conversation
    before = conversation.sibling(conversation.path[-1].id, -1)
    assert before is not None
    return conversation.message(before)


async def test_what_is_not_kept_does_not_enter_the_conversation_which_goes_on() -> None:
    async with make_app("twice").run_test(size=WIDE) as pilot:
        await compare(pilot, "identical")
        app = screen(pilot)
        before = app.conversation.messages
        assert len(before) == 2
        await pilot.press("escape")
        await wait_until(pilot, lambda: not isinstance(app.screen, CompareScreen))
        assert app.conversation.messages == before
        assert app.state == "ready"
        await ask_and_wait(pilot, "And why?")
        assert len(app.conversation.messages) == 4


async def test_where_they_part_both_pieces_are_shown_and_what_it_means() -> None:
    async with make_app("parting").run_test(size=WIDE) as pilot:
        await compare(pilot, "then they part")
        said = verdict(pilot)
        assert "the same for 16 tokens, then they part" in said
        assert "plain   …**target** check:⏎" in said
        assert "drafted …**model** check it:" in said
        assert "equal to rounding" in said


async def test_esc_stops_and_compares_what_came_then_leaves() -> None:
    async with make_app("hold-drafted").run_test(size=WIDE) as pilot:
        await compare(pilot, "the same so far, 30 tokens")
        await pilot.press("escape")
        await wait_until(pilot, lambda: "as far as both go, 30 tokens" in verdict(pilot))
        assert isinstance(pilot.app.screen, CompareScreen)
        assert str(columns(pilot)[1].border_subtitle).endswith("stopped")
        await pilot.press("escape")
        await wait_until(pilot, lambda: not isinstance(pilot.app.screen, CompareScreen))
        assert screen(pilot).state == "ready"


async def test_an_engine_that_dies_meanwhile_is_told_here_and_in_the_chat() -> None:
    async with make_app("crash-drafted").run_test(size=WIDE) as pilot:
        await compare(pilot, "✗ ")
        assert str(columns(pilot)[1].border_subtitle) == "failed"
        await pilot.press("escape")
        await wait_until(pilot, lambda: not isinstance(pilot.app.screen, CompareScreen))
        assert screen(pilot).state == "broken"
        assert len(cards(pilot)) == 1
        assert "exactly what the target" in chat(pilot)


async def test_help_over_it_says_what_a_near_tie_is() -> None:
    async with make_app("twice").run_test(size=WIDE) as pilot:
        await compare(pilot, "identical")
        await pilot.press("f1")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        lines = pilot.app.screen.query("#help Static").results(Static)
        said = "\n".join(str(line.content) for line in lines)
        assert "equal to rounding" in said
        assert "Back to the chat" in said


async def test_without_a_question_there_is_nothing_to_compare() -> None:
    async with make_app("twice").run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await pilot.press("f5")
        await pilot.pause()
        assert not isinstance(app.screen, CompareScreen)
        await ask_and_wait(pilot, QUESTION)
        names = {command.title for command in app.get_system_commands(app.screen)}
        assert "Compare" in names


# The screen alone, with an engine that says what the test says.


class Alone(App[None]):
    """Shows the screen and keeps what it tells the engine."""

    CSS_PATH = Path(app_module.__file__).with_name("app.tcss")

    def __init__(self, speculation: SpeculationSettings | None = None) -> None:
        super().__init__()
        self.sent: list[Command] = []
        asked = Asked(
            (Message("system", "Be brief."), Message("user", "Why?")),
            SamplingSettings(temperature=0.6),
            speculation or SpeculationSettings(drafter="ngram", draft_length=4),
            99,
        )
        ids = iter(range(7, 99))
        self.compared = CompareScreen(
            asked, next_id=lambda: next(ids), send=self.send, keep=lambda *_: "2 of 2"
        )

    def on_mount(self) -> None:
        """It is all there is."""
        self.push_screen(self.compared)

    async def send(self, command: Command) -> None:
        """Nobody answers."""
        self.sent.append(command)

    @property
    def asked(self) -> list[Generate]:
        """What the engine was asked."""
        return [command for command in self.sent if isinstance(command, Generate)]


def round_of(id: int, text: str) -> Round:
    return Round(
        id=id,
        text=text,
        tokens=(1, 2),
        drafted=0,
        accepted=0,
        reason="",
        reason_kind="plain",
        n_past=9,
        figures=Figures(emitted=2, rounds=2, decode_s=0.1),
    )


def finished_of(id: int, text: str, reason: str = "stop") -> Finished:
    return Finished(
        id=id,
        finish_reason="cancelled" if reason == "cancelled" else "stop",
        text=text,
        tail="",
        tokens=(1, 2),
        n_past=9,
        seed=1,
        rule="coupled",
        drafter="none",
        draft_length=0,
        log_probabilities=None,
        figures=Figures(emitted=2, rounds=2, decode_s=0.1),
    )


async def test_the_second_is_asked_when_the_first_has_ended_with_the_same_seed() -> None:
    app = Alone()
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: len(app.asked) == 1)
        assert app.compared.hear(round_of(7, "So it is."))
        await pilot.pause()
        assert len(app.asked) == 1
        assert app.compared.hear(finished_of(7, "So it is."))
        await wait_until(pilot, lambda: len(app.asked) == 2)
        first, second = app.asked
        assert (first.id, second.id) == (7, 8)
        assert first.conversation == second.conversation
        assert first.sampling == second.sampling
        assert first.sampling.seed is not None
        assert (first.max_tokens, second.max_tokens) == (99, 99)
        assert first.speculation == SpeculationSettings(drafter="none", rule="coupled")
        assert second.speculation == SpeculationSettings(
            drafter="ngram", draft_length=4, rule="coupled"
        )


async def test_events_of_other_answers_are_left_to_others() -> None:
    app = Alone()
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: len(app.asked) == 1)
        assert not app.compared.hear(round_of(6, "Old."))
        assert not app.compared.hear(finished_of(6, "Old."))
        assert columns(pilot)[0].side.text == ""


@pytest.mark.parametrize("before_it_ended", [True, False])
async def test_stopping_the_first_leaves_out_the_second(before_it_ended: bool) -> None:
    app = Alone()
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: len(app.asked) == 1)
        await app.compared.action_stop()
        assert app.sent[-1] == Stop(7)
        app.compared.hear(finished_of(7, "So", "cancelled" if before_it_ended else "stop"))
        await wait_until(pilot, lambda: columns(pilot)[1].status == "stopped")
        assert len(app.asked) == 1
        assert app.compared.check_action("back", ())
        assert not app.compared.check_action("stop", ())


async def test_a_long_prompt_and_what_it_lacks_are_told() -> None:
    app = Alone()
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: len(app.asked) == 1)
        app.compared.hear(PromptProgress(id=7, done=10, total=40, reused=0, left_out=2))
        await wait_until(
            pilot, lambda: str(columns(pilot)[0].border_subtitle).startswith("reading 10 of 40")
        )
        await wait_until(pilot, lambda: "the first 2 messages no longer fit" in verdict(pilot))


async def test_a_refusal_ends_it_in_words() -> None:
    app = Alone()
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: len(app.asked) == 1)
        app.compared.hear(Failed(kind="x", title="Too long", message="It is.", help="Less.", id=7))
        await wait_until(pilot, lambda: "✗ Too long. It is. → Less." in verdict(pilot))
        assert [each.status for each in columns(pilot)] == ["failed", "failed"]


@pytest.mark.parametrize(("width", "beside"), [(79, False), (80, True)])
async def test_under_80_columns_one_is_below_the_other(width: int, beside: bool) -> None:
    app = Alone()
    async with app.run_test(size=(width, 24)) as pilot:
        await wait_until(pilot, lambda: len(app.asked) == 1)
        plain, drafted = columns(pilot)
        await wait_until(pilot, lambda: (plain.region.y == drafted.region.y) == beside)
        assert (plain.region.x == drafted.region.x) != beside


# Pictures.


@pytest.mark.parametrize("size", [(60, 16), (80, 24), WIDE], ids=["60x16", "80x24", "120x40"])
@pytest.mark.parametrize("scenario", ["twice", "parting"])
def test_comparison(snap_compare: Compare, scenario: str, size: tuple[int, int]) -> None:
    assert snap_compare(make_app(scenario), terminal_size=size, run_before=_compared(scenario))


def _compared(scenario: str) -> Callable[[Pilot[None]], Awaitable[None]]:
    async def run_before(pilot: Pilot[None]) -> None:
        prompt(pilot).cursor_blink = False
        await compare(pilot, "identical" if scenario == "twice" else "then they part")
        await wait_until(pilot, lambda: all(text.endswith("write.\n") for text in texts(pilot)))
        await pilot.wait_for_scheduled_animations()

    return run_before
