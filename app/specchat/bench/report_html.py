"""A run as one HTML file that needs nothing else: no script, no font, no network."""

from pathlib import Path
from typing import NamedTuple

import jinja2
from markupsafe import Markup

from specchat.bench.charts import Bar, Series, bar_chart, line_chart
from specchat.bench.over_time import deciding_variants, lengths_over_time
from specchat.bench.progress import duration
from specchat.bench.record import Record, Row
from specchat.bench.variants import PLAIN
from specchat.bench.wording import REASONS, draft_words

TEMPLATE = Path(__file__).with_name("report.html.jinja")
REASONS_SHOWN = 8


class Panel(NamedTuple):
    """A chart with its heading."""

    title: str
    chart: Markup


class Legend(NamedTuple):
    """Which colour is which variant."""

    label: str
    colour: int


def report_html(record: Record) -> str:
    """The whole page."""
    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    positions, position_legend = _positions(record)
    lengths, length_legend = _lengths(record)
    return template.render(
        record=record,
        draft=draft_words(record),
        duration=duration(record.duration_s),
        rows=[record.row(each.name) for each in record.variants],
        speed_ups=_speed_ups(record),
        positions=positions,
        position_legend=position_legend,
        lengths=lengths,
        length_legend=length_legend,
        reasons=_reasons(record),
    )


def _speed_ups(record: Record) -> list[Panel]:
    """A chart for all sets together and one for each, with one scale for all."""
    sets: list[tuple[str | None, str]] = [(None, "All sets")]
    sets += [(each.name, each.title) for each in record.sets]
    compared = [each.name for each in record.variants if each.name != PLAIN]
    found = {(row.variant, row.set): row for row in record.rows}
    largest = max(
        [1.0] + [row.speed_up.upper for row in record.rows if row.speed_up and row.variant != PLAIN]
    )
    panels = []
    for name, title in sets:
        bars = [bar for variant in compared for bar in _bars(found[variant, name])]
        chart = bar_chart(
            f"Speed-up over plain decoding: {title}", bars, largest=largest, mark=1.0, unit="x"
        )
        panels.append(Panel(title, chart))
    return panels if compared else []


def _bars(row: Row) -> list[Bar]:
    if row.speed_up is None:
        return []
    median, lower, upper = row.speed_up.median, row.speed_up.lower, row.speed_up.upper
    style = "better" if median >= 1 else "worse"
    if row.tested is None:  # llama-server does not tell
        style = "other"
    return [Bar(row.variant, median, lower, upper, style)]


def _positions(record: Record) -> tuple[Markup | None, list[Legend]]:
    series: list[Series] = []
    for each in record.variants:
        shares = record.row(each.name).acceptance_by_position
        if shares:
            series.append(Series(each.name, list(enumerate(shares, 1)), len(series)))
    if not series:
        return None, []
    longest = max(len(each.points) for each in series)
    chart = line_chart(
        "Acceptance by position in the draft",
        series,
        x_label="position in the draft",
        x_range=(1, max(longest, 2)),
        y_largest=1.0,
        percent=True,
    )
    return chart, [Legend(each.label, each.colour) for each in series]


def _lengths(record: Record) -> tuple[list[Panel], list[Legend]]:
    variants = deciding_variants(record)
    lines = {
        (name, each.name): lengths_over_time(
            [
                answer
                for answer in record.answers
                if (answer.variant, answer.set) == (name, each.name)
            ],
            record.max_tokens,
        )
        for name in variants
        for each in record.sets
    }
    largest = max((length for line in lines.values() for _, length in line), default=0.0)
    panels = [
        Panel(
            each.title,
            line_chart(
                f"Tokens drafted a round: {each.title}",
                [
                    Series(name, lines[name, each.name], colour)
                    for colour, name in enumerate(variants)
                ],
                x_label="tokens of the answer so far",
                x_range=(0, record.max_tokens),
                y_largest=max(largest, 1.0),
            ),
        )
        for each in record.sets
        if variants
    ]
    return panels, [Legend(name, colour) for colour, name in enumerate(variants)]


def _reasons(record: Record) -> list[tuple[str, list[tuple[str, int, float]]]]:
    """For each variant with more than one reason: reason, rounds, share of all its rounds."""
    found = []
    for each in record.variants:
        reasons = record.row(each.name).reasons
        if len(reasons) > 1:
            total = sum(reasons.values())
            lines = [(REASONS[reason], count, count / total) for reason, count in reasons.items()]
            found.append((each.name, lines[:REASONS_SHOWN]))
    return found
