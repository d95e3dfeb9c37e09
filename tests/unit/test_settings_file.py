"""The settings file: mistakes are named with their line, changes leave the rest as it is."""

import json
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.errors import InvalidSetting
from specchat.nearest import did_you_mean
from specchat.pairing.toml_lines import line_numbers
from specchat.settings import Choices, Preset, Settings, choose, settings_path, settings_schema
from specchat.settings_file import (
    Mistake,
    SettingsProblem,
    read_settings,
    try_setting,
    write_setting,
)
from specchat.speculation.settings import SamplingSettings, SpeculationSettings

SCHEMA = Path(__file__).parents[2] / "docs" / "settings.schema.json"
UPDATE = (
    'python -c "from specchat.settings import settings_schema; '
    'print(settings_schema().decode())" > docs/settings.schema.json'
)
EVERYTHING = """\
# All that can be set.
[chat]
system = "Be brief."
preset = "code"
max_tokens = 500

[sampling]
temperature = 0.5  # cooler
top_k = 20
logit_bias = { "5" = -inf }

[speculation]
drafter = "ngram"
draft_length = 4

[loading]
context = 8192
threads = 4
gpu_layers = 20

[models]
folders = ["~/models"]
target = "~/models/target.gguf"
draft = "~/models/draft.gguf"

[screen]
theme = "nord"
panel = "line"
animations = "off"
enter = "newline"

[keys]
"chat.stop" = "ctrl+x"
chat.new = "f2"

[presets.code]
system = "Write code."

[presets.code.sampling]
temperature = 0

[presets.wild.sampling]
temperature = 1.5
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "settings.toml"


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def known_actions(settings: Settings) -> Iterator[Mistake]:
    """A check such as the one of the screen."""
    ids = ("chat.stop", "chat.new")
    for action in settings.keys:
        if action not in ids:
            hint = did_you_mean(action, ids)
            yield Mistake(("keys", *action.split(".")), f"There is no action {action}.{hint}")


def test_without_a_file_everything_has_its_default() -> None:
    assert not settings_path().exists()
    assert read_settings() == Settings()


def test_an_empty_file_is_no_mistake(path: Path) -> None:
    assert read_settings(written(path, "")) == Settings()
    path.write_bytes(b"\xef\xbb\xbf# written by an editor on Windows\r\n")
    assert read_settings(path) == Settings()


def test_everything_that_can_be_set_is_read(path: Path) -> None:
    settings = read_settings(written(path, EVERYTHING))

    assert settings.chat.max_tokens == 500
    assert settings.sampling == SamplingSettings(
        temperature=0.5, top_k=20, logit_bias={5: float("-inf")}
    )
    assert settings.speculation == SpeculationSettings(drafter="ngram", draft_length=4)
    assert settings.loading.context == 8192
    assert settings.models.folders == ("~/models",)
    assert settings.screen.enter == "newline"
    assert settings.keys == {"chat.stop": "ctrl+x", "chat.new": "f2"}


def test_a_preset_leaves_the_rest_as_it_is_without_it(path: Path) -> None:
    presets = read_settings(written(path, EVERYTHING)).presets

    assert presets["code"] == Preset(
        system="Write code.",
        sampling=SamplingSettings(temperature=0, top_k=20, logit_bias={5: float("-inf")}),
        speculation=SpeculationSettings(drafter="ngram", draft_length=4),
    )
    assert presets["wild"].system == "Be brief."
    assert presets["wild"].sampling.temperature == 1.5


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("[sampling]\ntemprature = 1", 2, "no setting temprature here. Did you mean temperature?"),
        ("[samplin]\ntop_k = 1", 1, "There is no setting samplin here. Did you mean sampling?"),
        ("theme = 'nord'", 1, "There is no setting theme here."),
        ("[sampling]\n\n\ntemperature = -1", 4, "temperature to -1.0: it has to be from 0 to 100."),
        ("[sampling]\ntemperature = 'hot'", 2, "expected a number, not text in quotes."),
        ("[sampling]\ntop_k = 1.5", 2, "top_k: expected a whole number, not a number."),
        ("[loading]\nthreads = true", 2, "threads: expected a whole number, not true or false."),
        ("[loading]\nthreads = 0", 2, "threads: expected a whole number >= 1."),
        ("[screen]\npanel = 'opn'", 2, 'expected "auto" or "open" or "line" or "hidden".'),
        ("[speculation]\ndraft_length = 'x'", 2, 'expected a whole number or "auto".'),
        ("[speculation]\ndraft_length = 99", 2, "draft length to 99: it has to be auto, or from 0"),
        ("sampling = 3", 1, "sampling: expected a table, such as [sampling]."),
        ("[models]\nfolders = 'x'", 2, "folders: expected a list in brackets, not text in quotes."),
        ("[chat]\n\npreset = 'cod'\n[presets.code]", 3, "no preset cod. Did you mean code?"),
        ("[presets.a.sampling]\ntop_k = -2", 2, "top-k to -2: it has to be 0 (all) or more."),
        ("[presets.a]\n[presets.a.speculation]\nrule = 'x'", 3, "rule: expected"),
        ('[presets."my own"]\nfoo = 1', 2, "There is no setting foo here."),
        ("presets = 1", 1, "presets: expected a table, such as [presets.code]."),
        ("[keys]\nchat.stop = 1", 2, "chat.stop: expected text in quotes."),
        ("[keys]\n\nchat.stpo = 'x'", 3, "There is no action chat.stpo. Did you mean chat.stop?"),
        ("[keys]\n\n'chat.stpo' = 'x'", 3, "There is no action chat.stpo. Did you mean chat.stop?"),
        ("[speculation]\nrule = 'greedy'", 2, "lossless at temperature 0 only"),
        ("[chat]\nsystem = ", 2, "This is no TOML"),
        ("[chat]\nsystem = 'a'\nsystem = 'b'", 3, "This is no TOML"),
    ],
)
def test_a_mistake_is_named_with_its_line(path: Path, text: str, line: int, says: str) -> None:
    with pytest.raises(SettingsProblem) as refusal:
        read_settings(written(path, text), check=known_actions)

    assert refusal.value.happened.startswith(f"{path}, line {line}: ")
    assert says in refusal.value.happened
    assert refusal.value.exit_code == 2


def test_a_preset_whose_rule_does_not_go_with_its_sampling_is_named_with_its_line(
    path: Path,
) -> None:
    text = "[sampling]\ntemperature = 0\n[speculation]\nrule = 'greedy'\n[presets.wild.sampling]\n"
    with pytest.raises(SettingsProblem, match=r"line 5: rule: .* temperature here is 1.5"):
        read_settings(written(path, f"{text}temperature = 1.5\n"))


def test_a_value_is_tried_with_the_errors_of_writing_it_and_nothing_is_written(path: Path) -> None:
    written(path, EVERYTHING)

    assert try_setting(("sampling", "temperature"), 0.9, path).sampling.temperature == 0.9
    assert try_setting(("sampling", "top_k"), None, path).sampling.top_k == 40
    with pytest.raises(InvalidSetting, match="from 0 to 100"):
        try_setting(("sampling", "temperature"), 1000, path)
    with pytest.raises(InvalidSetting, match=r"Did you mean chat\.stop"):
        try_setting(("keys", "chat.stpo"), "f5", path, check=known_actions)
    assert path.read_text() == EVERYTHING


def test_what_is_no_utf8_is_named_with_its_line(path: Path) -> None:
    path.write_bytes(b"[chat]\n\nsystem = '\xff'")
    with pytest.raises(SettingsProblem, match="line 3: This is no UTF-8"):
        read_settings(path)


def test_a_folder_in_place_of_the_file_is_said(path: Path) -> None:
    path.mkdir()
    with pytest.raises(SettingsProblem, match="cannot be read"):
        read_settings(path)


@given(st.text())
def test_any_text_is_read_or_refused_in_a_sentence(text: str) -> None:
    path = settings_path()
    path.write_bytes(text.encode(errors="replace"))
    try:
        read_settings(path)
    except SettingsProblem as problem:
        happened = problem.happened
    else:
        happened = f"{path}."
    assert happened.startswith(str(path))


def test_a_changed_setting_leaves_comments_and_order_alone(path: Path) -> None:
    written(path, EVERYTHING)
    settings = write_setting(("sampling", "temperature"), 0.9, path)

    assert settings.sampling.temperature == 0.9
    assert path.read_text() == EVERYTHING.replace(
        "temperature = 0.5  # cooler", "temperature = 0.9  # cooler"
    )


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("screen", "theme"), "gruvbox"),
        (("models", "folders"), ["~/a", "~/b"]),
        (("keys", "chat.stop"), "f5"),
        (("speculation", "draft_length"), 4),
        (("presets", "short"), {"system": "One line.", "sampling": {"temperature": 0.1}}),
        (("presets", "a name", "sampling", "seed"), 7),
    ],
)
def test_a_setting_is_written_where_there_was_nothing(
    path: Path, place: tuple[str, ...], value: Any
) -> None:
    settings = write_setting(place, value, path)
    table: Any = tomllib.loads(path.read_text())
    for name in place:
        table = table[name]

    assert table == value
    assert read_settings(path) == settings
    assert settings != Settings()


@pytest.mark.parametrize("action", ["chat.stop", "chat.new"])
def test_a_key_is_changed_where_it_stands_with_quotes_and_without(path: Path, action: str) -> None:
    written(path, EVERYTHING)
    settings = write_setting(("keys", action), "f9", path)

    assert settings.keys[action] == "f9"
    assert path.read_text().count("f9") == 1
    assert len(path.read_text().splitlines()) == len(EVERYTHING.splitlines())


def test_a_removed_setting_has_its_default_again(path: Path) -> None:
    written(path, EVERYTHING)

    assert write_setting(("sampling", "top_k"), None, path).sampling.top_k == 40
    assert write_setting(("keys", "chat.new"), None, path).keys == {"chat.stop": "ctrl+x"}
    assert set(write_setting(("presets", "wild"), None, path).presets) == {"code"}
    assert write_setting(("screen", "nothing"), None, path).screen.theme == "nord"


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        (("sampling", "temperature"), "hot", "expected a number, not text in quotes"),
        (("sampling", "temperature"), 1000, "from 0 to 100"),
        (("sampling", "temprature"), 1, "Did you mean temperature?"),
        (("keys", "chat.stpo"), "f5", "Did you mean chat.stop?"),
        (("chat", "preset"), "none", "There is no preset none"),
    ],
)
def test_a_value_that_does_not_fit_is_not_written(
    path: Path, place: tuple[str, ...], value: Any, says: str
) -> None:
    written(path, EVERYTHING)
    with pytest.raises(InvalidSetting) as refusal:
        write_setting(place, value, path, check=known_actions)

    assert f"Tried to set {'.'.join(place)} to {value}." == refusal.value.tried
    assert says in refusal.value.happened
    assert path.read_text() == EVERYTHING


def test_a_file_with_a_mistake_is_not_written_over(path: Path) -> None:
    written(path, "[sampling]\ntemprature = 1\n")
    with pytest.raises(SettingsProblem, match="line 2"):
        write_setting(("sampling", "top_k"), 1, path)

    assert path.read_text() == "[sampling]\ntemprature = 1\n"


def test_writing_leaves_no_other_file_behind_and_keeps_links_and_modes(
    path: Path, tmp_path: Path
) -> None:
    real = tmp_path / "dotfiles" / "settings.toml"
    real.parent.mkdir()
    written(real, EVERYTHING).chmod(0o640)
    path.symlink_to(real)
    write_setting(("screen", "theme"), "dracula", path)

    assert path.is_symlink()
    assert 'theme = "dracula"' in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o640
    assert os.listdir(real.parent) == ["settings.toml"]  # noqa: PTH208


def test_settings_that_cannot_be_written_are_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(SettingsProblem, match="cannot be"):
        write_setting(("screen", "theme"), "nord", tmp_path / "file" / "settings.toml")


def test_the_published_schema_is_the_one_of_the_code() -> None:
    assert SCHEMA.read_bytes().strip() == settings_schema().strip(), f"update it with: {UPDATE}"


def test_the_schema_explains_every_setting() -> None:
    schema = json.loads(settings_schema())
    for table in ("ChatSettings", "SamplingSettings", "SpeculationSettings", "ScreenSettings"):
        for name, field in schema["$defs"][table]["properties"].items():
            assert field.get("description"), f"{table}.{name}"


def test_the_schema_takes_what_is_read_and_refuses_an_unknown_key() -> None:
    validator = jsonschema.Draft202012Validator(json.loads(settings_schema()))
    tables = tomllib.loads(EVERYTHING)
    tables["keys"] = {"chat.stop": "ctrl+x"}
    validator.validate(tables)

    assert not validator.is_valid({"sampling": {"temprature": 1}})
    assert not validator.is_valid({"screen": {"panel": "opn"}})


def chosen(text: str, preset: str | None = None, **given: Any) -> Choices:
    return choose(read_settings(written(settings_path(), text)), given, preset)


def test_what_is_given_wins_over_the_preset_and_that_over_the_settings() -> None:
    choices = chosen(EVERYTHING, temperature=0.3, ctx=4096)

    assert choices.sampling.temperature == 0.3
    assert choices.sampling.top_k == 20
    assert (choices.context, choices.threads, choices.gpu_layers) == (4096, 4, 20)
    assert choices.system == "Write code."
    assert chosen(EVERYTHING).sampling.temperature == 0
    assert chosen(EVERYTHING, "wild").sampling.temperature == 1.5
    assert chosen(EVERYTHING, "wild", system="Hi").system == "Hi"


def test_without_settings_the_choices_are_the_program_s() -> None:
    choices = chosen("")

    assert choices.sampling == SamplingSettings()
    assert choices.speculation == SpeculationSettings()
    assert (choices.system, choices.context, choices.gpu_layers) == (None, None, None)


def test_an_option_that_was_not_given_counts_for_nothing() -> None:
    assert chosen(EVERYTHING, temperature=None, seed=None, reproducible=False) == chosen(EVERYTHING)


def test_reproducible_means_the_coupled_rule() -> None:
    assert chosen("", reproducible=True).speculation.rule == "coupled"


def test_the_draft_of_the_settings_goes_with_their_target_only() -> None:
    assert chosen(EVERYTHING).draft == os.path.expanduser("~/models/draft.gguf")  # noqa: PTH111
    assert chosen(EVERYTHING, target="other.gguf").draft is None
    assert chosen(EVERYTHING, target="other.gguf", draft="mine.gguf").draft == "mine.gguf"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"temperature": -1.0}, "temperature to -1.0"),
        ({"rule": "greedy", "temperature": 0.5}, "greedily at temperature 0.5"),
    ],
)
def test_options_out_of_range_are_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidSetting, match=says):
        chosen("", **given)


def test_a_pair_that_is_named_brings_its_own_files() -> None:
    choices = chosen(EVERYTHING, pair="qwen2.5-7b")

    assert (choices.target, choices.draft) == (None, None)
    assert choices.context == 8192


def test_an_empty_name_is_no_preset_at_all() -> None:
    assert chosen(EVERYTHING, "").sampling.temperature == 0.5
    assert chosen(EVERYTHING, "").system == "Be brief."


def test_a_preset_that_is_not_there_is_named_with_the_nearest() -> None:
    with pytest.raises(InvalidSetting, match=r"preset cod.*Did you mean code"):
        chosen(EVERYTHING, "cod")


def test_lines_of_quoted_and_dotted_names_are_known() -> None:
    text = "[a.\"b c\"]\nd.e = 1\n'f.g' = 2\n[[h]]\n[h.i]\nj = 3\n"

    assert line_numbers(text) == {
        ("a", "b c"): 1,
        ("a", "b c", "d", "e"): 2,
        ("a", "b c", "f.g"): 3,
        ("h", 0): 4,
        ("h", 0, "i"): 5,
        ("h", 0, "i", "j"): 6,
    }
