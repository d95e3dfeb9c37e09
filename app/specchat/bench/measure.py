"""A plan carried out: the engine, perhaps a server, the run, and its record."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from specchat.bench.engine_side import EngineContestant, EngineLink
from specchat.bench.figures import drift, rows
from specchat.bench.machine import Before, machine_facts, quietness
from specchat.bench.plan import BenchPlan
from specchat.bench.progress import Progress
from specchat.bench.record import (
    FileFacts,
    Quietness,
    Record,
    ServerFacts,
    SetFacts,
    VariantFacts,
)
from specchat.bench.runner import Contestant, Run
from specchat.bench.server import Program, Server, ServerPlan, arguments
from specchat.bench.server_side import ServerContestant
from specchat.choosing.choice import Asked, Choice
from specchat.choosing.placing import place
from specchat.engine.client import EngineClient
from specchat.engine.drafter_names import WITHOUT_NGRAMS, DrafterName
from specchat.engine.protocol import Load, Loaded, ModelFacts, Plan
from specchat.neighbours import Watch

SPEC_TYPES: dict[DrafterName, str] = {"model": "simple"}
"""llama-server's words for what drafts, where they are not ours."""


def measure(plan: BenchPlan, before: Before, progress: Progress) -> Record:
    """Load, warm up, run.

    Args:
        before: how busy the machine was before anything of ours ran.

    Raises:
        OutOfMemory: the pair does not fit, or only without its draft.
        EngineFailed: the pair cannot be loaded, or a prompt cannot be answered.
        ServerProblem: llama-server cannot be measured.
    """
    try:
        return asyncio.run(_measure(plan, before, progress))
    finally:
        progress.close()


async def _measure(plan: BenchPlan, before: Before, progress: Progress) -> Record:
    # First of all, because it costs little to find out that it is no server.
    program = None if plan.server_binary is None else Program.read(plan.server_binary)
    placed = await place(_just_so(plan.load))
    plan = replace(plan, load=placed.load)
    async with AsyncExitStack() as stack:
        client = await EngineClient.start()
        stack.push_async_callback(client.close)
        engine = EngineLink(client)
        loaded = await engine.load(plan.load, progress.phase)
        contestants: list[Contestant] = [EngineContestant(engine, each) for each in plan.variants]
        pids = [client.pid]
        facts = None
        if program is not None:
            progress.phase("starting llama-server")
            settings = _server_plan(plan, loaded)
            server, facts = await _start_server(program, settings)
            stack.push_async_callback(server.close)
            contestants.append(await ServerContestant.of(settings.name, server))
            pids.append(server.pid)
        run = Run(
            contestants,
            plan.questions,
            sampling=plan.sampling,
            max_tokens=plan.amounts.max_tokens,
            repetitions=plan.amounts.repetitions,
            progress=progress,
        )
        await run.warm_up()
        watch = Watch(pids)
        await run.measure()
        quiet = quietness(before, watch.others(), drift(run.answers))
        names = [contestant.name for contestant in contestants]
    notes = [notice.message for notice in placed.notices]
    return _record(plan, loaded, facts, run, names, quiet, notes)


def _just_so(load: Load) -> Choice:
    """With this draft and this context, or not at all: what is measured is what was asked for."""
    plan = load.plan
    asked = Asked(
        target=load.pair.target,
        draft=load.pair.draft,
        ctx=plan.n_ctx,
        gpu_layers=None if plan.n_gpu_layers < 0 else plan.n_gpu_layers,
        rpc=plan.rpc,
        cache_type=plan.cache_type,
        draft_cache_type=plan.draft_cache_type,
        experts_in_ram=plan.experts_in_ram,
        draft_required=True,
        looks_beside=False,
        keeps_draft=True,
    )
    title = Path(load.pair.target).stem
    return Choice(asked=asked, files=load.pair, load=load, origin="files", title=title)


async def _start_server(program: Program, settings: ServerPlan) -> tuple[Server, ServerFacts]:
    given = arguments(settings, program.help_text)
    server = await Server.start(program.path, given)
    files = (settings.target, settings.draft)
    said = tuple(Path(each).name if each in files else each for each in given)
    return server, ServerFacts(version=program.version, arguments=said)


def _server_plan(plan: BenchPlan, loaded: Loaded) -> ServerPlan:
    kind = WITHOUT_NGRAMS.get(loaded.drafter, loaded.drafter)
    return ServerPlan(
        target=plan.load.pair.target,
        draft=plan.load.pair.draft,
        n_ctx=loaded.n_ctx,
        n_threads=loaded.n_threads,
        n_gpu_layers=plan.load.plan.n_gpu_layers,
        draft_length=plan.server_draft_length,
        greedy=plan.sampling.is_greedy,
        spec_type=f"draft-{SPEC_TYPES.get(kind, kind)}",
        built_in=loaded.draft is None and kind != "ngram",
        extra=(*memory_arguments(plan.load.plan), *plan.server_arguments),
    )


def memory_arguments(plan: Plan) -> tuple[str, ...]:
    """What llama-server is told where the engine keeps its memory in another way than usual."""
    experts = ("--cpu-moe",) if plan.experts_in_ram else ()
    if plan.cache_type == "f16":
        return experts
    return (*experts, "--cache-type-k", plan.cache_type, "--cache-type-v", plan.cache_type)


def _record(
    plan: BenchPlan,
    loaded: Loaded,
    server: ServerFacts | None,
    run: Run,
    names: Sequence[str],
    quiet: Quietness,
    notes: Sequence[str],
) -> Record:
    speculation = {variant.name: variant.speculation for variant in plan.variants}
    sets = [
        SetFacts(
            name=each.name,
            title=each.title,
            prompts=len(each.prompt[: plan.amounts.prompts]),
        )
        for each in plan.sets
    ]
    return Record(
        date=datetime.now(UTC).strftime("%Y-%m-%dT%H:%MZ"),
        duration_s=run.duration_s,
        machine=machine_facts(),
        engine=loaded.engine,
        target=_file_facts(loaded.target),
        draft=None if loaded.draft is None else _file_facts(loaded.draft),
        drafter=loaded.drafter,
        stepping_back=loaded.stepping_back,
        server=server,
        n_ctx=loaded.n_ctx,
        n_threads=loaded.n_threads,
        n_gpu_layers=plan.load.plan.n_gpu_layers,
        sampling=plan.sampling,
        max_tokens=plan.amounts.max_tokens,
        repetitions=plan.amounts.repetitions,
        quietness=quiet,
        variants=tuple(
            VariantFacts(name=name, speculation=speculation.get(name)) for name in names
        ),
        sets=tuple(sets),
        rows=rows(
            names,
            [each.name for each in sets],
            run.answers,
            run.differences if plan.sampling.is_greedy else None,
        ),
        differences=tuple(run.differences),
        warnings=(*notes, *run.warnings),
        answers=tuple(run.answers),
    )


def _file_facts(model: ModelFacts) -> FileFacts:
    path = Path(model.path)
    size_bytes = path.stat().st_size if path.is_file() else model.size_bytes
    return FileFacts(file=path.name, description=model.description, size_bytes=size_bytes)
