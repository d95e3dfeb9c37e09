"""The models on this disk that can answer. Every header is read, which may take a second."""

from specchat.choosing.disk import shelves_here
from specchat.hub.inventory import FoundModel, take_inventory


def answering_models() -> tuple[FoundModel, ...]:
    """Those of all programs, and the built-in one."""
    return tuple(model for model in take_inventory(shelves_here()).models if model.kind == "model")
