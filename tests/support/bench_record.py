"""A record of a run that never was."""

from specchat.bench.figures import rows
from specchat.bench.record import (
    Answer,
    Difference,
    FileFacts,
    MachineFacts,
    Quietness,
    Record,
    ServerFacts,
    SetFacts,
    VariantFacts,
)
from specchat.bench.variants import drafters_of, parse_variant
from specchat.engine.protocol import EngineFacts
from specchat.speculation.settings import SamplingSettings

SETS = ("chat", "chinese", "code", "extract", "reason", "rewrite", "story")
VARIANTS = ("plain", "ngram:3", "model:3", "auto", "llama-server:3")
ROUNDS = 12
DRAFTERS = drafters_of("model")


def answer(set: str, variant: str) -> Answer:
    """An answer in which every second draft is kept as far as its first two tokens."""
    drafted = 0 if variant == "plain" else 3
    lengths = tuple(drafted if place % 3 else 0 for place in range(ROUNDS))
    kept = tuple(min(length, 2) for length in lengths)
    told = not variant.startswith("llama-server")
    rate = {"plain": 10.0, "ngram:3": 9.0, "model:3": 21.5}.get(variant, 18.0)
    return Answer(
        set=set,
        prompt=1,
        repetition=1,
        variant=variant,
        started_s=3.0,
        rule="greedy" if told else None,
        finish_reason="length",
        prompt_tokens=40,
        emitted=ROUNDS + sum(kept),
        decode_s=(ROUNDS + sum(kept)) / rate,
        tokens_per_second=rate,
        drafted=sum(lengths),
        accepted=sum(kept),
        tested=sum(lengths) if told else None,
        rounds=ROUNDS if told else None,
        accepted_histogram=(kept.count(0), 0, kept.count(2), 0) if told else (),
        tested_at=(sum(map(bool, lengths)),) * 3 if told and drafted else (),
        draft_s=0.1 if told else None,
        verify_s=0.4 if told else None,
        draft_decode_s=0.09 if told else None,
        step_back_s=0.02 if told else None,
        replayed=4 if told else None,
        lengths=lengths if told else (),
        kept=kept if told else (),
        reasons={"worth": 8, "costs_more": 4} if told else {},
    )


ANSWERS = tuple(answer(name, variant) for name in SETS for variant in VARIANTS)
DIFFERENCE = Difference(
    set="code",
    prompt=1,
    repetition=1,
    variant="model:3",
    token=17,
    plain_text="</td>\n\x1b[31mred",
    text="<script>alert(1)</script>",
)
QUIET = Quietness(
    cores=2, load_average=0.1, others_before=0.0, others_during=0.05, drift=0.02, busy=()
)
RECORD = Record(
    date="2025-05-01T12:00Z",
    duration_s=75.0,
    machine=MachineFacts(
        processor="A processor with a rather long name that goes on and on @ 3.20GHz, 1 socket",
        physical_cores=2,
        logical_cores=None,
        memory_bytes=16 * 2**30,
        system="Linux x86_64",
        python="3.11.7",
    ),
    engine=EngineFacts(specchat="0.1", llama_cpp_python="0.3.36", llama_cpp="0.5", backend="CPU"),
    target=FileFacts(file="a&b.gguf", description="llama 7B Q4_K", size_bytes=4_000_000),
    draft=FileFacts(file="small.gguf", description="llama 1B Q4_0", size_bytes=1_000_000),
    server=ServerFacts(version="b9999", arguments=("--model", "a&b.gguf")),
    n_ctx=2048,
    n_threads=2,
    n_gpu_layers=-1,
    sampling=SamplingSettings(temperature=0, seed=1),
    max_tokens=40,
    repetitions=1,
    quietness=QUIET,
    variants=tuple(
        VariantFacts(
            name=name,
            speculation=None
            if name.startswith("llama")
            else parse_variant(name, DRAFTERS).speculation,
        )
        for name in VARIANTS
    ),
    sets=tuple(SetFacts(name=name, title=name.title(), prompts=1) for name in SETS),
    rows=rows(VARIANTS, SETS, ANSWERS, [DIFFERENCE]),
    differences=(DIFFERENCE,),
    warnings=("llama-server:3 was given other prompts.",),
    answers=ANSWERS,
)
