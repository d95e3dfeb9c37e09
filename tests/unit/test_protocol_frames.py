"""Frames between the screen and the engine: what is written is what is read."""

import io
import math
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.engine.protocol import (
    MAX_FRAME_BYTES,
    MAX_THREADS,
    Command,
    Devices,
    DevicesFound,
    EngineFacts,
    Event,
    Failed,
    Finished,
    Generate,
    Load,
    Loaded,
    LoadProgress,
    Message,
    ModelFacts,
    Pair,
    Plan,
    PromptProgress,
    Round,
    Shutdown,
    Stop,
    decode_command,
    decode_event,
    encode_frame,
    frame_size,
    read_frame,
)
from specchat.errors import (
    EngineCrashed,
    InvalidSetting,
    LibraryProblem,
    PromptTooLong,
    SpecchatError,
)
from specchat.pairing.machine import Device, Machine
from specchat.speculation.controller import ReasonKind
from specchat.speculation.metrics import Figures
from specchat.speculation.settings import (
    MAX_DRAFT_LENGTH,
    MAX_INTEGER,
    SamplingSettings,
    SpeculationSettings,
)

integers = st.integers(-(2**63), 2**64 - 1)
counts = st.integers(0, 2**40)
numbers = st.floats(allow_nan=False)
token_ids = st.lists(st.integers(0, 2**31 - 1), max_size=5).map(tuple)
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
lines = st.lists(words, max_size=3).map(tuple)
optional_counts = st.none() | st.integers(1, MAX_INTEGER)
draft_lengths = st.just("auto") | st.integers(0, MAX_DRAFT_LENGTH)
drafters = st.sampled_from(["chain", "model", "ngram", "none"])

figures = st.builds(
    Figures,
    prompt_tokens=counts,
    emitted=counts,
    accepted_histogram=st.lists(counts, max_size=4).map(tuple),
    accepted_ngram=counts,
    tested_at=st.lists(counts, max_size=4).map(tuple),
    time_to_first_token_s=st.none() | numbers,
    decode_s=numbers,
    draft_s=numbers,
    plain_tokens_per_second=st.none() | numbers,
    plain_age_s=st.none() | numbers,
)
sampling = st.builds(
    SamplingSettings,
    temperature=st.floats(0, 100),
    top_k=st.integers(0, MAX_INTEGER),
    presence_penalty=st.floats(-100, 100),
    logit_bias=st.dictionaries(
        counts, st.floats(allow_nan=False, max_value=1e300) | st.just(-math.inf), max_size=3
    ),
    seed=st.none() | st.integers(0, 2**63 - 1),
)
speculation = st.builds(
    SpeculationSettings,
    drafter=st.sampled_from(["auto", "model", "ngram", "none"]),
    draft_length=draft_lengths,
    rule=st.sampled_from(["auto", "greedy", "token", "block", "coupled"]),
)
addresses = st.lists(st.sampled_from(["127.0.0.1:50052", "big-box:1"]), max_size=2).map(tuple)
plans = st.builds(
    Plan,
    n_ctx=optional_counts,
    n_threads=st.none() | st.integers(1, MAX_THREADS),
    n_gpu_layers=st.integers(-1, 99),
    n_draft_gpu_layers=st.integers(-1, 99),
    devices=st.none() | lines,
    draft_devices=st.none() | lines,
    rpc=addresses,
    max_draft_length=st.integers(0, MAX_DRAFT_LENGTH),
    measure_costs=st.booleans(),
    draft_required=st.booleans(),
)
messages = st.builds(Message, st.sampled_from(["system", "user", "assistant"]), words)
models = st.builds(ModelFacts, size_bytes=counts, n_parameters=counts, n_ctx_train=counts)
devices = st.builds(
    Device,
    name=words,
    description=words,
    kind=st.sampled_from(["gpu", "integrated", "cpu", "rpc"]),
    total_bytes=counts,
    free_bytes=counts,
)
machines = st.builds(
    Machine,
    devices=st.lists(devices, max_size=3).map(tuple),
    ram_bytes=counts,
    free_ram_bytes=counts,
    on_battery=st.none() | st.booleans(),
)

