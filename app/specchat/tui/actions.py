"""Every action of ours that a key does, and what the settings may say about keys and themes."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import ModuleType

from textual.binding import Binding, BindingType
from textual.keys import KEY_NAME_REPLACEMENTS, Keys, key_to_character
from textual.screen import ModalScreen
from textual.theme import BUILTIN_THEMES

from specchat.nearest import did_you_mean
from specchat.settings import Settings
from specchat.settings_file import Mistake, read_settings

MODIFIERS = ("ctrl", "shift", "alt", "super", "hyper", "meta")
SWAPPED_ENTER = {"prompt.send": "ctrl+j,shift+enter,alt+enter", "prompt.new_line": "enter"}
"""Other keys with `screen.enter = "newline"`."""

UNSET = "unset."
"""Begins the key of an action that has none by itself; no terminal sends it."""


@dataclass(frozen=True)
class Action:
    """Something that a key does."""

    id: str
    does: str
    keys: tuple[str, ...]
    """Those it has unless the settings give it others."""
    where: str = ""
    """A screen in front of the chat; empty: the chat. Keys of the two never meet."""

    def keys_with(self, keymap: Mapping[str, str]) -> tuple[str, ...]:
        """Those that it has with these settings."""
        return keys_in(keymap[self.id]) if self.id in keymap else self.keys


def keymap_of(settings: Settings) -> dict[str, str]:
    """Keys other than ours, by the id of their action."""
    swapped = SWAPPED_ENTER if settings.screen.enter == "newline" else {}
    return {**swapped, **settings.keys}


def keys_in(text: str) -> tuple[str, ...]:
    """The keys of a list such as `ctrl+s,f2`."""
    return tuple(key for part in text.split(",") if (key := part.strip()))


def actions_by_key(bindings: Iterable[BindingType], keymap: Mapping[str, str]) -> dict[str, str]:
    """What each key does with these settings, of bindings that have an id."""
    return {
        key: binding.action
        for binding in bindings
        if isinstance(binding, Binding) and binding.id is not None
        for key in keys_in(keymap.get(binding.id, binding.key))
    }


def all_actions() -> tuple[Action, ...]:
    """Every action with an id, from the bindings of all modules of the screen."""
    found: dict[str, Action] = {}
    for owner, binding in bindings_of_ours():
        if binding.id is None:
            continue
        keys = tuple(key for key in keys_in(binding.key) if not key.startswith(UNSET))
        if binding.id in found:
            known = found[binding.id]
            found[binding.id] = replace(known, keys=tuple(dict.fromkeys((*known.keys, *keys))))
        else:
            does = binding.tooltip or binding.description or binding.id
            where = owner.__name__ if issubclass(owner, ModalScreen) else ""
            found[binding.id] = Action(binding.id, does, keys, where)
    return tuple(sorted(found.values(), key=lambda action: action.id))


def screen_mistakes(settings: Settings) -> Iterator[Mistake]:
    """Names in the settings that the screen does not know."""
    theme = settings.screen.theme
    if theme is not None and theme not in BUILTIN_THEMES:
        hint = did_you_mean(theme, BUILTIN_THEMES)
        yield Mistake(("screen", "theme"), f"There is no theme {theme}.{hint}")
    ids = [action.id for action in all_actions()] if settings.keys else []
    for action, keys in settings.keys.items():
        place = ("keys", *action.split("."))
        if action not in ids:
            yield Mistake(place, f"There is no action {action}.{did_you_mean(action, ids)}")
        if not keys_in(keys):
            yield Mistake(place, f"{action}: expected keys, such as ctrl+s or f5.")
        for key in keys_in(keys):
            if not _is_key(key):
                hint = did_you_mean(key, [each.value for each in Keys])
                yield Mistake(place, f"{action}: there is no key {key}.{hint}")


def require_known_names(settings: Settings) -> None:
    """Refuse settings that name what is not there.

    Raises:
        SettingsProblem: with the line.
    """
    if settings.keys or settings.screen.theme is not None:
        read_settings(check=screen_mistakes)


def _is_key(text: str) -> bool:
    """Whether Textual has this name for a key, with or without modifiers."""
    *modifiers, key = [text] if len(text) == 1 else text.split("+")
    known = {*(each.value for each in Keys), *KEY_NAME_REPLACEMENTS.values()}
    return all(each in MODIFIERS for each in modifiers) and (
        len(key) == 1 or key in known or key_to_character(key) is not None
    )


def bindings_of_ours() -> Iterator[tuple[type, Binding]]:
    """What our screens and widgets bind, and where."""
    for module in _modules():
        for thing in vars(module).values():
            if isinstance(thing, type) and thing.__module__ == module.__name__:
                for binding in vars(thing).get("BINDINGS", ()):
                    if isinstance(binding, Binding):
                        yield thing, binding


def _modules() -> Iterator[ModuleType]:
    """Screens and widgets; of the other modules those that the application has imported."""
    from specchat.tui import screens, widgets

    for package in (screens, widgets):
        for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            importlib.import_module(found.name)
    for name in sorted(sys.modules):
        if name.startswith("specchat.tui."):
            yield sys.modules[name]
