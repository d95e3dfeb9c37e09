"""The card of an engine that is gone, or that could not load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from specchat.engine.protocol import Failed
from specchat.errors import EngineCrashed
from specchat.tui.pair_switch import OTHER_PAIRS
from specchat.tui.widgets.card import Card

if TYPE_CHECKING:
    from specchat.choosing.less import Less


def card_of_broken(event: Failed, less: Less | None) -> Card:
    """What happened, and what can be done about it.

    Args:
        less: what would take less memory, if there is anything.
    """
    again = "Start" if event.kind == EngineCrashed.kind else "Try"
    actions = [(f"{again} again (Ctrl+R)", "restart")]
    if less:
        means = less.sentence[0].lower() + less.sentence[1:]
        event = replace(event, help=f"{event.help} Less would be: {means}")
        actions.append(("Start again with less (Ctrl+L)", "restart_with_less"))
    return Card.of_failure(event, *actions, OTHER_PAIRS)
