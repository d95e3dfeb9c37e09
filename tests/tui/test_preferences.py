"""The settings of the screen: colours, panel, movement, keys."""

from collections.abc import Iterator

import pytest
from rich.color import Color, ColorType
from textual.app import App
from textual.command import CommandPalette
from textual.widgets import TextArea

from specchat.settings import ScreenSettings, Settings
from specchat.settings_file import read_settings
from specchat.tui.actions import (
    Action,
    all_actions,
    bindings_of_ours,
    keymap_of,
    screen_mistakes,
)
from specchat.tui.keys import BINDINGS
from specchat.tui.preferences import animation_level, theme_for
from specchat.tui.widgets.speculation_panel import SpeculationLine
from tui.screen_driver import WIDE, ask_and_wait, prompt, questions, until_ready, wait_until
from tui.setting_driver import app_with_settings, file

COMMENTED = "# colours\n[screen]\ntheme = 'nord' # cool\n"


async def test_the_theme_of_the_settings_is_shown_and_another_one_is_remembered() -> None:
    async with app_with_settings(COMMENTED).run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        app = pilot.app
        assert app.current_theme.name == "nord"
        app.action_change_theme()
        await wait_until(pilot, lambda: isinstance(app.screen, CommandPalette))
        await pilot.press(*"dracula")
        await pilot.pause(0.5)
        await pilot.press("enter")
        await wait_until(pilot, lambda: read_settings().screen.theme == "dracula")
        assert file() == COMMENTED.replace("'nord'", '"dracula"')


async def test_without_a_theme_nothing_is_written() -> None:
    async with app_with_settings().run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        assert pilot.app.current_theme.name == "textual-dark"
        assert file() == ""


@pytest.mark.parametrize(
    ("environment", "theme"),
    [
        ({}, None),
        ({"COLORFGBG": "15;0"}, None),
        ({"COLORFGBG": "0;15"}, "textual-light"),
        ({"COLORFGBG": "0;default;15"}, "textual-light"),
        ({"COLORFGBG": "0;15", "TEXTUAL_THEME": "nord"}, None),
    ],
)
def test_a_light_terminal_gets_a_light_theme(
    environment: dict[str, str], theme: str | None
) -> None:
    assert theme_for(environment) == theme


@pytest.mark.parametrize(
    ("wanted", "environment", "level"),
    [
        ("auto", {}, "basic"),
        ("auto", {"SSH_CONNECTION": "1.2.3.4 5 6.7.8.9 22"}, "none"),
        ("auto", {"SSH_TTY": "/dev/pts/0"}, "none"),
        ("on", {"SSH_TTY": "/dev/pts/0"}, "full"),
        ("off", {}, "none"),
    ],
)
def test_nothing_moves_over_ssh_unless_it_is_wanted(
    wanted: str, environment: dict[str, str], level: str
) -> None:
    screen = read_screen(f"animations = '{wanted}'")

    assert animation_level(screen, environment, "basic") == level


def read_screen(text: str) -> ScreenSettings:
    """The settings of the screen in a file."""
    from specchat.settings import settings_path

    settings_path().write_text(f"[screen]\n{text}\n")
    return read_settings().screen


async def test_without_movement_the_cursor_does_not_blink() -> None:
    async with app_with_settings("[screen]\nanimations = 'off'\n").run_test() as pilot:
        await until_ready(pilot)
        assert pilot.app.animation_level == "none"
        assert not prompt(pilot).cursor_blink


@pytest.mark.parametrize(
    ("panel", "width", "shows"),
    [
        ("auto", 120, (True, False)),
        ("auto", 80, (False, True)),
        ("open", 80, (True, False)),
        ("line", 120, (False, True)),
        ("hidden", 120, (False, False)),
        ("hidden", 80, (False, False)),
    ],
)
async def test_the_panel_is_shown_as_it_is_set(
    panel: str, width: int, shows: tuple[bool, bool]
) -> None:
    app = app_with_settings(f"[screen]\npanel = '{panel}'\n")
    async with app.run_test(size=(width, 30)) as pilot:
        await until_ready(pilot)
        shown = app.query_one("#panel").display, app.query_one(SpeculationLine).display
        assert shown == shows


async def test_enter_may_break_lines_and_ctrl_j_send() -> None:
    async with app_with_settings("[screen]\nenter = 'newline'\n").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await pilot.press(*"ab", "enter", *"cd")
        assert prompt(pilot).text == "ab\ncd"
        assert questions(pilot) == 0
        await pilot.press("ctrl+j")
        await wait_until(pilot, lambda: questions(pilot) == 1)
        assert prompt(pilot).text == ""


async def test_keys_of_the_settings_do_what_they_say_and_the_old_ones_no_longer() -> None:
    text = "[keys]\nprompt.send = 'ctrl+s'\nchat.new = 'f9, f8'\n"
    async with app_with_settings(text).run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await pilot.press(*"ab", "enter", *"cd", "ctrl+s")
        await wait_until(pilot, lambda: questions(pilot) == 1)
        await pilot.press("ctrl+n")
        await pilot.pause()
        assert questions(pilot) == 1
        await pilot.press("f8")
        await wait_until(pilot, lambda: questions(pilot) == 0)


