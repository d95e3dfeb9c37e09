"""What a person sets once and for all: `settings.toml` in the config folder.

A missing file, table or key means the default. What specchat writes there leaves comments and
order as they are.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from specchat.errors import InvalidSetting
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
    """In tokens."""
    threads: Threads | None = None
    """Of the CPU."""
    gpu_layers: Layers | None = None
    """Of the target, on the GPU; -1 is all."""


class ScreenSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How it looks, and what Enter does."""

    theme: Text | None = None
    """The name of a theme; without it, one that suits the terminal."""
    panel: Literal["auto", "open", "line", "hidden"] = "auto"
    """The speculation panel; `auto` folds it to a line where there is little room."""
    animations: Literal["auto", "on", "off"] = "auto"
    """`auto`: off over SSH."""
    enter: Literal["send", "newline"] = "send"
    """With `newline`, Shift+Enter or Ctrl+J send: for input methods that take Enter themselves."""


class ModelSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where models are."""

    folders: tuple[Text, ...] = ()
    """Folders with GGUF files, beside the Hugging Face cache; `~` is the home folder."""
    target: Text | None = None
    """The GGUF file that answers where none is named."""
    draft: Text | None = None
    """The GGUF file that guesses for it."""


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
    gpu_layers: int
    target: str | None
    draft: str | None


def settings_path() -> Path:
    """Where the file is, or would be."""
    return config_folder() / "settings.toml"


def choose(settings: Settings, given: Mapping[str, Any], preset: str | None = None) -> Choices:
    """What holds: given on the command line, else in the preset, else in the settings.

    Args:
        given: options that were really given, by the names they have in `cli.py`.
        preset: a name; None is the one of the settings, if there is one.

    Raises:
        InvalidSetting: there is no such preset, an option is out of its range, or the rule does
            not go with the sampling.
    """
    base = _with_preset(settings, preset or settings.chat.preset)
    options = {name: value for name, value in given.items() if value is not None}
    if options.pop("reproducible", False):
        options["rule"] = "coupled"
    sampling = _replaced(base.sampling, options)
    speculation = _replaced(base.speculation, options)
    speculation.effective_rule(sampling)
    loading, models = settings.loading, settings.models
    gpu_layers = options.get("gpu_layers", loading.gpu_layers)
    target = options.get("target", models.target)
    return Choices(
        sampling=sampling,
        speculation=speculation,
        system=options.get("system", base.system),
        max_tokens=options.get("max_tokens", settings.chat.max_tokens),
        context=options.get("ctx", loading.context),
        threads=options.get("threads", loading.threads),
        gpu_layers=-1 if gpu_layers is None else gpu_layers,
        target=target,
        # The draft of the settings goes with their target, not with another one.
        draft=options.get("draft", models.draft if target == models.target else None),
    )


def settings_schema() -> bytes:
    """The JSON Schema of the file, as published in docs/settings.schema.json."""
    schema: dict[str, Any] = msgspec.json.schema(Settings)
    for definition in schema["$defs"].values():
        definition["additionalProperties"] = False
    return msgspec.json.format(msgspec.json.encode(schema), indent=2)


def _with_preset(settings: Settings, name: str | None) -> Preset:
    from specchat.pairing.catalog_rules import did_you_mean

    if name is None:
        system = settings.chat.system
        return Preset(system=system, sampling=settings.sampling, speculation=settings.speculation)
    if name not in settings.presets:
        raise InvalidSetting(
            f"Tried to use the preset {name}.",
            f"There is none of that name.{did_you_mean(name, settings.presets)}",
            f"Add it to {settings_path()} as [presets.{name}], or choose another one.",
        )
    return settings.presets[name]


def _replaced(base: SamplingSettings | SpeculationSettings, options: Mapping[str, Any]) -> Any:
    return replace(
        base, **{name: options[name] for name in base.__struct_fields__ if name in options}
    )
