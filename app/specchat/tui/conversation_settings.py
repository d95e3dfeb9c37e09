"""What holds for the next answer: what the program was started with, and the conversation's own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import msgspec

from specchat.chat.records import Setup
from specchat.engine.protocol import DrafterName, Loaded
from specchat.errors import InvalidSetting
from specchat.speculation.settings import SamplingSettings, SpeculationSettings


class ChangeableSettings(Protocol):
    """Settings of a conversation; each change gives new ones."""

    @property
    def setup(self) -> Setup:
        """What the conversation sets for itself."""

    @property
    def sampling(self) -> SamplingSettings:
        """How tokens are drawn."""

    @property
    def speculation(self) -> SpeculationSettings:
        """How guesses are made."""

    def with_speculation(self, **changes: Any) -> Self:
        """Guess otherwise."""

    def with_system(self, system: str | None) -> Self:
        """Instruct the model otherwise."""

    def with_preset(self, name: str | None) -> Self:
        """Use a preset in place of all that was changed."""


@dataclass(frozen=True)
class ConversationSettings:
    """Settings without a file.

    Args:
        base_sampling: how tokens are drawn where the conversation does not say.
        base_speculation: how guesses are made there.
        setup: what the conversation sets for itself.
    """

    base_sampling: SamplingSettings
    base_speculation: SpeculationSettings
    setup: Setup

    @property
    def sampling(self) -> SamplingSettings:
        """How tokens are drawn."""
        return self.setup.sampling or self.base_sampling

    @property
    def speculation(self) -> SpeculationSettings:
        """How guesses are made."""
        return self.setup.speculation or self.base_speculation

    def with_speculation(self, **changes: Any) -> Self:
        """Guess otherwise in this conversation.

        Raises:
            InvalidSetting: a value is out of its range, or the rule does not go with the sampling.
        """
        speculation = msgspec.structs.replace(self.speculation, **changes)
        speculation.effective_rule(self.sampling)
        return self._with(speculation=speculation)

    def with_system(self, system: str | None) -> Self:
        """Instruct the model otherwise in this conversation."""
        return self._with(system=system)

    def with_preset(self, name: str | None) -> Self:
        """There are none.

        Raises:
            InvalidSetting: one was asked for.
        """
        if name:
            raise InvalidSetting(
                f"Tried to use the preset {name}.", "There is none of that name.", "Leave it out."
            )
        return replace(self, setup=Setup(preset=name))

    def _with(self, **changes: Any) -> Self:
        return replace(self, setup=msgspec.structs.replace(self.setup, **changes))


def drafter_of(loaded: Loaded, speculation: SpeculationSettings) -> DrafterName:
    """Who guesses with these settings, as the engine has it."""
    choice = speculation.drafter
    if not speculation.draft_length:
        return "none"
    if choice == "auto":
        return loaded.drafter
    return "mtp" if choice == "model" and loaded.drafter == "ngram+mtp" else choice
