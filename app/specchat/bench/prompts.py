"""The prompt sets: one TOML file each, all written for this purpose."""

from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import msgspec

from specchat.engine.protocol import Message
from specchat.errors import InvalidSetting

PACKAGED = Path(__file__).parent.parent / "prompts"
CHECKOUT = Path(__file__).parents[3] / "assets" / "prompts"


class Prompt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One question to the model."""

    text: str
    system: str | None = None

    @property
    def conversation(self) -> tuple[Message, ...]:
        """The turns that the model answers."""
        system = () if self.system is None else (Message("system", self.system.strip()),)
        return (*system, Message("user", self.text.strip()))


class PromptSet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Prompts of one kind."""

    name: str
    """Short, as in a column's head and on the command line."""
    title: str
    prompt: tuple[Prompt, ...]


class Question(NamedTuple):
    """A prompt with its place."""

    set: str
    number: int
    """In its set, from 1."""
    prompt: Prompt


def prompts_folder() -> Path:
    """Inside the installed package, or in a source checkout."""
    return PACKAGED if PACKAGED.is_dir() else CHECKOUT


def read_prompt_sets(names: Sequence[str] = (), folder: Path | None = None) -> list[PromptSet]:
    """The sets of these names, in their order; without names all of them, by name.

    Raises:
        InvalidSetting: there is no set of that name.
    """
    files = sorted((folder or prompts_folder()).glob("*.toml"))
    sets = {file.stem: msgspec.toml.decode(file.read_bytes(), type=PromptSet) for file in files}
    for name in names:
        if name not in sets:
            raise InvalidSetting(
                f"Tried to measure the prompt set '{name}'.",
                "There is no such set.",
                f"Choose from: {', '.join(sets)}.",
            )
    return [sets[name] for name in dict.fromkeys(names or sets)]


def questions(sets: Sequence[PromptSet], per_set: int | None = None) -> list[Question]:
    """The first `per_set` prompts of each set, or all, in the order in which they are asked.

    The sets take turns: whatever part of a run one looks at, every set has its share in it, so
    that rates of the first and the last part can be compared.
    """
    rows = zip_longest(
        *(
            [Question(each.name, number, prompt) for number, prompt in enumerate(each.prompt, 1)][
                :per_set
            ]
            for each in sets
        )
    )
    return [question for row in rows for question in row if question is not None]
