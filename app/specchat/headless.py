"""One prompt in, one answer out, no screen."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import signal
import sys
from typing import TYPE_CHECKING

import msgspec

from specchat.engine.client import EngineClient
from specchat.engine.drafter_names import DrafterName
from specchat.engine.protocol import (
    STATEFUL,
    Devices,
    DevicesFound,
    EngineFacts,
    Event,
    Failed,
    Finished,
    FinishReason,
    Generate,
    Loaded,
    Notice,
    Round,
    SteppingBack,
    Stop,
)
from specchat.engine.remarks import remarks
from specchat.pairing.machine import Machine
from specchat.pairing.memory import MemoryPlan
from specchat.speculation.metrics import Figures
from specchat.speculation.settings import DraftLength, Rule

if TYPE_CHECKING:
    from specchat.choosing.choice import Choice
    from specchat.choosing.placing import Placed

CANCELLED_EXIT_CODE = 130


class RunReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `specchat run --json` prints. The figures are defined in docs/numbers.md."""

    text: str
    tokens: tuple[int, ...]
    finish_reason: FinishReason
    context_full: bool
    left_out: int
    prompt_tokens: int
    reused_tokens: int
    emitted: int
    rounds: int
    drafted: int
    tested: int
    accepted: int
    acceptance: float | None
    tokens_per_round: float | None
    accepted_histogram: tuple[int, ...]
    accepted_ngram: int
    time_to_first_token_s: float | None
    decode_s: float
    tokens_per_second: float | None
    draft_s: float
    verify_s: float
    overhead_s: float
    draft_decode_s: float
    stepping_back: SteppingBack
    step_back_s: float
    snapshots_s: float
    replayed: int
    state_copy_s: float
    of_limit: float | None
    plain_tokens_per_second: float | None
    speed_up: float | None
    rule: Rule
    drafter: DrafterName
    draft_length: DraftLength
    seed: int
    log_probabilities: tuple[float, ...] | None
    target: str
    draft: str | None
    engine: EngineFacts
    alarms: tuple[Notice, ...]
    memory: MemoryPlan | None
    """What each device was planned to hold, and what had to give; None: it could not be planned."""

    @classmethod
    def of(cls, loaded: Loaded, finished: Finished, memory: MemoryPlan | None) -> RunReport:
        """The report of a finished answer."""
        figures = finished.figures
        return cls(
            text=finished.text,
            tokens=finished.tokens,
            finish_reason=finished.finish_reason,
            context_full=finished.context_full,
            left_out=finished.left_out,
            prompt_tokens=figures.prompt_tokens,
            reused_tokens=figures.reused_tokens,
            emitted=figures.emitted,
            rounds=figures.rounds,
            drafted=figures.drafted,
            tested=figures.tested,
            accepted=figures.accepted,
            acceptance=figures.acceptance,
            tokens_per_round=figures.tokens_per_round,
            accepted_histogram=figures.accepted_histogram,
            accepted_ngram=figures.accepted_ngram,
            time_to_first_token_s=figures.time_to_first_token_s,
            decode_s=figures.decode_s,
            tokens_per_second=figures.tokens_per_second,
            draft_s=figures.draft_s,
            verify_s=figures.verify_s,
            overhead_s=figures.overhead_s,
            draft_decode_s=figures.draft_decode_s,
            stepping_back=loaded.stepping_back,
            step_back_s=figures.step_back_s,
            snapshots_s=figures.snapshots_s,
            replayed=figures.replayed,
            state_copy_s=figures.state_copy_s,
            of_limit=figures.of_limit,
            plain_tokens_per_second=figures.plain_tokens_per_second,
            speed_up=figures.speed_up,
            rule=finished.rule,
            drafter=finished.drafter,
            draft_length=finished.draft_length,
            seed=finished.seed,
            log_probabilities=finished.log_probabilities,
            target=loaded.target.path,
            draft=loaded.draft.path if loaded.draft else None,
            engine=loaded.engine,
            alarms=finished.alarms,
            memory=memory,
        )


def report_schema() -> bytes:
    """The JSON Schema of `RunReport`, as published in docs/run.schema.json."""
    return msgspec.json.format(msgspec.json.encode(msgspec.json.schema(RunReport)), indent=2)


