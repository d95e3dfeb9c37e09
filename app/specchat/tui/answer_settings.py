"""What holds for the next answer: the settings, the conversation's own, and the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import msgspec

from specchat.chat.records import Setup
from specchat.errors import InvalidSetting
from specchat.settings import Preset, Settings, plain_options, settings_with_preset
from specchat.speculation.settings import SamplingSettings, SpeculationSettings

if TYPE_CHECKING:
    from specchat.choosing.choice import Asked

PRESET_FIELDS = frozenset(
    {
        "preset",
        "system",
        *SamplingSettings.__struct_fields__,
        *SpeculationSettings.__struct_fields__,
    }
)
"""The options that a preset speaks about."""


@dataclass(frozen=True)
class AnswerSettings:
    """The settings, a preset, what the conversation sets for itself, and the command line as one.

    Each wins over those before it. What a person changes in the chat is kept in the conversation's
    `setup`; it wins over the command line, whose option does not count in this conversation then.

    Args:
        settings: of the file.
        given: options that were really given, by the names they have in `cli.py`.
        setup: what the conversation sets for itself.
        overruled: options given that were changed since in this conversation.
    """

    settings: Settings = Settings()  # noqa: RUF009 - it is frozen
    given: Mapping[str, Any] = field(default_factory=dict)
    setup: Setup = Setup()  # noqa: RUF009 - it is frozen
    overruled: frozenset[str] = frozenset()

    # What holds

    @property
    def sampling(self) -> SamplingSettings:
        """How tokens are drawn."""
        return msgspec.structs.replace(self._own_sampling, **self._given_of(SamplingSettings))

    @property
    def speculation(self) -> SpeculationSettings:
        """How guesses are made; a rule that does not go with the sampling leaves it to `auto`."""
        own = msgspec.structs.replace(self._own_speculation, **self._given_of(SpeculationSettings))
        try:
            own.effective_rule(self.sampling)
        except InvalidSetting:
            return msgspec.structs.replace(own, rule="auto")
        return own

    @property
    def system(self) -> str | None:
        """Instructions before the conversation; None or empty where there are none."""
        own = self._preset.system if self.setup.system is None else self.setup.system
        system: str | None = self._counting.get("system", own)
        return system

    @property
    def max_tokens(self) -> int | None:
        """The longest answer."""
        longest: int | None = self._counting.get("max_tokens", self.settings.chat.max_tokens)
        return longest

    @property
    def preset(self) -> str | None:
        """The name of the preset that holds; None without one, and where it is gone."""
        name = self._wanted_preset
        return name if name in self.settings.presets else None

    @property
    def lost_preset(self) -> str | None:
        """The name of a preset that the conversation asks for and that is there no more."""
        name = self._wanted_preset
        return name if name and name not in self.settings.presets else None

    def instead(self, table: str, name: str) -> tuple[Any, str] | None:
        """What holds in place of a setting of the file, and who says so; None: the file's does."""
        if table in ("sampling", "speculation"):
            now = getattr(getattr(self, table), name)
            own = getattr(self.setup, table)
        elif (table, name) in (("chat", "system"), ("chat", "max_tokens")):
            now, own = getattr(self, name), getattr(self.setup, name, None)
        else:
            return None
        if now == getattr(getattr(self.settings, table), name):
            return None
        if name in self._counting:
            return now, "the command line"
        return now, "this conversation" if own is not None else f"the preset {self.preset}"

    # What changes

    def for_conversation(self, setup: Setup) -> AnswerSettings:
        """Another conversation is open."""
        return replace(self, setup=setup, overruled=frozenset())

    def with_settings(self, settings: Settings) -> AnswerSettings:
        """The file has changed."""
        return replace(self, settings=settings)

    def with_sampling(self, **changes: Any) -> AnswerSettings:
        """Draw otherwise in this conversation.

        Raises:
            InvalidSetting: a value is out of its range.
        """
        sampling = msgspec.structs.replace(self._own_sampling, **changes)
        return self._changed(changes, sampling=sampling)

    @property
    def usual_sampling(self) -> SamplingSettings:
        """What the settings, or the preset, say of it."""
        return self._preset.sampling

    def with_speculation(self, **changes: Any) -> AnswerSettings:
        """Guess otherwise in this conversation: `drafter`, `draft_length` or `rule`.

        Raises:
            InvalidSetting: a value is out of its range, or the rule does not go with the sampling.
        """
        speculation = msgspec.structs.replace(self._own_speculation, **changes)
        if "rule" in changes:
            speculation.effective_rule(self.sampling)
        return self._changed(changes, speculation=speculation)

    def with_system(self, system: str | None) -> AnswerSettings:
        """Instruct the model otherwise in this conversation.

        Args:
            system: empty is none; None leaves it to the preset and the settings.
        """
        return self._changed(("system",), system=system)

    def with_preset(self, name: str | None) -> AnswerSettings:
        """Use a preset in this conversation, in place of all that was changed in it.

        Args:
            name: empty is none; None leaves it to the settings.

        Raises:
            InvalidSetting: there is none of this name.
        """
        settings_with_preset(self.settings, name)
        return replace(self, setup=Setup(preset=name), overruled=self.overruled | PRESET_FIELDS)

    def asked(self, asked: Asked) -> Asked:
        """What is asked for at the next load."""
        plain = self.for_conversation(Setup())
        options, loading = plain_options(self.given), self.settings.loading
        return msgspec.structs.replace(
            asked,
            ctx=options.get("ctx", loading.context),
            threads=options.get("threads", loading.threads),
            gpu_layers=options.get("gpu_layers", loading.gpu_layers),
            drafter=plain.speculation.drafter,
            draft_length=plain.speculation.draft_length,
            keeps_draft=plain.speculation.drafter == "model",
        )

    @property
    def _counting(self) -> dict[str, Any]:
        """The options given that count here."""
        options = plain_options(self.given)
        return {name: value for name, value in options.items() if name not in self.overruled}

    @property
    def _wanted_preset(self) -> str | None:
        own = self.setup.preset
        own = self.settings.chat.preset if own is None else own
        name: str | None = self._counting.get("preset", own)
        return name or None

    @property
    def _preset(self) -> Preset:
        return settings_with_preset(self.settings, self.preset or "")

    @property
    def _own_sampling(self) -> SamplingSettings:
        return self.setup.sampling or self._preset.sampling

    @property
    def _own_speculation(self) -> SpeculationSettings:
        return self.setup.speculation or self._preset.speculation

    def _given_of(self, table: type[msgspec.Struct]) -> dict[str, Any]:
        counting = self._counting
        return {name: counting[name] for name in table.__struct_fields__ if name in counting}

    def _changed(
        self, overruled: Mapping[str, Any] | tuple[str, ...], **setup: Any
    ) -> AnswerSettings:
        return replace(
            self,
            setup=msgspec.structs.replace(self.setup, **setup),
            overruled=self.overruled | frozenset(overruled),
        )
