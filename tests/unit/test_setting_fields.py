"""The settings as the screen lists them: from the structs, with their words."""

from typing import Any

import msgspec
import pytest

from specchat.described import explanations
from specchat.settings import Settings
from specchat.settings_file import try_setting
from specchat.tui.setting_fields import SettingField, about, fields_of, tables


def field(table: str, name: str) -> SettingField:
    [found] = (each for each in fields_of(table) if each.name == name)
    return found


def all_fields() -> list[SettingField]:
    return [each for table in tables() for each in fields_of(table)]


class Example(msgspec.Struct):
    """A struct of a test."""

    plain: int = 0
    said: str = ""
    """What it is,
    in two lines."""
    last: bool = False


def test_the_docstring_below_a_field_explains_it() -> None:
    assert explanations(Example) == {"said": "What it is, in two lines."}


def test_a_struct_without_source_has_no_explanations() -> None:
    made = msgspec.defstruct("Made", [("a", int)])

    assert explanations(made) == {}


def test_every_table_but_keys_and_presets_is_listed_with_what_it_is_for() -> None:
    names = {each.name for each in msgspec.structs.fields(Settings)}

    assert {*tables(), "keys", "presets"} == names
    assert all(about(table) for table in tables())


def test_every_setting_has_an_explanation_a_default_and_an_effect() -> None:
    for each in all_fields():
        assert each.explanation, each.place
        assert each.value_in(Settings()) == each.default
        assert each.effect.endswith((".", ")."))


@pytest.mark.parametrize(
    ("table", "name", "kind"),
    [
        ("screen", "panel", "choice"),
        ("speculation", "rule", "choice"),
        ("speculation", "draft_length", "line"),
        ("sampling", "temperature", "line"),
        ("sampling", "logit_bias", "line"),
        ("loading", "threads", "line"),
        ("chat", "system", "text"),
        ("models", "folders", "lines"),
    ],
)
def test_the_type_says_how_a_setting_is_set(table: str, name: str, kind: str) -> None:
    assert field(table, name).kind == kind


def test_the_choices_stand_in_the_order_of_the_code() -> None:
    assert field("screen", "panel").choices == ("auto", "open", "line", "hidden")
    assert field("speculation", "rule").choices[:2] == ("auto", "greedy")


@pytest.mark.parametrize(
    ("table", "name", "value", "text"),
    [
        ("sampling", "temperature", 0.7, "0.7"),
        ("sampling", "temperature", 2.0, "2"),
        ("sampling", "logit_bias", {128: float("-inf"), 5: 1.5}, "128: -inf, 5: 1.5"),
        ("speculation", "draft_length", "auto", "auto"),
        ("speculation", "draft_length", 4, "4"),
        ("models", "folders", ("~/a", "/b c"), "~/a\n/b c"),
        ("chat", "system", "Two\nlines.", "Two\nlines."),
        ("loading", "context", None, ""),
    ],
)
def test_a_value_that_is_written_is_read_again(
    table: str, name: str, value: Any, text: str
) -> None:
    here = field(table, name)

    assert here.written(value) == text
    settings = try_setting(here.place, here.read(text))
    assert here.value_in(settings) == value


@pytest.mark.parametrize(
    ("table", "name", "text"),
    [
        ("sampling", "temperature", "hot"),
        ("sampling", "top_k", "1.5"),
        ("sampling", "logit_bias", "x"),
        ("speculation", "draft_length", "long"),
        ("loading", "threads", "0"),
    ],
)
def test_what_makes_no_sense_is_left_to_the_settings_to_refuse(
    table: str, name: str, text: str
) -> None:
    here = field(table, name)
    with pytest.raises(Exception, match="Tried to set"):
        try_setting(here.place, here.read(text))
