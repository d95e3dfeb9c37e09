"""What stands in the list of conversations: all by recency, or what a search found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from specchat.tui.ages import GROUPS, group_of
from specchat.tui.conversation_rows import ConversationRow, FoundMessage, FoundTitle
from specchat.tui.widgets.conversation_list import Opened, Section

if TYPE_CHECKING:
    from specchat.chat.records import Found, Summary

PINNED = "Pinned"


def sections_of(summaries: Iterable[Summary], now: int, current: int | None) -> Iterator[Section]:
    """Pinned ones, then the others by the day of their last use.

    Args:
        summaries: the last used first.
        now: milliseconds since 1970.
        current: the conversation that is open.
    """
    groups: dict[str, list[Summary]] = {group: [] for group in (PINNED, *GROUPS)}
    for each in summaries:
        groups[PINNED if each.pinned else group_of(each.updated_at, now)].append(each)
    for heading, members in groups.items():
        yield Section(
            heading,
            [(Opened(each.id), ConversationRow(each, now, each.id == current)) for each in members],
        )


def found_section(
    found: Sequence[Found], summaries: Mapping[int, Summary], now: int, current: int | None
) -> Section:
    """Titles and messages, in the order of the search; a message that is a title comes once.

    Args:
        summaries: of the conversations, by id.
    """
    entries = []
    titled = {each.conversation for each in found if each.message is None}
    for each in found:
        if each.message and each.snippet == each.title and each.conversation in titled:
            continue
        summary = summaries.get(each.conversation)
        row = FoundTitle if each.message is None else FoundMessage
        opened = Opened(each.conversation, each.message)
        archived = summary is not None and summary.archived
        entries.append((opened, row(each, now, each.conversation == current, archived)))
    return Section("", entries)
