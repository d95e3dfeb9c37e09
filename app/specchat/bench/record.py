"""What a run leaves behind: plain data, with the schema that is published for it."""

from typing import Literal

import msgspec

from specchat.engine.drafter_names import DrafterName
from specchat.engine.protocol import EngineFacts, SteppingBack
from specchat.speculation.controller import ReasonKind
from specchat.speculation.settings import SamplingSettings, SpeculationSettings


class MachineFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Where it was measured. Nothing in it names the machine or its user."""

    processor: str
    physical_cores: int | None
    logical_cores: int | None
    memory_bytes: int
    system: str
    """Operating system and architecture."""
    python: str


class FileFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A model's file."""

    file: str
    """The file's name, without its folder."""
    description: str
    """llama.cpp's words: architecture, size, quantisation."""
    size_bytes: int


class ServerFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The llama-server that was measured beside the engine."""

    version: str
    arguments: tuple[str, ...]
    """What it was started with; files by name only."""


class VariantFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One way of decoding."""

    name: str
    speculation: SpeculationSettings | None
    """None for llama-server, whose arguments say it."""


class SetFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt set, as far as it was asked."""

    name: str
    title: str
    prompts: int


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One measured answer. The counts are defined in docs/numbers.md."""

    set: str
    prompt: int
    """Number in its set, from 1."""
    repetition: int
    """From 1."""
    variant: str
    started_s: float
    """Seconds after the first measured answer began."""
    rule: str | None
    """The rule that ran; None for llama-server."""
    finish_reason: Literal["stop", "length"]
    prompt_tokens: int
    emitted: int
    decode_s: float
    tokens_per_second: float | None
    """emitted / decode_s; for llama-server its own figure."""
    drafted: int
    accepted: int
    tested: int | None = None
    """This and what follows is not told by llama-server."""
    rounds: int | None = None
    accepted_histogram: tuple[int, ...] = ()
    tested_at: tuple[int, ...] = ()
    draft_s: float | None = None
    verify_s: float | None = None
    draft_decode_s: float | None = None
    step_back_s: float | None = None
    replayed: int | None = None
    snapshots_s: float | None = None
    lengths: tuple[int, ...] = ()
    """Tokens drafted in each round."""
    kept: tuple[int, ...] = ()
    """Drafted tokens kept in each round."""
    accepted_ngram: int | None = None
    reasons: dict[ReasonKind, int] = {}
    """Rounds by what the controller said of them."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """Where a greedy answer parts from the plain one of the same turn."""

    set: str
    prompt: int
    repetition: int
    variant: str
    token: int
    """Index of the first token that differs, from 0."""
    plain_text: str
    """How the plain answer goes on from there, a few words of it."""
    text: str
    """How this one goes on."""


class Spread(msgspec.Struct, frozen=True):
    """Median and quartiles."""

    median: float
    lower: float
    upper: float


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of a variant over one set, or over all of them."""

    variant: str
    set: str | None
    """None: all sets."""
    answers: int
    tokens_per_second: Spread | None
    """Over the answers."""
    speed_up: Spread | None
    """Over the ratios to the plain answer of the same prompt and repetition, without what snapshots
    took of it: under 1 for plain answers themselves, where the target keeps some."""
    emitted: int
    drafted: int
    accepted: int
    tested: int | None
    acceptance: float | None
    tokens_per_round: float | None
    draft_share: float | None
    of_limit: float | None
    """The rate against what it would be if nothing but decode calls took time."""
    step_back_share: float | None = None
    """step back seconds / decode seconds; None for llama-server."""
    acceptance_by_position: tuple[float, ...]
    accepted_histogram: tuple[int, ...]
    ngram_share: float | None
    """The n-gram drafter's part of the accepted tokens."""
    reasons: dict[ReasonKind, int]
    different: int | None
    """Answers whose text is not the plain one's; None above temperature 0."""


class Quietness(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the machine did anything else meanwhile."""

    cores: int
    load_average: float | None
    """Over the minute before the run."""
    others_before: float | None
    """Cores that other programs used in the second before the run."""
    others_during: float | None
    """Cores that other programs used during the run, on average."""
    drift: float | None
    """Median plain rate of the last third against the first, less 1; None: too few answers."""
    busy: tuple[str, ...]
    """Why the machine counts as busy, as sentences; empty when it was quiet."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A whole run."""

    format: Literal[1] = 1
    date: str
    """UTC, to the minute, ISO 8601."""
    duration_s: float
    machine: MachineFacts
    engine: EngineFacts
    target: FileFacts
    draft: FileFacts | None
    drafter: DrafterName = "ngram"
    """Who drafts where a variant leaves the choice; heads in the target's file are no `draft`."""
    stepping_back: SteppingBack = "cache"
    """How the target takes back what it refused."""
    server: ServerFacts | None
    n_ctx: int
    n_threads: int
    n_gpu_layers: int
    """-1: all."""
    sampling: SamplingSettings
    """`seed` is that of the first turn; each turn adds 1, and all variants share it."""
    max_tokens: int
    repetitions: int
    quietness: Quietness
    variants: tuple[VariantFacts, ...]
    sets: tuple[SetFacts, ...]
    rows: tuple[Row, ...]
    differences: tuple[Difference, ...]
    warnings: tuple[str, ...]
    answers: tuple[Answer, ...]

    def row(self, variant: str, set: str | None = None) -> Row:
        """The figures of a variant over this set, or over all."""
        return next(row for row in self.rows if (row.variant, row.set) == (variant, set))


def record_schema() -> bytes:
    """The JSON Schema of `Record`, as published in docs/bench.schema.json."""
    return msgspec.json.format(msgspec.json.encode(msgspec.json.schema(Record)), indent=2)
