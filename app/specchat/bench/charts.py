"""Charts as inline SVG. Colours are classes: the page decides on them, light or dark."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from markupsafe import Markup

BAR_HEIGHT = 18
BAR_GAP = 6
LABEL_WIDTH = 118
VALUE_WIDTH = 52
PLOT_WIDTH = 250
COLOURS = 8
"""How many series have a colour of their own: the classes s0 to s7."""

LINE_WIDTH, LINE_HEIGHT = 420, 220
MARGIN_LEFT, MARGIN_RIGHT, MARGIN_TOP, MARGIN_BOTTOM = 44, 12, 10, 38


class Bar(NamedTuple):
    """A horizontal bar; `lower` and `upper` are the ends of its whisker."""

    label: str
    value: float
    lower: float
    upper: float
    style: str
    """A class: plain, better, worse or other."""


class Series(NamedTuple):
    """A line through points."""

    label: str
    points: Sequence[tuple[float, float]]
    colour: int


def bar_chart(title: str, bars: Sequence[Bar], *, largest: float, mark: float, unit: str) -> Markup:
    """Bars from 0 to `largest`, with a line at `mark` and each value written beside its bar."""
    height = len(bars) * (BAR_HEIGHT + BAR_GAP) + 2
    width = LABEL_WIDTH + PLOT_WIDTH + VALUE_WIDTH
    scale = PLOT_WIDTH / largest if largest > 0 else 0.0
    parts = [_open(width, height, title)]
    at = LABEL_WIDTH + mark * scale
    parts.append(f'<line class="mark" x1="{at:.1f}" x2="{at:.1f}" y1="0" y2="{height}"/>')
    for index, each in enumerate(bars):
        top = index * (BAR_HEIGHT + BAR_GAP) + 2
        middle = top + BAR_HEIGHT / 2
        lower, upper = (LABEL_WIDTH + end * scale for end in (each.lower, each.upper))
        end = max(upper, LABEL_WIDTH + each.value * scale)
        parts += [
            f'<text class="label" x="{LABEL_WIDTH - 8}" y="{middle + 4:.1f}" text-anchor="end">'
            f"{escape(each.label)}</text>",
            f'<rect class="{each.style}" x="{LABEL_WIDTH}" y="{top}" rx="2" '
            f'width="{each.value * scale:.1f}" height="{BAR_HEIGHT}"/>',
            f'<path class="whisker" d="M{lower:.1f} {middle:.1f}H{upper:.1f}'
            f'M{lower:.1f} {middle - 4:.1f}v8M{upper:.1f} {middle - 4:.1f}v8"/>',
            f'<text class="value" x="{end + 6:.1f}" y="{middle + 4:.1f}">'
            f"{each.value:.2f}{escape(unit)}</text>",
        ]
    return Markup("".join([*parts, "</svg>"]))


def line_chart(
    title: str,
    series: Sequence[Series],
    *,
    x_label: str,
    x_range: tuple[float, float],
    y_largest: float,
    percent: bool = False,
) -> Markup:
    """Lines over a common axis; whole numbers along x. The legend is the page's."""
    first, last = x_range
    inner_width = LINE_WIDTH - MARGIN_LEFT - MARGIN_RIGHT
    inner_height = LINE_HEIGHT - MARGIN_TOP - MARGIN_BOTTOM

    def x(value: float) -> float:
        return MARGIN_LEFT + (value - first) / max(last - first, 1e-9) * inner_width

    def y(value: float) -> float:
        return MARGIN_TOP + (1 - value / max(y_largest, 1e-9)) * inner_height

    parts = [_open(LINE_WIDTH, LINE_HEIGHT, title)]
    for tick in _ticks(0, y_largest, 0.25 if percent else None):
        words = f"{tick:.0%}" if percent else f"{tick:g}"
        parts.append(
            f'<line class="rule" x1="{MARGIN_LEFT}" x2="{LINE_WIDTH - MARGIN_RIGHT}" '
            f'y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>'
            f'<text class="tick" x="{MARGIN_LEFT - 6}" y="{y(tick) + 4:.1f}" '
            f'text-anchor="end">{words}</text>'
        )
    below = LINE_HEIGHT - MARGIN_BOTTOM
    for tick in _ticks(first, last):
        parts.append(
            f'<text class="tick" x="{x(tick):.1f}" y="{below + 15}" '
            f'text-anchor="middle">{tick:g}</text>'
        )
    parts.append(
        f'<text class="tick" x="{MARGIN_LEFT + inner_width / 2}" y="{LINE_HEIGHT - 4}" '
        f'text-anchor="middle">{escape(x_label)}</text>'
    )
    for each in series:
        style = f"s{each.colour % COLOURS}"
        points = " ".join(f"{x(at):.1f},{y(value):.1f}" for at, value in each.points)
        parts.append(f'<polyline class="line {style}" points="{points}"/>')
        for at, value in each.points:
            words = f"{value:.0%}" if percent else f"{value:.1f}"
            parts.append(
                f'<circle class="dot {style}" cx="{x(at):.1f}" cy="{y(value):.1f}" r="3">'
                f"<title>{escape(each.label)}, {at:g}: {words}</title></circle>"
            )
    return Markup("".join([*parts, "</svg>"]))


def _open(width: int, height: int, title: str) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}" '
        f'style="max-width:{width}px"><title>{escape(title)}</title>'
    )


def _ticks(first: float, last: float, step: float | None = None) -> list[float]:
    """Round numbers from `first` to `last`, six or so of them."""
    if step is None:
        step = next(
            (
                size
                for size in (1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100)
                if last - first <= 6 * size
            ),
            (last - first) / 5,
        )
    count = int((last - first) / step + 1e-9)
    return [first + index * step for index in range(count + 1)]