def run(choice: Choice, request: Generate, *, as_json: bool) -> int:
    """Answer on standard output, figures on standard error; returns the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # an old code page cannot write all of Unicode
    try:
        return asyncio.run(_run(choice, request, as_json=as_json))
    except BrokenPipeError:
        # The reader of our output is gone; keep Python from complaining when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


async def _run(choice: Choice, request: Generate, *, as_json: bool) -> int:
    client = await EngineClient.start()
    printer = Printer(as_json=as_json, live=sys.stdout.isatty() and not as_json)
    _on_interrupt(client, request.id, printer)

    # The engine's process starts while these are imported.
    from specchat.choosing.machine_now import system_alone
    from specchat.choosing.placing import place

    async def load(machine: Machine) -> None:
        placed = await place(choice, machine)
        printer.tell(placed)
        await client.send(placed.load)
        await client.send(request)

    try:
        machine = system_alone(choice.asked.rpc)
        if machine is not None:
            await load(machine)
        else:
            await client.send(Devices(choice.asked.rpc))
        async for event in client.events():
            if isinstance(event, DevicesFound):
                await load(event.machine)
                continue
            exit_code = printer.show(event)
            if exit_code is not None:
                return exit_code
        return 1
    except asyncio.CancelledError:  # interrupted while there was nothing to keep
        return CANCELLED_EXIT_CODE
    finally:
        await client.close()


def _on_interrupt(client: EngineClient, id: int, printer: Printer) -> None:
    """Ctrl+C ends the answer and keeps what came; before there is one, or again, it ends all."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    sent: list[asyncio.Task[None]] = []

    def interrupt() -> None:
        if printer.loaded is not None and not sent:
            sent.append(loop.create_task(client.send(Stop(id))))
        elif task is not None:
            task.cancel()

    with contextlib.suppress(NotImplementedError):  # Windows: Ctrl+C cancels the task
        loop.add_signal_handler(signal.SIGINT, interrupt)


class Printer:
    """Shows events: the answer on standard output, all else on standard error.

    Args:
        as_json: print one JSON object instead of the text.
        live: print text as it comes.
    """

    def __init__(self, *, as_json: bool, live: bool) -> None:
        self.loaded: Loaded | None = None
        self._memory: MemoryPlan | None = None
        self._as_json = as_json
        self._live = live

    def tell(self, placed: Placed) -> None:
        """What had to give before anything is loaded."""
        self._memory = placed.plan
        for notice in placed.notices:
            _say(_line(notice))

    def show(self, event: Event) -> int | None:
        """The exit code once the event is the last one."""
        match event:
            case Loaded():
                self.loaded = event
                for notice in event.notices:
                    _say(_line(notice))
            case Round(text=text) if self._live:
                print(text, end="", flush=True)
            case Finished():
                self._finish(event)
                return CANCELLED_EXIT_CODE if event.finish_reason == "cancelled" else 0
            case Failed():
                _say(f"{event.title}: {event.message}\n{event.help}", *event.log)
                return event.exit_code
            case _:
                pass
        return None

    def _finish(self, finished: Finished) -> None:
        assert self.loaded is not None
        if self._as_json:
            report = msgspec.json.encode(RunReport.of(self.loaded, finished, self._memory))
            print(report.decode(), flush=True)
        else:
            print(finished.tail if self._live else finished.text, flush=True)
            _say(figures_line(finished))
            if self.loaded.stepping_back in STATEFUL:
                _say(stepping_back_line(self.loaded.stepping_back, finished.figures))
            for remark in remarks(finished):
                _say(f"{remark[0].upper()}{remark[1:]}.")
            for alarm in finished.alarms:
                _say(_line(alarm))


def figures_line(finished: Finished) -> str:
    """The figures of an answer in one line."""
    figures = finished.figures
    parts = []
    if figures.acceptance is not None:
        parts.append(f"{figures.acceptance:.0%} accepted")
    if figures.tokens_per_round is not None:
        parts.append(f"{figures.tokens_per_round:.2f} tokens a round")
    if figures.tokens_per_second is not None:
        parts.append(f"{figures.tokens_per_second:.1f} tok/s")
    if figures.speed_up is not None:
        parts.append(f"{figures.speed_up:.2f}x plain")
    if figures.time_to_first_token_s is not None:
        parts.append(f"{figures.time_to_first_token_s:.2f} s to first")
    parts.append(f"{figures.emitted} tokens")
    parts.append(f"drafter {finished.drafter}, length {finished.draft_length}, {finished.rule}")
    return " · ".join(parts)


def stepping_back_line(kind: SteppingBack, figures: Figures) -> str:
    """How a target that keeps a state took guesses back, and what came of it for the prompt."""
    parts = [f"steps back by {kind}"]
    if figures.step_back_share is not None and figures.drafted:
        parts.append(f"{figures.step_back_share:.1%} of the time")
        if kind == "checkpoints":
            parts.append(f"{figures.replayed:,} tokens replayed")
    parts.append(f"{figures.reused_tokens:,} of {figures.prompt_tokens:,} prompt tokens reused")
    return " · ".join(parts)


def _line(notice: Notice) -> str:
    return " ".join(filter(None, (f"{notice.title}:", notice.message, notice.help)))


def _say(*lines: str) -> None:
    print(*lines, sep="\n", file=sys.stderr, flush=True)
