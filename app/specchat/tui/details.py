"""All that is known of one answer, as rows of names and values."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import NamedTuple

from specchat.chat.parts import NOTHING
from specchat.chat.records import AnswerRecord, Message
from specchat.engine.remarks import left_out
from specchat.speculation.metrics import Figures
from specchat.speculation.settings import SamplingSettings
from specchat.tui.definitions import FIGURES
from specchat.tui.wording import KIND_WORDS, percent, rate, seconds

NOT_KEPT = "How this answer came about was not kept."
EDITED = "worded by you; figures are of what the model wrote after that"


class Detail(NamedTuple):
    """One thing that is known."""

    name: str
    value: str
    meaning: str = ""


def origin_details(kept: Message) -> Iterator[Detail]:
    """How an answer came about."""
    record = kept.answer
    yield Detail("ended", kept.state)
    yield Detail("begun", f"{datetime.fromtimestamp(kept.created_at / 1000):%Y-%m-%d %H:%M:%S}")
    if record is None:
        return
    if record.edited:
        yield Detail("text", EDITED)
    yield Detail("target", record.target)
    yield Detail("draft", record.draft or "none")
    yield Detail("drafter", record.drafter)
    yield Detail("draft length", str(record.draft_length))
    yield Detail("rule", record.rule)
    yield Detail("seed", "not told" if record.seed is None else str(record.seed))
    yield Detail("sampling", sampling_in_words(record.sampling))
    if record.left_out:
        yield Detail("left out", left_out(record.left_out))


def sampling_in_words(sampling: SamplingSettings) -> str:
    """Temperature first, then everything that does something."""
    if sampling.is_greedy:
        parts = ["temperature 0"]
    else:
        parts = [
            f"temperature {sampling.temperature:g}",
            f"top-k {sampling.top_k}",
            f"top-p {sampling.top_p:g}",
            f"min-p {sampling.min_p:g}",
        ]
    if sampling.has_penalties:
        parts += [
            f"penalties: repetition {sampling.repetition_penalty:g}, presence "
            f"{sampling.presence_penalty:g}, frequency {sampling.frequency_penalty:g}, over "
            f"{sampling.penalty_window} tokens"
        ]
    if sampling.logit_bias:
        parts.append(f"logit bias on {len(sampling.logit_bias)} tokens")
    return ", ".join(parts)


def figure_details(record: AnswerRecord, prefill_s: float | None = None) -> Iterator[Detail]:
    """Every figure by the names of docs/numbers.md, with what it means; those that are not known
    are left out.

    Args:
        prefill_s: prompt seconds, where they were kept.
    """
    figures = record.figures
    for name, meaning in FIGURES:
        value: str | None = None
        if name in VALUES:
            value = VALUES[name](figures)
        elif name == "prompt seconds" and prefill_s is not None:
            value = seconds(prefill_s)
        elif name == "acceptance in thinking, words, code":
            shares = {
                KIND_WORDS[kind]: part.acceptance
                for kind, part in record.parts.items()
                if part.acceptance is not None
            }
            value = ", ".join(f"{kind} {percent(share)}" for kind, share in shares.items())
        elif name == "thought for":
            thought = record.parts.get("thinking", NOTHING)
            value = seconds(thought.decode_s) if thought.rounds else None
        if value:
            yield Detail(name, value, meaning)


def _share(value: float | None) -> str | None:
    return None if value is None else percent(value)


def _speed_up(figures: Figures) -> str | None:
    if figures.speed_up is None:
        return None
    age = figures.plain_age_s
    ago = "" if age is None else f", plain measured {seconds(age)} before its end"
    return f"{figures.speed_up:.2f}x{ago}"


def _positions(figures: Figures) -> str | None:
    shares = figures.acceptance_by_position
    return ", ".join(f"{at}: {percent(share)}" for at, share in enumerate(shares, 1)) or None


def _histogram(figures: Figures) -> str | None:
    counts = list(figures.accepted_histogram)
    while counts and not counts[-1]:
        counts.pop()
    return ", ".join(f"{kept}: {count:,}" for kept, count in enumerate(counts)) or None


def _by_drafter(figures: Figures) -> str | None:
    share = figures.ngram_share
    return None if share is None else f"n-gram {percent(share)}, other {percent(1 - share)}"


def _rate(value: float | None) -> str | None:
    return None if value is None else rate(value)


VALUES: dict[str, Callable[[Figures], str | None]] = {
    "drafted": lambda f: f"{f.drafted:,}",
    "tested": lambda f: f"{f.tested:,}",
    "accepted": lambda f: f"{f.accepted:,}",
    "refused": lambda f: f"{f.drafted - f.accepted:,}",
    "acceptance": lambda f: _share(f.acceptance),
    "emitted": lambda f: f"{f.emitted:,}",
    "rounds": lambda f: f"{f.rounds:,}",
    "tokens per round": lambda f: f"{f.tokens_per_round:.2f}" if f.tokens_per_round else None,
    "acceptance at position i": _positions,
    "accepted histogram": _histogram,
    "decode seconds": lambda f: seconds(f.decode_s),
    "draft seconds": lambda f: seconds(f.draft_s),
    "verify seconds": lambda f: seconds(f.verify_s),
    "draft decode seconds": lambda f: seconds(f.draft_decode_s),
    "of the limit": lambda f: _share(f.of_limit),
    "overhead seconds": lambda f: seconds(f.overhead_s),
    "tok/s": lambda f: _rate(f.tokens_per_second),
    "step back seconds": lambda f: seconds(f.step_back_s),
    "step back share": lambda f: _share(f.step_back_share),
    "replayed": lambda f: f"{f.replayed:,}",
    "snapshots seconds": lambda f: seconds(f.snapshots_s),
    "draft share": lambda f: _share(f.draft_share),
    "accepted by n-gram": lambda f: f"{f.accepted_ngram:,}",
    "share by drafter": _by_drafter,
    "plain tok/s": lambda f: _rate(f.plain_tokens_per_second),
    "speed-up": _speed_up,
    "prompt tokens": lambda f: f"{f.prompt_tokens:,}",
    "reused tokens": lambda f: f"{f.reused_tokens:,}",
    "time to first token": lambda f: (
        None if f.time_to_first_token_s is None else seconds(f.time_to_first_token_s)
    ),
    "state copy seconds": lambda f: seconds(f.state_copy_s),
}
"""How each figure of an answer is written; those that need more than its totals are not here."""
