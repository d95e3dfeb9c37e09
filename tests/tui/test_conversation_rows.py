"""Lines of the list of conversations: as wide as there is room, with ages as a person says them."""

import pytest

from specchat.chat.records import Found, Summary
from specchat.tui.ages import age, group_of
from specchat.tui.conversation_rows import FOUND, ConversationRow, FoundMessage
from tui.chats import DAY, HOUR, NOW

pytestmark = pytest.mark.usefixtures("utc")

NOW_MS = int(NOW * 1000)

TITLES = [
    "Short",
    "long " * 40,
    "灯台" * 40,
    "🙂👩‍👩‍👧 é" * 20,
    "two\nlines\rand\ttabs",
    "\x1b[31mred",
    "",
]


def summary(title: str) -> Summary:
    return Summary(id=1, title=title, pinned=False, archived=False, created_at=0, updated_at=NOW_MS)


@pytest.mark.parametrize("width", [20, 39, 40, 117])
@pytest.mark.parametrize("title", TITLES, ids=range(len(TITLES)))
def test_a_line_is_as_wide_as_the_list_whatever_the_title(title: str, width: int) -> None:
    (line,) = ConversationRow(summary(title), NOW_MS).lines(width)
    assert line.cell_length == width
    assert line.plain.endswith(" now")
    assert not set(line.plain) & set("\n\r\t\x1b")


def test_marks_stay_on_their_words_where_characters_are_replaced_and_where_they_are_cut() -> None:
    found = Found(
        conversation=1,
        title="Lamps",
        message=2,
        role="user",
        at=NOW_MS,
        snippet="\x07the lamp of the lighthouse, and its lamp",
        marks=((5, 9), (17, 27)),
    )
    _, line = FoundMessage(found, NOW_MS).lines(24)
    words = [line.plain[span.start : span.end] for span in line.spans if span.style == FOUND]
    assert words == ["lamp", "ligh…"]


@pytest.mark.parametrize(
    ("ago", "group", "said"),
    [
        (-HOUR, "Today", "now"),
        (59, "Today", "now"),
        (60, "Today", "1 min"),
        (59 * 60, "Today", "59 min"),
        (15 * HOUR, "Today", "15 h"),
        (15 * HOUR + 1, "Yesterday", "yesterday"),
        (1.6 * DAY, "Yesterday", "yesterday"),
        (2 * DAY, "This week", "Mon"),
        (6 * DAY, "This week", "Thu"),
        (7 * DAY, "Earlier", "11 Nov"),
        (400 * DAY, "Earlier", "2025-10-14"),
        (2200 * 365 * DAY, "Earlier", "0001-01-01"),
    ],
)
def test_an_age_is_short_and_a_day_is_that_of_the_calendar(
    ago: float, group: str, said: str
) -> None:
    at = NOW_MS - int(ago * 1000)
    assert (group_of(at, NOW_MS), age(at, NOW_MS)) == (group, said)
