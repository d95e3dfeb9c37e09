"""A run in the terminal: a table and bars that fit 80 columns."""

from collections.abc import Callable
from itertools import islice

from specchat.bench.progress import duration
from specchat.bench.record import Record, Row, Spread
from specchat.bench.variants import PLAIN
from specchat.bench.wording import REASONS, draft_words
from specchat.engine.protocol import STATEFUL

WIDTH = 80
NAME_WIDTH = 17
BAR_WIDTH = 48
EIGHTHS = " ▏▎▍▌▋▊▉█"
REASONS_SHOWN = 4
DIFFERENCES_SHOWN = 5

GREEN, RED, BOLD, PLAIN_STYLE = "\x1b[32m", "\x1b[31m", "\x1b[1m", "\x1b[0m"

Paint = Callable[[str, str], str]


def report(record: Record, *, colour: bool) -> str:
    """The whole report.

    Args:
        colour: with terminal escapes.
    """

    def paint(style: str, text: str) -> str:
        return f"{style}{text}{PLAIN_STYLE}" if colour else text

    parts = [
        _head(record),
        _table(record, paint),
        _by_set(record, paint),
        _bars(record),
        _positions(record),
        _reasons(record),
        _stepping_back(record),
        _texts(record),
        _quietness(record, paint),
    ]
    return "\n\n".join(part for part in parts if part)


def bar(value: float, largest: float, width: int) -> str:
    """A bar to an eighth of a character; `largest` fills the width."""
    eighths = round(8 * width * value / largest) if largest > 0 else 0
    full, rest = divmod(min(eighths, 8 * width), 8)
    return EIGHTHS[8] * full + (EIGHTHS[rest] if rest else "")


def _head(record: Record) -> str:
    files = "  <-  ".join(filter(None, (record.target.file, draft_words(record))))
    sampling = record.sampling
    prompts = sum(each.prompts for each in record.sets)
    how = f"temperature {sampling.temperature:g}"
    if not sampling.is_greedy:
        how += f", top-k {sampling.top_k}, top-p {sampling.top_p:g}, min-p {sampling.min_p:g}"
    times = "once" if record.repetitions == 1 else f"{record.repetitions} times"
    lines = [
        files,
        f"{record.n_threads} threads, context {record.n_ctx}, {record.machine.processor}",
        f"{how}; up to {record.max_tokens} tokens an answer",
        f"{prompts} prompts, {times}, {duration(record.duration_s)}",
    ]
    return "\n".join(line[:WIDTH] for line in lines)


def _table(record: Record, paint: Paint) -> str:
    head = (
        f"{'':<{NAME_WIDTH}}{'tok/s':>6}{'quartiles':>12}{'speed-up':>9}{'drafted':>8}"
        f"{'accepted':>9}{'kept':>5}{'a round':>8}{'limit':>6}"
    )
    lines = [paint(BOLD, head)]
    lines += [_table_line(record.row(each.name), paint) for each in record.variants]
    return "\n".join(lines)


def _table_line(row: Row, paint: Paint) -> str:
    rate, speed_up = row.tokens_per_second, row.speed_up
    quartiles = f"{rate.lower:.1f}-{rate.upper:.1f}" if rate else ""
    return (
        f"{row.variant[: NAME_WIDTH - 1]:<{NAME_WIDTH}}"
        f"{_number(_median(rate), '.1f'):>6}"
        f"{quartiles:>12}"
        f"{_speed_up(_median(speed_up), 9, paint, row.variant)}"
        f"{row.drafted:>8,}"
        f"{row.accepted:>9,}"
        f"{_number(row.acceptance, '.0%'):>5}"
        f"{_number(row.tokens_per_round, '.2f'):>8}"
        f"{_number(row.of_limit, '.0%'):>6}"
    ).rstrip()


