"""How numbers look, and the graph of the last minute."""

from collections.abc import Callable

import pytest

from specchat.speculation.metrics import Figures
from specchat.tui import wording
from specchat.tui.rate_history import RateHistory


@pytest.mark.parametrize(
    ("count", "shown"), [(0, "0"), (96, "96"), (412, "0.4k"), (8192, "8.2k"), (16384, "16k")]
)
def test_tokens(count: int, shown: str) -> None:
    assert wording.tokens(count) == shown


@pytest.mark.parametrize(
    ("fraction", "shown"),
    [(0, "0%"), (0.001, "<1%"), (0.784, "78%"), (0.999, "99%"), (1, "100%")],
)
def test_percent_says_all_or_nothing_only_when_it_is(fraction: float, shown: str) -> None:
    assert wording.percent(fraction) == shown


def test_rate_and_seconds() -> None:
    assert wording.rate(6.04) == "6.0 tok/s"
    assert wording.rate(123.4) == "123 tok/s"
    assert wording.seconds(0.418) == "0.42 s"
    assert wording.seconds(3.14) == "3.1 s"
    assert wording.seconds(24.4) == "24 s"


@pytest.mark.parametrize(
    ("duration", "shown"),
    [(0.4, "now"), (59.9, "59 s ago"), (60, "1 min ago"), (3599, "59 min ago"), (7300, "2 h ago")],
)
def test_an_age_is_never_rounded_up(duration: float, shown: str) -> None:
    assert wording.ago(duration) == shown


def test_a_bar_is_exact_to_an_eighth() -> None:
    assert wording.bar(0.0, 4) == "    "
    assert wording.bar(1.0, 4) == "████"
    assert wording.bar(0.5, 4) == "██  "
    assert wording.bar(17 / 32, 4) == "██▏ "


def test_a_sparkline_is_scaled_to_its_largest_value() -> None:
    assert wording.sparkline([]) == ""
    assert wording.sparkline([0.0, 0.0]) == "▁▁"
    assert wording.sparkline([0.0, 50.0, 100.0]) == "▁▅█"


def test_the_figures_of_an_answer_without_rounds_are_not_made_up() -> None:
    assert wording.figures_shown(Figures()) == []


def test_control_characters_become_visible() -> None:
    assert wording.visible("a\tb\r\n\x1b[31m\x9b\x7f") == "a\tb\n␛[31m\ufffd␡"


@pytest.mark.parametrize("show", [wording.visible, wording.visible_line])
def test_text_cannot_turn_the_direction_in_which_the_rest_of_a_line_is_written(
    show: Callable[[str], str],
) -> None:
    turning = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    assert show("a" + turning + "b") == "a" + "\ufffd" * len(turning) + "b"
    assert show("שלום \u200fعليكم") == "שלום \u200fعليكم"


def test_long_names_lose_their_middle() -> None:
    assert wording.shorten("abcdefghij", 7) == "abc…hij"
    assert wording.shorten("short", 7) == "short"


def figures(decode_s: float, emitted: int) -> Figures:
    return Figures(decode_s=decode_s, emitted=emitted, rounds=1)


def test_the_graph_runs_on_the_clock_of_decoding() -> None:
    history = RateHistory()
    history.add(figures(0.1, 5))
    assert history.columns(10) == [50.0]
    history.add(figures(1.0, 50))
    assert history.columns(10) == [50.0, 50.0, 50.0, 50.0]
    assert history.covered_s == 1.0


def test_the_graph_goes_on_with_the_next_answer() -> None:
    history = RateHistory()
    history.add(figures(1.0, 50))
    history.begin_answer()
    history.add(figures(1.0, 100))
    assert history.columns(20) == [50.0] * 4 + [100.0] * 4


def test_the_graph_covers_a_minute_and_no_more() -> None:
    history = RateHistory()
    for second in range(1, 201):
        history.add(figures(float(second), 40 * second))
    assert history.covered_s == 60.0
    columns = history.columns(24)
    assert len(columns) == 24
    assert columns == pytest.approx([40.0] * 24)