async def test_other_keys_walk_through_the_past_and_the_list_and_arrows_only_move() -> None:
    text = "[keys]\nprompt.older = 'alt+p'\nprompt.newer = 'alt+n'\ncompletions.take = 'ctrl+t'\n"
    async with app_with_settings(text, "echo").run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "one")
        await pilot.press("up")
        assert prompt(pilot).text == ""
        await pilot.press("alt+p")
        assert prompt(pilot).text == "one"
        await pilot.press("down")
        assert prompt(pilot).text == "one"
        await pilot.press("alt+n")
        assert prompt(pilot).text == ""
        await pilot.press("a", "ctrl+j", "b", "up", "left", "c", "down", "d")
        assert prompt(pilot).text == "ca\nbd"
        prompt(pilot).clear()
        await pilot.press("slash", *"ru", "ctrl+t")
        assert prompt(pilot).text == "/rule "


def test_every_key_of_ours_has_an_id_by_which_it_can_be_another() -> None:
    nameless = [
        f"{owner.__name__} {binding.key}"
        for owner, binding in bindings_of_ours()
        if binding.id is None and binding not in TextArea.BINDINGS
    ]
    assert nameless == []


def test_all_keys_of_the_chat_can_be_set() -> None:
    actions = {action.id: action for action in all_actions()}

    assert {b.id for b in BINDINGS if not isinstance(b, tuple)} <= set(actions)
    assert actions["prompt.new_line"].keys == ("ctrl+j", "shift+enter", "alt+enter")
    assert actions["pairs.back"].where == "PairsScreen"
    assert all(action.does for action in actions.values())


def test_keys_of_the_settings_win_over_the_swapped_enter() -> None:
    action = Action("prompt.send", "Send", ("enter",))
    screen = ScreenSettings(enter="newline")

    assert action.keys_with(keymap_of(Settings())) == ("enter",)
    assert action.keys_with(keymap_of(Settings(screen=screen)))[0] == "ctrl+j"
    own = keymap_of(Settings(screen=screen, keys={"prompt.send": "ctrl+s, f5"}))
    assert action.keys_with(own) == ("ctrl+s", "f5")


@pytest.mark.parametrize(
    "keys", ["f5", "ctrl+s,f2", "a", "?", "question_mark", "ctrl+shift+up", "alt+x", "slash"]
)
def test_keys_that_exist_are_no_mistake(keys: str) -> None:
    assert list(screen_mistakes(Settings(keys={"chat.stop": keys}))) == []


@pytest.mark.parametrize("keys", ["", " , ", "crtl+x", "ctrl+", "f99x", "ctrl+nothing"])
def test_keys_that_do_not_exist_are_refused(keys: str) -> None:
    [mistake, *_] = screen_mistakes(Settings(keys={"chat.stop": keys}))

    assert mistake.place == ("keys", "chat", "stop")


def test_an_unknown_action_and_an_unknown_theme_are_refused_with_the_nearest() -> None:
    settings = Settings(keys={"chat.stpo": "f5"}, screen=ScreenSettings(theme="nrod"))

    said = [mistake.says for mistake in screen_mistakes(settings)]
    assert said == [
        "There is no theme nrod. Did you mean nord?",
        "There is no action chat.stpo. Did you mean chat.stop?",
    ]


def colours(app: App[None]) -> Iterator[Color]:
    """The colours of everything that is drawn and seen, as they go to the terminal."""
    for strip in app.screen._compositor.render_strips(app.size):
        for text, style, _ in strip:
            if style is not None and style.bgcolor is not None:
                yield style.bgcolor
            if style is not None and style.color is not None and text.strip():
                yield style.color


@pytest.mark.parametrize("theme", ["ansi-dark", "ansi-light"])
@pytest.mark.parametrize("key", [None, "f1", "f4", "ctrl+p"])
async def test_an_ansi_theme_uses_the_terminal_s_own_colours(theme: str, key: str | None) -> None:
    app = app_with_settings(f"[screen]\ntheme = '{theme}'\n", "alarm")
    async with app.run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "How?")
        if key is not None:
            await pilot.press(key)
            await wait_until(pilot, lambda: len(app.screen_stack) > 1)
        assert {colour.type for colour in colours(app)} == {ColorType.DEFAULT, ColorType.STANDARD}


@pytest.mark.parametrize("theme", ["textual-dark", "ansi-dark"])
async def test_no_color_leaves_no_hue(theme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = app_with_settings(f"[screen]\ntheme = '{theme}'\n", "alarm")
    async with app.run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "How?")
        assert [colour for colour in colours(app) if has_hue(colour)] == []


def has_hue(colour: Color) -> bool:
    """Whether it is neither a grey nor the terminal's own."""
    if colour.type == ColorType.DEFAULT:
        return False
    return colour.triplet is None or len({*colour.triplet}) > 1


async def test_the_smallest_screen_has_room_for_an_open_panel() -> None:
    app = app_with_settings("[screen]\npanel = 'open'\n")
    async with app.run_test(size=(60, 16)) as pilot:
        await ask_and_wait(pilot, "How?")
        assert app.query_one("#panel").region.right <= 60
        assert prompt(pilot).region.width > 10