commands = st.one_of(
    st.builds(Load, st.builds(Pair, words, st.none() | words), plans),
    st.builds(
        Generate,
        id=integers,
        conversation=st.lists(messages, max_size=3).map(tuple),
        begun=words,
        sampling=sampling,
        speculation=speculation,
        max_tokens=optional_counts,
        stop=lines,
        log_probabilities=st.booleans(),
    ),
    st.builds(Stop, integers),
    st.builds(Devices, addresses),
    st.just(Shutdown()),
)
events = st.one_of(
    st.builds(LoadProgress, step=st.sampled_from(["target", "draft", "costs"]), fraction=numbers),
    st.builds(
        Loaded,
        target=models,
        draft=st.none() | models,
        n_ctx=counts,
        n_threads=counts,
        drafter=drafters,
        load_s=numbers,
    ),
    st.builds(
        PromptProgress,
        id=integers,
        done=counts,
        total=counts,
        reused=counts,
        opened=st.none() | words,
        left_out=counts,
    ),
    st.builds(
        Round,
        id=integers,
        text=words,
        tokens=token_ids,
        drafted=counts,
        accepted=counts,
        reason=words,
        sizes=st.lists(counts, max_size=4).map(tuple),
        source=st.sampled_from([None, "ngram", "model"]),
        reason_kind=st.sampled_from(get_args(ReasonKind)),
        n_past=counts,
        figures=figures,
    ),
    st.builds(
        Finished,
        id=integers,
        text=words,
        tail=words,
        tokens=token_ids,
        n_past=counts,
        seed=counts,
        rule=st.sampled_from(["greedy", "token", "block", "coupled"]),
        drafter=drafters,
        draft_length=draft_lengths,
        log_probabilities=st.none() | st.lists(numbers, max_size=4).map(tuple),
        figures=figures,
        left_out=counts,
        context_full=st.booleans(),
    ),
    st.builds(
        DevicesFound,
        machine=machines,
        engine=st.builds(EngineFacts),
        backends=st.dictionaries(words, lines, max_size=2),
        n_threads=counts,
        openmp=st.dictionaries(words, words, max_size=2),
    ),
    st.builds(Failed, exit_code=counts, id=st.none() | integers, log=lines),
)


@given(st.lists(commands, max_size=4))
def test_commands_are_read_as_they_were_written(sent: list[Command]) -> None:
    stream = io.BytesIO(b"".join(encode_frame(command) for command in sent))

    for command in sent:
        body = read_frame(stream)
        assert body is not None
        assert decode_command(body) == command
    assert read_frame(stream) is None


@given(st.lists(events, max_size=4))
def test_events_are_read_as_they_were_written(sent: list[Event]) -> None:
    stream = io.BytesIO(b"".join(encode_frame(event) for event in sent))

    for event in sent:
        body = read_frame(stream)
        assert body is not None
        assert decode_event(body) == event
    assert read_frame(stream) is None


@given(events, st.data())
def test_a_stream_cut_short_ends_without_a_frame(event: Event, data: st.DataObject) -> None:
    frame = encode_frame(event)
    length = data.draw(st.integers(0, len(frame) - 1))

    assert read_frame(io.BytesIO(frame[:length])) is None


@given(st.integers(MAX_FRAME_BYTES + 1, 2**32 - 1))
def test_a_header_that_promises_too_much_is_refused_before_anything_is_read(size: int) -> None:
    stream = io.BytesIO(size.to_bytes(4, "big") + b"rest")

    with pytest.raises(ValueError, match=str(size)):
        read_frame(stream)
    assert stream.read() == b"rest"


def test_the_largest_frame_allowed_is_not_refused() -> None:
    assert frame_size(MAX_FRAME_BYTES.to_bytes(4, "big")) == MAX_FRAME_BYTES


@given(st.binary(max_size=40))
def test_garbage_is_no_message(body: bytes) -> None:
    for decode in (decode_command, decode_event):
        with pytest.raises(msgspec.DecodeError):
            decode(body)


@given(commands)
def test_a_command_is_no_event(command: Command) -> None:
    body = encode_frame(command)[4:]

    with pytest.raises(msgspec.DecodeError):
        decode_event(body)


@pytest.mark.parametrize(
    "body",
    [
        {"type": "Stop"},
        {"type": "Stop", "id": "1"},
        {"type": "Generate", "id": 1, "conversation": [{"role": "robot", "content": ""}]},
        {"type": "Reboot"},
        {"id": 1},
    ],
    ids=str,
)
def test_a_message_with_the_wrong_parts_is_refused(body: object) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_command(msgspec.msgpack.encode(body))


def test_a_setting_out_of_range_is_refused_by_the_reader_too() -> None:
    body = {"type": "Generate", "id": 1, "conversation": [], "sampling": {"temperature": -1.0}}

    with pytest.raises(InvalidSetting, match="temperature"):
        decode_command(msgspec.msgpack.encode(body))


@pytest.mark.parametrize("kind", [InvalidSetting, PromptTooLong, LibraryProblem, EngineCrashed])
def test_an_error_reaches_the_screen_with_all_it_says(kind: type[SpecchatError]) -> None:
    error = kind("Tried this.", "That happened.", "Do so.")
    event = decode_event(encode_frame(Failed.from_error(error, id=4))[4:])

    assert event == Failed(
        kind=kind.kind,
        title=kind.title,
        message="Tried this. That happened.",
        help="Do so.",
        exit_code=kind.exit_code,
        id=4,
    )
    again = event.as_error()
    assert type(again) is kind
    assert (again.message, again.next_step) == (error.message, error.next_step)
    assert str(again) == str(error)
