"""Pictures of every screen in a light theme, in the terminal's own colours, and without colours.

How the screens lie out is in the pictures of the usual dark theme, at both sizes.
"""

import pytest
from textual.command import CommandPalette
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, TextArea

from specchat.settings import ScreenSettings, Settings
from specchat.tui.app import SpecchatApp
from tui.chats import Chats, Visit
from tui.offers import LATER, app_with
from tui.screen_driver import make_app, prompt, until_ready, wait_until
from tui.setting_driver import open_settings
from tui.test_compare import compare
from tui.test_snapshots import (
    SMALL,
    Compare,
    Prepare,
    answered,
    at_a_round,
    broken,
    helped,
    marked,
    picking,
    unfolded,
)

pytestmark = pytest.mark.usefixtures("utc")


@pytest.fixture(params=["light", "ansi", "no-colours", "ansi-no-colours"])
def settings(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A look: those of the settings, and of a person who wants no colours."""
    look = str(request.param)
    if "no-colours" in look:
        monkeypatch.setenv("NO_COLOR", "1")
    theme = {"light": "textual-light", "no-colours": None}.get(look, "ansi-dark")
    return Settings(screen=ScreenSettings(theme=theme))


def looks_the_same(snap_compare: Compare, app: SpecchatApp, prepare: Prepare) -> bool:
    """Whether a screen looks as it did, once it has been prepared; nothing blinks."""

    async def run_before(pilot: Pilot[None]) -> None:
        await prepare(pilot)
        for field in (*pilot.app.query(TextArea), *pilot.app.screen.query(TextArea)):
            field.cursor_blink = False
        for line in pilot.app.screen.query(Input):
            line.cursor_blink = False
        await pilot.wait_for_scheduled_animations()

    return snap_compare(app, terminal_size=SMALL, run_before=run_before)


async def in_settings(pilot: Pilot[None]) -> None:
    """The settings of the screen are open."""
    await open_settings(pilot, "screen")


async def among_commands(pilot: Pilot[None]) -> None:
    """The list of commands is open."""
    await answered(pilot)
    await pilot.press("ctrl+p", "s", "t", "o", "p")
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, CommandPalette))
    found = pilot.app.screen.query_one(OptionList)
    await wait_until(pilot, lambda: found.option_count == 1)


async def compared(pilot: Pilot[None]) -> None:
    """The same question was answered twice."""
    await compare(pilot, "identical")


SCREENS: dict[str, tuple[str, Prepare]] = {
    "answer": ("alarm", answered),
    "origins": ("happy", marked),
    "thinking": ("think", unfolded),
    "card": ("load-failure", broken),
    "help": ("alarm", helped),
    "timeline": ("happy", at_a_round),
    "compare": ("twice", compared),
    "settings": ("asked", in_settings),
    "commands": ("happy", among_commands),
}
"""A scenario and what the person does, by what is seen then."""


@pytest.mark.parametrize("name", SCREENS)
def test_screen(snap_compare: Compare, settings: Settings, name: str) -> None:
    scenario, prepare = SCREENS[name]
    assert looks_the_same(snap_compare, make_app(scenario, settings=settings), prepare)


def test_pairs(snap_compare: Compare, settings: Settings) -> None:
    app = app_with(LATER, disk=True, settings=settings)
    assert looks_the_same(snap_compare, app, picking)


def test_conversations(snap_compare: Compare, settings: Settings) -> None:
    chats = Chats()
    first, *_, last = chats.add_a_few()
    chats.store.pin(last)
    visit = Visit(chats, first, settings)

    async def prepare(pilot: Pilot[None]) -> None:
        await visit.begin(pilot)
        await pilot.press("down")
        await wait_until(pilot, lambda: "colour" in visit.at)

    assert looks_the_same(snap_compare, visit.app, prepare)


SCRIPTS = (
    "שלום, מה שלומך היום? 12 אסימונים",
    "كيف حالك اليوم؟ ١٢ رمزًا",
    "灯台はいつ建てられましたか",
    "여기 👩‍👩‍👧 가족, 🇩🇪 und e\u0301",
)
"""Right to left, wide, and made of several characters each."""


def test_writing_of_every_kind_keeps_the_borders_straight(snap_compare: Compare) -> None:
    chats = Chats()
    for words in SCRIPTS:
        chats.add(words, words)
    key = chats.store.conversations()[0].id
    for words in SCRIPTS:
        path = chats.store.load(key).path
        asked = chats.store.ask(key, words, path[-1].id)
        answered = chats.store.begin_answer(key, asked)
        chats.store.finish(answered, "complete", text=f"{words}\n\n- {words}\n")
    app = make_app("happy", store=lambda: chats.store, resume=True)

    async def prepare(pilot: Pilot[None]) -> None:
        await until_ready(pilot)
        prompt(pilot).insert(SCRIPTS[0])

    assert looks_the_same(snap_compare, app, prepare)
