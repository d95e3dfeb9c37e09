"""Numbers and texts as the screen shows them. The figures' definitions are those of `Figures`."""

from specchat.chat.reasoning import Kind
from specchat.speculation.metrics import Figures

SEPARATOR = " · "

KIND_WORDS: dict[Kind, str] = {"thinking": "thinking", "answer": "words", "code": "code"}
"""What the kinds of text in an answer are called."""

_EIGHTHS = " ▏▎▍▌▋▊▉"
_STEPS = "▁▂▃▄▅▆▇█"

# Text that people and models write may hold control characters, and a terminal would obey them.
# Some terminals also obey those that turn the direction of writing, up to the end of the line.
_TURNING = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD)
_VISIBLE: dict[int, int | None] = {
    code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n\r"
}
_VISIBLE |= {0x0D: None, 0x7F: 0x2421, 0x2028: 0x0A, 0x2029: 0x0A}
_VISIBLE |= dict.fromkeys(range(0x80, 0xA0), 0xFFFD) | _TURNING

_PICTURES = {code: 0x2400 + code for code in range(0x20) if code != 0x09}
_PICTURES |= {0x7F: 0x2421, **dict.fromkeys(range(0x80, 0xA0), 0xFFFD), **_TURNING}

# What a text area takes for the end of a line.
_LINE_ENDS = ("\r\n", *"\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")


def line_ends(text: str) -> str:
    """The text with newlines for line ends of every kind."""
    for end in _LINE_ENDS:
        text = text.replace(end, "\n")
    return text


def visible_line(line: str) -> str:
    """A line with pictures for control characters, one for one; tabs stay."""
    return line.translate(_PICTURES)


def visible(text: str) -> str:
    """The text with control characters replaced by their pictures; line ends become newlines."""
    return text.translate(_VISIBLE)


def tokens(count: int) -> str:
    """A number of tokens, in thousands: 96, 0.4k, 16k."""
    if count < 100:
        return str(count)
    return f"{count / 1000:.1f}k" if count < 9950 else f"{count / 1000:.0f}k"


def percent(fraction: float) -> str:
    """A whole percentage that says 0 or 100 only when it is."""
    if 0 < fraction < 0.01:
        return "<1%"
    return f"{min(round(fraction * 100), 99 if fraction < 1 else 100)}%"


def rate(tokens_per_second: float) -> str:
    """Tokens a second, with as many digits as they are worth."""
    digits = 0 if tokens_per_second >= 99.95 else 1
    return f"{tokens_per_second:.{digits}f} tok/s"


def seconds(duration: float) -> str:
    """A duration in seconds: 0.42 s, 3.1 s, 24 s."""
    digits = 2 if duration < 0.995 else 1 if duration < 9.95 else 0
    return f"{duration:.{digits}f} s"


def ago(duration: float) -> str:
    """How long ago something was, given in seconds: now, 24 s ago, 5 min ago, 3 h ago."""
    if duration < 1:
        return "now"
    for size, unit in ((3600, "h"), (60, "min")):
        if duration >= size:
            return f"{duration // size:.0f} {unit} ago"
    return f"{duration // 1:.0f} s ago"


def figures_shown(figures: Figures) -> list[tuple[str, str]]:
    """One answer's figures in short: the name of each, and how it is shown."""
    parts = []
    if figures.acceptance is not None:
        parts.append(("acceptance", f"{percent(figures.acceptance)} accepted"))
    elif figures.rounds:
        parts.append(("drafted", "nothing drafted"))
    if figures.acceptance is not None and figures.tokens_per_round is not None:
        parts.append(("tokens per round", f"{figures.tokens_per_round:.1f} a round"))
    if figures.tokens_per_second is not None:
        parts.append(("tok/s", rate(figures.tokens_per_second)))
    if figures.speed_up is not None:
        parts.append(("speed-up", f"{figures.speed_up:.2f}x plain"))
    if figures.time_to_first_token_s is not None:
        first = f"{seconds(figures.time_to_first_token_s)} to first"
        parts.append(("time to first token", first))
    return parts


def bar(fraction: float, width: int) -> str:
    """A horizontal bar, exact to an eighth of a cell, padded to `width`."""
    eighths = round(min(1.0, max(0.0, fraction)) * width * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(width)


def sparkline(values: list[float]) -> str:
    """One cell a value, scaled to the largest."""
    top = max(values, default=0.0)
    if top <= 0:
        return _STEPS[0] * len(values)
    return "".join(_STEPS[round(value / top * (len(_STEPS) - 1))] for value in values)


def shorten(text: str, width: int) -> str:
    """The text with its middle left out when it is wider than `width`."""
    if len(text) <= width or width < 3:
        return text
    head = (width - 1) // 2
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"
