"""What the screen and the engine's process say to each other.

A frame is a length (4 bytes, big-endian) and that many bytes of MessagePack: one tagged struct.
Commands go down, events come up. Every `Round` carries running totals, so a reader keeps no books.
"""

import re
from typing import Literal, Protocol

import msgspec

from specchat.engine.drafter_names import DrafterName
from specchat.errors import InvalidSetting, SpecchatError
from specchat.notices import Notice as Notice
from specchat.pairing.machine import Machine
from specchat.pairing.memory_estimate import CacheType
from specchat.pairing.shape import MOST_SNAPSHOTS
from specchat.speculation.controller import ReasonKind, Source
from specchat.speculation.metrics import Figures
from specchat.speculation.settings import (
    MAX_DRAFT_LENGTH,
    MAX_INTEGER,
    DraftLength,
    Rule,
    SamplingSettings,
    SpeculationSettings,
    require_at_most,
    require_setting,
)

MAX_FRAME_BYTES = 256 * 1024 * 1024
"""A longer frame is taken for garbage."""

MAX_THREADS = 512
"""`GGML_MAX_N_THREADS` (ggml.h): with more llama.cpp ends the process."""

ADDRESS = re.compile(r"[A-Za-z0-9._-]+:([0-9]{1,5})")

Role = Literal["system", "user", "assistant"]
SteppingBack = Literal["cache", "window", "snapshots", "checkpoints"]
STATEFUL: frozenset[SteppingBack] = frozenset(("snapshots", "checkpoints"))
"""Layers keep one state for all tokens, so that stepping back is not free (docs/hybrid.md)."""
LoadStep = Literal["target", "draft", "costs"]
FinishReason = Literal["stop", "length", "cancelled"]


def require_addresses(addresses: tuple[str, ...]) -> None:
    """Refuse what is no address of an RPC server.

    Raises:
        InvalidSetting: one is not `host:port`, or the port is none.
    """
    for address in addresses:
        match = ADDRESS.fullmatch(address)
        if match is None or not 0 < int(match[1]) < 2**16:
            raise InvalidSetting(
                f"Tried to use the RPC server {address!r}.",
                "That is no address of one.",
                "Give a host name or an IPv4 address, and the port, as in 192.168.1.20:50052.",
            )


class Message(msgspec.Struct, frozen=True):
    """One turn of a conversation."""

    role: Role
    content: str


class Pair(msgspec.Struct, frozen=True):
    """The files to load."""

    target: str
    draft: str | None = None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """How to load them. None leaves the choice to the engine."""

    n_ctx: int | None = None
    n_threads: int | None = None
    n_gpu_layers: int = -1
    """Of the target; -1 puts every layer on the GPU, when there is one."""
    n_draft_gpu_layers: int = -1
    devices: tuple[str, ...] | None = None
    """Names of the devices beside the CPU that the target goes to; None leaves it to llama.cpp,
    which spreads the layers over all of them by their free memory."""
    draft_devices: tuple[str, ...] | None = None
    rpc: tuple[str, ...] = ()
    """Addresses, `host:port`, of RPC servers whose devices may be used like those of this
    machine."""
    cache_type: CacheType = "f16"
    """Of the target's KV cache."""
    draft_cache_type: CacheType = "f16"
    """Of the draft's. It is small as it is, and rounding in it makes guesses worse."""
    experts_in_ram: bool = False
    """The experts of a mixture stay in main memory, whatever device their layers are on."""
    whole_window_cache: bool = True
    """Layers with a sliding window keep every token, so that a chat can step back as far as it
    likes. Without it they take less memory and time, and a step back far into an answer decodes the
    conversation anew."""
    n_snapshots: int = MOST_SNAPSHOTS
    """The most of a recurrent state that are kept to step back to; 0: refused guesses are decoded
    again."""
    saved_states_bytes: int = 3 * 2**27
    """Main memory for recurrent states of earlier turns, to come back to."""
    draft_saved_states_bytes: int = 2**27
    """The same for a draft model."""
    max_draft_length: int = 16
    measure_costs: bool = True
    """Measure at load what decode calls cost, unless this machine has done so for this pair."""
    built_in_heads: bool = True
    """Draft with the MTP heads in the target's file, where it has some and no draft is named."""
    draft_required: bool = False
    """Refuse to load when the draft cannot be used, instead of going on without it."""

    def __post_init__(self) -> None:
        require_setting(self.n_ctx is None or self.n_ctx > 0, "context", self.n_ctx, "1 or more")
        require_setting(
            self.n_threads is None or self.n_threads > 0, "threads", self.n_threads, "1 or more"
        )
        for layers in (self.n_gpu_layers, self.n_draft_gpu_layers):
            require_setting(layers >= -1, "GPU layers", layers, "-1 (all), 0 or more")
            require_at_most(MAX_INTEGER, "GPU layers", layers)
        require_setting(self.n_snapshots >= 0, "snapshots", self.n_snapshots, "0 or more")
        require_at_most(MAX_DRAFT_LENGTH, "snapshots", self.n_snapshots)
        require_at_most(MAX_INTEGER, "context", self.n_ctx)
        require_at_most(MAX_THREADS, "threads", self.n_threads)
        require_setting(
            0 <= self.max_draft_length <= MAX_DRAFT_LENGTH,
            "longest draft",
            self.max_draft_length,
            f"from 0 to {MAX_DRAFT_LENGTH}",
        )
        require_addresses(self.rpc)


