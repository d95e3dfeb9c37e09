"""What `specchat run` prints: the JSON report with its schema, and the line of figures."""

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest
from msgspec.structs import asdict, replace

from specchat.choosing.placing import Placed
from specchat.engine.protocol import (
    EngineFacts,
    Failed,
    Finished,
    Load,
    Loaded,
    ModelFacts,
    Notice,
    Pair,
    Round,
    SteppingBack,
)
from specchat.headless import (
    CANCELLED_EXIT_CODE,
    Printer,
    RunReport,
    figures_line,
    report_schema,
)
from specchat.pairing.machine import Machine
from specchat.pairing.memory import DeviceShare, MemoryPlan
from specchat.speculation.metrics import Figures
from specchat.speculation.settings import DraftLength

SCHEMA = Path(__file__).parents[2] / "docs" / "run.schema.json"
UPDATE = (
    'python -c "from specchat.headless import report_schema; print(report_schema().decode())"'
    " > docs/run.schema.json"
)

FIGURES = Figures(
    prompt_tokens=31,
    reused_tokens=5,
    emitted=20,
    rounds=8,
    drafted=24,
    tested=16,
    accepted=12,
    accepted_histogram=(2, 2, 2, 2),
    tested_at=(8, 6, 2),
    accepted_ngram=4,
    time_to_first_token_s=0.25,
    decode_s=2.0,
    draft_s=0.5,
    draft_decode_s=0.4,
    verify_s=1.25,
    step_back_s=0.02,
    snapshots_s=0.03,
    replayed=6,
    state_copy_s=0.01,
    plain_tokens_per_second=8.0,
    plain_age_s=12.0,
)
MODEL = ModelFacts(
    path="/models/target.gguf",
    name="Target",
    description="llama 7B Q4_K",
    architecture="llama",
    size_bytes=4,
    n_parameters=7,
    n_ctx_train=4096,
)
LOADED = Loaded(
    target=MODEL,
    draft=replace(MODEL, path="/models/draft.gguf"),
    n_ctx=2048,
    n_threads=2,
    drafter="chain",
    engine=EngineFacts(specchat="0.1", llama_cpp_python="0.3.36", llama_cpp="0.5", backend="CPU"),
    load_s=1.0,
)
BUSY = Notice("busy_machine", "Other programs are busy", "They used 2 cores.", "End them.")
FINISHED = Finished(
    id=1,
    finish_reason="length",
    text="So it is.",
    tail=".",
    tokens=(4, 5, 6),
    n_past=51,
    seed=7,
    rule="block",
    drafter="chain",
    draft_length="auto",
    log_probabilities=(-0.5, -1.25, 0.0),
    figures=FIGURES,
    alarms=(BUSY,),
)

PLAN = MemoryPlan(
    shares=(DeviceShare("CPU", 8 * 2**30, {"target": 96 * 2**20, "target_kv": 45 * 2**20}),),
    n_ctx=2048,
    n_gpu_layers=0,
    with_draft=False,
    steps=("The draft is left out: with it CPU lacks 2.0 GiB.",),
)

PLACED = Placed(
    load=Load(Pair("/models/target.gguf")),
    plan=PLAN,
    machine=Machine(devices=(), ram_bytes=0, free_ram_bytes=0),
    notices=(Notice("memory", "Fitted to memory", PLAN.steps[0], ""),),
)


