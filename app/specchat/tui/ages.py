"""When something was, as short as a person would say it."""

from datetime import datetime

GROUPS = ("Today", "Yesterday", "This week", "Earlier")
WEEK = 7
"""Days until the name of a weekday is that of today again."""


def group_of(at: int, now: int) -> str:
    """One of `GROUPS`, by the days of this place's calendar.

    Args:
        at: milliseconds since 1970, like `now`.
    """
    days = _days_between(at, now)
    if days < WEEK:
        return GROUPS[min(max(days, 0), 2)]
    return GROUPS[-1]


def age(at: int, now: int) -> str:
    """How long ago it was today, else the day: now, 5 min, 3 h, yesterday, Mon, 12 Nov, a date."""
    minutes = (now - at) // 60_000
    if minutes < 1:
        return "now"
    if minutes < 60:
        return f"{minutes} min"
    days, then = _days_between(at, now), _local(at)
    if days <= 0:
        return f"{minutes // 60} h"
    if days == 1:
        return "yesterday"
    if days < WEEK:
        return f"{then:%a}"
    return f"{then.day} {then:%b}" if then.year == _local(now).year else then.date().isoformat()


def _days_between(at: int, now: int) -> int:
    return (_local(now).date() - _local(at).date()).days


def _local(at: int) -> datetime:
    """A time at the edge of the calendar may be none here; it is long ago all the same."""
    try:
        return datetime.fromtimestamp(at / 1000)
    except (ValueError, OverflowError, OSError):
        return datetime.min
