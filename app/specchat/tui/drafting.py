"""Who guesses, as the panel has it."""

from specchat.engine.drafter_names import WITHOUT_NGRAMS, DrafterName
from specchat.engine.protocol import Loaded
from specchat.speculation.settings import SpeculationSettings


def drafter_of(loaded: Loaded, speculation: SpeculationSettings) -> DrafterName:
    """What a choice comes down to with what is loaded, as the engine sees it."""
    choice = speculation.drafter
    if not speculation.draft_length:
        return "none"
    if choice == "auto":
        return loaded.drafter
    return WITHOUT_NGRAMS.get(loaded.drafter, choice) if choice == "model" else choice