def _by_set(record: Record, paint: Paint) -> str:
    """Speed-ups, sets side by side; as many sets to a block as fit."""
    if len(record.variants) < 2:
        return ""
    blocks = []
    names = iter([each.name for each in record.sets])
    while columns := list(islice(names, (WIDTH - NAME_WIDTH) // 9)):
        lines = [
            paint(BOLD, f"{'speed-up':<{NAME_WIDTH}}" + "".join(f"{name:>9}" for name in columns))
        ]
        for variant in record.variants:
            cells = [record.row(variant.name, name).speed_up for name in columns]
            lines.append(
                f"{variant.name[: NAME_WIDTH - 1]:<{NAME_WIDTH}}"
                + "".join(_speed_up(_median(cell), 9, paint, variant.name) for cell in cells)
            )
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _bars(record: Record) -> str:
    """Rates over all sets."""
    rates = [
        (each.name, rate.median)
        for each in record.variants
        if (rate := record.row(each.name).tokens_per_second) is not None
    ]
    largest = max((rate for _, rate in rates), default=0.0)
    return "\n".join(
        f"{name[: NAME_WIDTH - 1]:<{NAME_WIDTH}}{bar(rate, largest, BAR_WIDTH):<{BAR_WIDTH}}"
        f"{rate:>8.1f} tok/s"
        for name, rate in rates
    )


def _positions(record: Record) -> str:
    """How guesses fare by their place in the draft, where drafts were longest."""
    rows = [record.row(each.name) for each in record.variants]
    row = max(rows, key=lambda row: (len(row.acceptance_by_position), row.tested or 0))
    if not row.acceptance_by_position:
        return ""
    lines = [f"accepted at each position, {row.variant}"]
    for place, share in enumerate(row.acceptance_by_position, 1):
        line = f"{place:>{NAME_WIDTH - 1}} {bar(share, 1, BAR_WIDTH):<{BAR_WIDTH}}{share:>8.0%}"
        lines.append(line)
    return "\n".join(lines)


def _reasons(record: Record) -> str:
    """What the controller said most often, for variants that decide for themselves."""
    blocks = []
    for variant in record.variants:
        row = record.row(variant.name)
        if len(row.reasons) < 2:
            continue
        total = sum(row.reasons.values())
        lines = [f"rounds of {row.variant}, by reason"]
        for reason, count in list(row.reasons.items())[:REASONS_SHOWN]:
            lines.append(f"{count / total:>{NAME_WIDTH - 1}.0%} {REASONS[reason]}"[:WIDTH])
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _texts(record: Record) -> str:
    """At temperature 0: whether drafting changed a text."""
    if not record.sampling.is_greedy:
        return "\n".join(record.warnings)
    compared = sum(row.answers for row in record.rows if row.set and row.variant != PLAIN)
    if not record.differences:
        lines = [f"All {compared:,} texts are the same as without drafting."] if compared else []
        return "\n".join([*lines, *record.warnings])
    lines = [f"{len(record.differences)} of {compared:,} texts differ from the plain one:"]
    for each in record.differences[:DIFFERENCES_SHOWN]:
        lines.append(
            f"  {each.variant}, {each.set} {each.prompt}, from token {each.token}: "
            f"{_short(each.plain_text)} / {_short(each.text)}"
        )
    if len(record.differences) > DIFFERENCES_SHOWN:
        lines.append("  The others are in the JSON record.")
    return "\n".join([*lines, *record.warnings])


def _stepping_back(record: Record) -> str:
    """What it takes of the time, where a target keeps a state."""
    if record.stepping_back not in STATEFUL:
        return ""
    lines = [f"stepping back by {record.stepping_back}, of the time"]
    for variant in record.variants:
        row = record.row(variant.name)
        if row.drafted and row.step_back_share is not None:
            lines.append(f"{row.step_back_share:>{NAME_WIDTH - 1}.1%} {row.variant}"[:WIDTH])
    return "\n".join(lines) if len(lines) > 1 else ""


def _quietness(record: Record, paint: Paint) -> str:
    busy = record.quietness.busy
    if busy:
        return "\n".join([paint(RED, "The machine was busy."), *busy])
    drift = record.quietness.drift
    if drift is None:
        return "The run was too short to tell whether the machine was quiet throughout."
    return f"The machine was quiet; plain decoding drifted by {drift:+.1%}."


def _median(spread: Spread | None) -> float | None:
    return None if spread is None else spread.median


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _speed_up(value: float | None, width: int, paint: Paint, variant: str) -> str:
    text = f"{_number(value, '.2f') + 'x' if value is not None else '':>{width}}"
    if value is None or variant == PLAIN:
        return text
    return paint(GREEN if value >= 1 else RED, text)


def _short(text: str) -> str:
    return repr(text[:16])