class Load(msgspec.Struct, frozen=True, tag=True):
    """Load a pair, in place of the one that is loaded."""

    pair: Pair
    plan: Plan = Plan()
    asked_by: int | None = None
    """The process that shows the answers; what it works does not count as other programs'.
    `EngineClient.send` fills it in."""


class Generate(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """Answer a conversation."""

    id: int
    """Chosen by the sender, growing; the events of this answer carry it."""
    conversation: tuple[Message, ...]
    begun: str = ""
    """Text with which the answer begins; the model goes on from it, and `Finished` tells only what
    is new."""
    sampling: SamplingSettings = SamplingSettings()
    speculation: SpeculationSettings = SpeculationSettings()
    max_tokens: int | None = None
    """None: until the model ends or the context is full."""
    stop: tuple[str, ...] = ()
    """Texts that end the answer; they are not part of it."""
    log_probabilities: bool = False
    """Report the log probability of every token of the answer."""

    def __post_init__(self) -> None:
        require_setting(
            self.max_tokens is None or self.max_tokens > 0,
            "longest answer",
            self.max_tokens,
            "1 token or more",
        )
        require_at_most(MAX_INTEGER, "longest answer", self.max_tokens)


class Stop(msgspec.Struct, frozen=True, tag=True):
    """End this answer now and keep what came. An answer that has ended is not touched."""

    id: int


class Devices(msgspec.Struct, frozen=True, tag=True):
    """Say what this machine can compute on, and these RPC servers."""

    rpc: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require_addresses(self.rpc)


class Shutdown(msgspec.Struct, frozen=True, tag=True):
    """Leave the process at once."""


class ModelFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a loaded model says of itself."""

    path: str
    name: str
    description: str
    """llama.cpp's words: architecture, size, quantisation."""
    architecture: str
    size_bytes: int
    n_parameters: int
    n_ctx_train: int


class EngineFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Which code answers."""

    specchat: str
    llama_cpp_python: str
    llama_cpp: str
    backend: str
    """Names of the compute devices, comma separated, such as `CPU` or `CUDA0, CPU`."""


class DevicesFound(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """What this machine can compute on, and with what."""

    machine: Machine
    engine: EngineFacts
    backends: dict[str, tuple[str, ...]]
    """Backends in this build, and what each was built for, such as the CPU's instruction sets."""
    supports_rpc: bool
    n_threads: int
    """What is used where nobody asks for another number."""
    openmp: dict[str, str]
    """The environment variables that tell OpenMP's threads how many they are and how to wait."""


class LoadProgress(msgspec.Struct, frozen=True, tag=True):
    """Loading goes on; `costs` measures what decode calls cost on this machine."""

    step: LoadStep
    fraction: float


class Loaded(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """The pair can answer."""

    target: ModelFacts
    draft: ModelFacts | None
    n_ctx: int
    n_threads: int
    drafter: DrafterName
    """What `auto` means for this pair."""
    stepping_back: SteppingBack = "cache"
    """How the target takes back what it refused (docs/hybrid.md)."""
    engine: EngineFacts
    notices: tuple[Notice, ...] = ()
    load_s: float


class PromptProgress(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """Prefill goes on: `done` of `total` new prompt tokens; `reused` were in the cache already."""

    id: int
    done: int
    total: int
    reused: int
    opened: str | None = None
    """The name of the tags, in `reasoning.TAGS`, that the prompt leaves open: the answer begins as
    thinking."""
    left_out: int = 0
    """The first so many messages of the conversation did not fit and are not in the prompt."""


class Round(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """One verification round."""

    id: int
    text: str
    """New text that is certain: whole characters, no part of a stop string."""
    tokens: tuple[int, ...]
    sizes: tuple[int, ...] = ()
    """Characters of the answer that became whole with each token. Text that is held back counts
    too; the answer ends within the sizes, never beyond them."""
    drafted: int
    accepted: int
    source: Source | None = None
    """Who guessed: a round has the guesses of one drafter."""
    reason: str
    """How far the controller drafted and why, in words."""
    reason_kind: ReasonKind
    """The same as one of a few names."""
    n_past: int
    """Tokens in the target's context now."""
    figures: Figures


class Finished(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """The answer has ended; its whole text and tokens, and the last totals."""

    id: int
    finish_reason: FinishReason
    text: str
    tail: str
    """The end of `text` that no `Round` has carried."""
    tokens: tuple[int, ...]
    n_past: int
    seed: int
    rule: Rule
    drafter: DrafterName
    draft_length: DraftLength
    log_probabilities: tuple[float, ...] | None
    """Of each token, by the target itself, before any sampling setting."""
    figures: Figures
    alarms: tuple[Notice, ...] = ()
    """What made it slower than it need be."""
    left_out: int = 0
    """As in `PromptProgress`."""
    context_full: bool = False
    """It ended because the context holds no more."""


class Failed(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """Something did not work. The engine goes on, unless `kind` is `engine_crashed`."""

    kind: str
    title: str
    message: str
    help: str
    exit_code: int = 2
    id: int | None = None
    """The answer that failed, if it was one."""
    log: tuple[str, ...] = ()
    """The last lines of the engine's log, after a crash."""

    @classmethod
    def from_error(cls, error: SpecchatError, id: int | None = None) -> "Failed":
        """The event that carries this error to the screen."""
        return cls(
            kind=error.kind,
            title=error.title,
            message=error.message,
            help=error.next_step,
            exit_code=error.exit_code,
            id=id,
        )

    def as_error(self) -> SpecchatError:
        """The error that this event carried; what was tried and what happened are one text."""
        kinds = {kind.kind: kind for kind in SpecchatError.__subclasses__()}
        return kinds.get(self.kind, SpecchatError)(self.message, "", self.help)


Command = Load | Generate | Stop | Devices | Shutdown
Event = LoadProgress | Loaded | PromptProgress | Round | Finished | DevicesFound | Failed

_encoder = msgspec.msgpack.Encoder()
_commands: msgspec.msgpack.Decoder[Command] = msgspec.msgpack.Decoder(Command)
_events: msgspec.msgpack.Decoder[Event] = msgspec.msgpack.Decoder(Event)


def encode_frame(message: Command | Event) -> bytes:
    """A whole frame, ready to be written."""
    body = _encoder.encode(message)
    return len(body).to_bytes(4, "big") + body


def decode_command(body: bytes) -> Command:
    """The command in a frame's body.

    Raises:
        msgspec.DecodeError: the bytes are no command.
    """
    return _commands.decode(body)


def decode_event(body: bytes) -> Event:
    """The event in a frame's body.

    Raises:
        msgspec.DecodeError: the bytes are no event.
    """
    return _events.decode(body)


class ByteReader(Protocol):
    """A blocking stream of bytes; `read(n)` gives fewer only at its end."""

    def read(self, size: int, /) -> bytes: ...


def read_frame(stream: ByteReader) -> bytes | None:
    """The body of the next frame, or None at the end of the stream."""
    header = stream.read(4)
    if len(header) < 4:
        return None
    size = frame_size(header)
    body = stream.read(size)
    return body if len(body) == size else None


def frame_size(header: bytes) -> int:
    """The length a frame's header promises.

    Raises:
        ValueError: longer than any frame of ours.
    """
    size = int.from_bytes(header, "big")
    if size > MAX_FRAME_BYTES:
        raise ValueError(f"frame of {size} bytes")
    return size
