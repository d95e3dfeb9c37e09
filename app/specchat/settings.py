"""What a person sets once and for all: `settings.toml` in the config folder.

A missing file, table or key means the default. What specchat writes there leaves comments and
order as they are.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from specchat.errors import InvalidSetting
from specchat.nearest import did_you_mean
from specchat.paths import config_folder
from specchat.speculation.settings import (
    MAX_INTEGER,
    SamplingSettings,
    SpeculationSettings,
)

Table = TypeVar("Table", bound=msgspec.Struct)

Count = Annotated[int, Meta(ge=1, le=MAX_INTEGER)]
Layers = Annotated[int, Meta(ge=-1, le=MAX_INTEGER)]
Threads = Annotated[int, Meta(ge=1, le=512)]
Text = Annotated[str, Meta(min_length=1)]


class ChatSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How conversations begin."""

    system: str | None = None
    """The system prompt."""
    preset: Text | None = None
    """The name of the preset that is used where none is chosen."""
    max_tokens: Count | None = None
    """The longest answer, in tokens; without it, until the model ends."""


class LoadingSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How models are loaded; what is left out is chosen for this machine."""

    context: Count | None = None
    """Room for the conversation, in tokens; without it, as the pair and the memory suggest."""
    threads: Threads | None = None
    """Threads of the CPU; without it, one for each core."""
    gpu_layers: Layers | None = None
    """Layers of the target on the GPU; -1: all, whether they fit or not; without it, as many as
    fit."""


class ScreenSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How it looks, and what Enter does."""

    theme: Text | None = None
    """The name of a theme; without it, one that suits the terminal."""
    panel: Literal["auto", "open", "line", "hidden"] = "auto"
    """The speculation panel; `auto` folds it to a line where there is little room."""
    animations: Literal["auto", "on", "off"] = "auto"
    """Things that move, and the blinking cursor; `auto`: off over SSH."""
    enter: Literal["send", "newline"] = "send"
    """With `newline`, Shift+Enter or Ctrl+J send: for input methods that take Enter themselves."""


class ModelSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where models are."""

    folders: tuple[Text, ...] = ()
    """Folders with GGUF files, beside the Hugging Face cache; `~` is the home folder."""
    target: Text | None = None
    """The GGUF file that answers where none is named."""
    draft: Text | None = None
    """The GGUF file that guesses for that target."""


class Preset(msgspec.Struct, frozen=True, kw_only=True):
    """Settings under a name. What it leaves out is as it is without it."""

    system: str | None = None
    sampling: SamplingSettings = SamplingSettings()
    speculation: SpeculationSettings = SpeculationSettings()


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The whole file."""

    chat: ChatSettings = ChatSettings()
    sampling: SamplingSettings = SamplingSettings()
    """How the next token is drawn."""
    speculation: SpeculationSettings = SpeculationSettings()
    """How guesses are made and kept."""
    loading: LoadingSettings = LoadingSettings()
    models: ModelSettings = ModelSettings()
    screen: ScreenSettings = ScreenSettings()
    keys: dict[str, str] = {}
    """Other keys for actions: the action's id, and keys in Textual's words, such as `ctrl+s,f2`."""
    presets: dict[str, Preset] = {}


class Choices(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for an answer and for loading: settings, a preset and the command line as one."""

    sampling: SamplingSettings
    speculation: SpeculationSettings
    system: str | None
    max_tokens: int | None
    context: int | None
    threads: int | None
    gpu_layers: int | None
    """None: as many as fit."""
    target: str | None
    draft: str | None


def settings_path() -> Path:
    """Where the file is, or would be."""
    return config_folder() / "settings.toml"


def choose(settings: Settings, given: Mapping[str, Any], preset: str | None = None) -> Choices:
    """What holds: given on the command line, else in the preset, else in the settings.

    Args:
        given: options that were really given, by the names they have in `cli.py`.
        preset: a name; None is the one of the settings, if there is one; empty is none at all.

    Raises:
        InvalidSetting: there is no such preset, an option is out of its range, or the rule does
            not go with the sampling.
    """
    base = settings_with_preset(settings, preset)
    options = plain_options(given)
    sampling = _replaced(base.sampling, options)
    speculation = _replaced(base.speculation, options)
    speculation.effective_rule(sampling)
    loading = settings.loading
    # A pair that is named brings files of its own.
    models = ModelSettings() if "pair" in options else settings.models
    target = options.get("target", _file(models.target))
    return Choices(
        sampling=sampling,
        speculation=speculation,
        system=options.get("system", base.system),
        max_tokens=options.get("max_tokens", settings.chat.max_tokens),
        context=options.get("ctx", loading.context),
        threads=options.get("threads", loading.threads),
        gpu_layers=options.get("gpu_layers", loading.gpu_layers),
        target=target,
        # The draft of the settings goes with their target, not with another one.
        draft=options.get("draft", _file(models.draft) if target == _file(models.target) else None),
    )


def plain_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Options by the names of the settings' fields; one without a value counts for nothing."""
    options = {name: value for name, value in given.items() if value is not None}
    if options.pop("reproducible", False):
        options["rule"] = "coupled"
    return options


def settings_with_preset(settings: Settings, preset: str | None = None) -> Preset:
    """What the settings and a preset come to.

    Args:
        preset: as for `choose`.

    Raises:
        InvalidSetting: there is no such preset.
    """
    name = settings.chat.preset if preset is None else preset
    if not name:
        system = settings.chat.system
        return Preset(system=system, sampling=settings.sampling, speculation=settings.speculation)
    if name not in settings.presets:
        raise InvalidSetting(
            f"Tried to use the preset {name}.",
            f"There is none of that name.{did_you_mean(name, settings.presets)}",
            f"Add it to {settings_path()} as [presets.{name}], or choose another one.",
        )
    return settings.presets[name]


def settings_schema() -> bytes:
    """The JSON Schema of the file, as published in docs/settings.schema.json."""
    from specchat.described import explanations

    schema: dict[str, Any] = msgspec.json.schema(Settings)
    structs = [Settings, Preset, *(field.type for field in msgspec.structs.fields(Settings))]
    words = {struct.__name__: explanations(struct) for struct in structs if _is_table(struct)}
    for name, definition in schema["$defs"].items():
        definition["additionalProperties"] = False
        for key, says in words[name].items():
            definition["properties"][key]["description"] = says
    return msgspec.json.format(msgspec.json.encode(schema), indent=2)


def _is_table(type_: Any) -> bool:
    return isinstance(type_, type) and issubclass(type_, msgspec.Struct)


def _file(path: str | None) -> str | None:
    return None if path is None else os.path.expanduser(path)  # noqa: PTH111 - a text stays one


def _replaced(base: SamplingSettings | SpeculationSettings, options: Mapping[str, Any]) -> Any:
    return replace(
        base, **{name: options[name] for name in base.__struct_fields__ if name in options}
    )