def test_what_had_to_give_is_said_before_anything_is_loaded(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Printer(as_json=True, live=False).tell(PLACED)

    assert capsys.readouterr() == ("", f"Fitted to memory: {PLAN.steps[0]}\n")


def test_the_published_schema_is_the_one_of_the_report() -> None:
    assert SCHEMA.read_text() == report_schema().decode() + "\n", f"To update it: {UPDATE}"


def test_the_report_has_every_figure_of_the_answer() -> None:
    assert asdict(RunReport.of(LOADED, FINISHED, PLAN)) == {
        "text": "So it is.",
        "tokens": (4, 5, 6),
        "finish_reason": "length",
        "context_full": False,
        "left_out": 0,
        "prompt_tokens": 31,
        "reused_tokens": 5,
        "emitted": 20,
        "rounds": 8,
        "drafted": 24,
        "tested": 16,
        "accepted": 12,
        "acceptance": 0.75,
        "tokens_per_round": 2.5,
        "accepted_histogram": (2, 2, 2, 2),
        "accepted_ngram": 4,
        "time_to_first_token_s": 0.25,
        "decode_s": 2.0,
        "tokens_per_second": 10.0,
        "draft_s": 0.5,
        "draft_decode_s": 0.4,
        "stepping_back": "cache",
        "step_back_s": 0.02,
        "snapshots_s": 0.03,
        "replayed": 6,
        "state_copy_s": 0.01,
        "of_limit": 0.825,
        "verify_s": 1.25,
        "overhead_s": 0.25,
        "plain_tokens_per_second": 8.0,
        "speed_up": 1.25,
        "rule": "block",
        "drafter": "chain",
        "draft_length": "auto",
        "seed": 7,
        "log_probabilities": (-0.5, -1.25, 0.0),
        "target": "/models/target.gguf",
        "draft": "/models/draft.gguf",
        "engine": LOADED.engine,
        "alarms": (BUSY,),
        "memory": PLAN,
    }


def test_a_run_without_a_draft_model_or_any_round_reports_nothing_where_there_is_nothing() -> None:
    report = RunReport.of(replace(LOADED, draft=None), replace(FINISHED, figures=Figures()), None)

    assert report.draft is None
    assert report.memory is None
    assert report.acceptance is None
    assert report.tokens_per_round is None
    assert report.tokens_per_second is None
    assert report.time_to_first_token_s is None
    assert report.plain_tokens_per_second is None
    assert report.speed_up is None


@pytest.mark.parametrize("figures", [FIGURES, Figures()], ids=["full", "empty"])
@pytest.mark.parametrize("log_probabilities", [None, (-0.5,)], ids=["not-asked-for", "asked-for"])
@pytest.mark.parametrize("draft_length", ["auto", 3])
def test_a_report_is_valid_by_its_schema(
    figures: Figures, log_probabilities: tuple[float, ...] | None, draft_length: DraftLength
) -> None:
    schema = json.loads(report_schema())
    finished = replace(
        FINISHED, figures=figures, log_probabilities=log_probabilities, draft_length=draft_length
    )
    printed = json.loads(msgspec.json.encode(RunReport.of(LOADED, finished, PLAN)))

    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(printed, schema)
    for name in printed:
        with pytest.raises(jsonschema.ValidationError, match=name):
            jsonschema.validate({key: printed[key] for key in printed if key != name}, schema)


@pytest.mark.parametrize(
    ("name", "value"), [("rule", "none"), ("drafter", "auto"), ("draft_length", "long")]
)
def test_the_schema_refuses_words_that_no_report_has(name: str, value: str) -> None:
    printed = json.loads(msgspec.json.encode(RunReport.of(LOADED, FINISHED, PLAN)))

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(printed | {name: value}, json.loads(report_schema()))


def test_the_line_of_figures_names_them_all() -> None:
    assert figures_line(FINISHED) == (
        "75% accepted · 2.50 tokens a round · 10.0 tok/s · 1.25x plain · 0.25 s to first"
        " · 20 tokens · drafter chain, length auto, block"
    )


def test_the_line_of_figures_leaves_out_what_was_not_measured() -> None:
    finished = replace(FINISHED, figures=Figures(), drafter="none", draft_length=0, rule="greedy")

    assert figures_line(finished) == "0 tokens · drafter none, length 0, greedy"


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("snapshots", "steps back by snapshots · 1.0% of the time · 5 of 31 prompt tokens reused"),
        (
            "checkpoints",
            "steps back by checkpoints · 1.0% of the time · 6 tokens replayed"
            " · 5 of 31 prompt tokens reused",
        ),
    ],
)
def test_of_a_target_that_keeps_a_state_it_is_told_how_it_steps_back(
    kind: SteppingBack, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    printer = Printer(as_json=False, live=True)
    for event in (replace(LOADED, stepping_back=kind), FINISHED):
        printer.show(event)

    assert capsys.readouterr().err.splitlines()[:2] == [figures_line(FINISHED), line]


def test_a_slow_down_is_told_as_such() -> None:
    finished = replace(FINISHED, figures=replace(FIGURES, plain_tokens_per_second=12.5))

    assert "10.0 tok/s · 0.80x plain" in figures_line(finished)


ROUND = Round(
    id=1,
    text="So it is",
    tokens=(4, 5),
    drafted=3,
    accepted=1,
    reason="",
    reason_kind="plain",
    n_past=50,
    figures=FIGURES,
)


@pytest.mark.parametrize("live", [True, False], ids=["live", "whole"])
def test_the_text_is_on_standard_output_once_and_the_figures_are_not(
    live: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    printer = Printer(as_json=False, live=live)
    exits = [printer.show(event) for event in (LOADED, ROUND, FINISHED)]
    printed = capsys.readouterr()

    assert exits == [None, None, 0]
    assert printed.out == "So it is.\n"
    assert printed.err.splitlines() == [
        figures_line(FINISHED),
        "Other programs are busy: They used 2 cores. End them.",
    ]


def test_as_json_standard_output_is_the_report_alone(capsys: pytest.CaptureFixture[str]) -> None:
    printer = Printer(as_json=True, live=False)
    printer.tell(PLACED)
    for event in (LOADED, ROUND, FINISHED):
        printer.show(event)

    report = msgspec.json.decode(capsys.readouterr().out, type=RunReport)
    assert report == RunReport.of(LOADED, FINISHED, PLAN)


def test_a_cancelled_answer_has_an_exit_code_of_its_own() -> None:
    printer = Printer(as_json=True, live=False)
    printer.show(LOADED)

    assert printer.show(replace(FINISHED, finish_reason="cancelled")) == CANCELLED_EXIT_CODE


def test_a_failure_is_told_with_what_to_do_and_ends_the_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    failed = Failed(
        kind="x", title="No", message="It did not.", help="Try so.", exit_code=1, log=("why",)
    )

    assert Printer(as_json=False, live=True).show(failed) == 1
    assert capsys.readouterr() == ("", "No: It did not.\nTry so.\nwhy\n")
