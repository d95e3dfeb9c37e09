"""The command: its options, its files, its exit codes."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from specchat.bench import command
from specchat.bench.machine import Before
from specchat.bench.options import BENCH_OPTIONS
from specchat.bench.plan import BenchPlan, make_plan
from specchat.bench.problems import BusyMachine, EngineFailed
from specchat.bench.progress import Progress
from specchat.bench.realistic import RealisticPair
from specchat.bench.record import Record
from specchat.engine.protocol import Failed
from specchat.errors import InvalidSetting, ModelNotFound
from specchat.pairing.head_fit import drafts_with
from support.bench_record import QUIET, RECORD
from support.header_files import layers, texts, write_header_file

BUSY = replace(RECORD, quietness=replace(QUIET, busy=("Somebody compiled a browser.",)))
MODEL: dict[str, Any] = {
    "target": "big.gguf",
    "draft": None,
    "ctx": None,
    "threads": None,
    "gpu_layers": -1,
    "rpc": (),
    "cache_type": None,
    "draft_cache_type": "f16",
    "experts_in_ram": False,
}
FAILED = Failed(kind="x", title="No", message="It did not.", help="Try so.", log=("why",))


class Runs:
    """Stands for the measurement: keeps its plans, gives a record or fails."""

    def __init__(self) -> None:
        self.plans: list[BenchPlan] = []
        self.result: Record | EngineFailed = RECORD

    def measure(self, plan: BenchPlan, before: Before, progress: Progress) -> Record:
        self.plans.append(plan)
        if isinstance(self.result, EngineFailed):
            raise self.result
        return self.result


class Idle(Before):
    """A machine that does nothing, without waiting for it."""

    def __init__(self) -> None:
        super().__init__(sample_s=0)
        self.load_average = 0.0


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    runs = Runs()
    monkeypatch.setattr(command, "measure", runs.measure)
    monkeypatch.setattr(command, "Before", Idle)
    monkeypatch.setattr(command, "drafts_with", lambda target, draft: None)  # no file is here
    return runs


def options(*given: str) -> dict[str, Any]:
    """What the options on a command line come to."""
    parsed: dict[str, Any] = {}

    def take(**values: Any) -> None:
        parsed.update(values)

    for option in BENCH_OPTIONS:
        take = option(take)
    result = CliRunner().invoke(click.command()(take), given, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return MODEL | parsed


def test_the_report_is_shown_and_the_files_are_written(
    runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [f"--{kind}={tmp_path / kind}" for kind in ("json", "csv", "html")]

    assert command.bench(options(*files)) == 0
    printed = capsys.readouterr()
    assert "speed-up" in printed.out
    assert "\x1b" not in printed.out
    assert printed.err.count("Wrote ") == 3
    assert (tmp_path / "json").read_text().startswith("{")
    assert (tmp_path / "csv").read_text().startswith("set,prompt")
    assert (tmp_path / "html").read_text().startswith("<!doctype html>")


def test_the_run_of_a_busy_machine_is_shown_and_not_kept(
    runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs.result = BUSY
    with pytest.raises(BusyMachine, match=r"browser\. End.*--even-if-busy") as refused:
        command.bench(options(f"--json={tmp_path / 'run.json'}"))

    assert refused.value.exit_code == 3
    assert list(tmp_path.glob("run.json")) == []
    assert "The machine was busy." in capsys.readouterr().out


def test_a_busy_run_is_kept_where_that_is_asked_for(runs: Runs, tmp_path: Path) -> None:
    runs.result = BUSY
    path = tmp_path / "run.json"

    assert command.bench(options(f"--json={path}", "--even-if-busy")) == 0
    assert "Somebody compiled a browser." in path.read_text()


def test_a_busy_run_without_files_is_no_failure(runs: Runs) -> None:
    runs.result = BUSY

    assert command.bench(options()) == 0


def test_an_engine_that_fails_is_told_and_its_exit_code_kept(
    runs: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    runs.result = EngineFailed(FAILED)

    assert command.bench(options()) == FAILED.exit_code
    assert capsys.readouterr() == ("", "No: It did not.\nTry so.\nwhy\n")


def test_a_file_that_cannot_be_written_is_refused_before_the_run(
    runs: Runs, tmp_path: Path
) -> None:
    with pytest.raises(InvalidSetting, match="folder does not exist"):
        command.bench(options(f"--csv={tmp_path / 'missing' / 'run.csv'}"))

    assert runs.plans == []


def test_the_realistic_pair_is_built_for_a_plan_that_makes_sense(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = RealisticPair(Path("deep.gguf"), Path("draft.gguf"))
    monkeypatch.setattr(command, "realistic_pair", lambda progress: pair)
    asked = options("--pair=realistic") | {"target": None}

    assert command.bench(asked) == 0
    assert runs.plans[0].load.pair.target == "deep.gguf"
    assert runs.plans[0].load.pair.draft == "draft.gguf"
    with pytest.raises(InvalidSetting, match="Use --pair, or --target and --draft"):
        command.bench(asked | {"target": "mine.gguf"})
    monkeypatch.setattr(command, "realistic_pair", lambda progress: pytest.fail("built"))
    with pytest.raises(InvalidSetting, match="'poems'"):
        command.bench(asked | {"sets": ("poems",)})


def test_what_the_variants_are_called_is_read_from_the_files(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "drafts_with", drafts_with)
    target = write_header_file(
        tmp_path / "target.gguf", "qwen3", tokens=texts(20), shapes=layers(1, 64, 20)
    )
    head = write_header_file(
        tmp_path / "head.gguf", "eagle3", tokens=texts(20), shapes=layers(1, 64, 20)
    )
    asked = options("--quick") | {"target": str(target), "draft": str(head)}

    assert command.bench(asked) == 0
    assert [each.name for each in runs.plans[0].variants] == [
        "plain",
        "ngram:3",
        "eagle3:3",
        "auto",
    ]
    with pytest.raises(InvalidSetting, match="no drafter 'model'"):
        command.bench(asked | {"variants": ("model:3",)})
    with pytest.raises(ModelNotFound, match=r"missing\.gguf"):
        command.bench(asked | {"draft": str(tmp_path / "missing.gguf"), "variants": ("mtp:3",)})


def test_a_plan_has_what_the_options_say() -> None:
    given = ["--set=story", "--set=chat", "--prompts=3", "--repetitions=4", "--max-tokens=2000"]
    given += ["--variant=ngram:5", "--temperature=0.7", "--seed=9", "--server-draft-length=4"]
    plan = make_plan(options(*given), "big.gguf", None, None)

    assert [each.name for each in plan.sets] == ["story", "chat"]
    assert len(plan.questions) == 6
    assert (plan.amounts.repetitions, plan.amounts.max_tokens) == (4, 2000)
    assert [variant.name for variant in plan.variants] == ["plain", "ngram:5"]
    assert (plan.sampling.temperature, plan.sampling.seed) == (0.7, 9)
    assert plan.load.plan.max_draft_length == 5
    assert plan.load.plan.n_ctx == 3024
    assert plan.server_draft_length == 4


def test_quick_is_little_and_gives_way_to_what_is_named() -> None:
    quick = make_plan(options("--quick"), "big.gguf", "small.gguf", "model")
    longer = make_plan(options("--quick", "--max-tokens=99"), "big.gguf", "small.gguf", "model")

    assert len(quick.questions) == 14
    assert (quick.amounts.repetitions, quick.amounts.max_tokens) == (1, 48)
    assert longer.amounts.max_tokens == 99
    assert len(make_plan(options(), "big.gguf", "small.gguf", "model").questions) >= 56


def test_a_rule_that_does_not_go_with_the_sampling_is_refused_before_the_run() -> None:
    with pytest.raises(InvalidSetting, match=r"greedily at temperature 0\.8"):
        make_plan(options("--variant=ngram:3:greedy", "--temperature=0.8"), "big.gguf", None, None)


def modules_after(statement: str) -> set[str]:
    """Top-level modules in a fresh Python after the statement."""
    script = f"import sys\n{statement}\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    return set(result.stdout.split())


def test_the_options_bring_in_click_alone() -> None:
    loaded = modules_after("import specchat.bench.options")

    assert "click" in loaded
    assert not loaded & {"msgspec", "psutil", "jinja2", "asyncio", "numpy", "llama_cpp"}


def test_the_bench_brings_neither_llama_nor_arrays_nor_a_screen_into_its_process() -> None:
    loaded = modules_after("import specchat.bench.command")

    assert "msgspec" in loaded
    assert not loaded & {"llama_cpp", "numpy", "gguf", "textual"}


def test_every_option_is_explained() -> None:
    def nothing(**values: Any) -> None: ...

    for option in BENCH_OPTIONS:
        nothing = option(nothing)
    shown = CliRunner().invoke(click.command()(nothing), ["--help"]).output
    assert len(re.findall(r"^  --", shown, re.M)) == len(BENCH_OPTIONS) + 1
    assert all(parameter.help for parameter in click.command()(nothing).params)


def test_a_comparison_over_rpc_is_refused(runs: Runs) -> None:
    given = options("--server-binary", "llama-server") | {"rpc": ("127.0.0.1:50052",)}
    with pytest.raises(InvalidSetting, match="one program at a time"):
        command.bench(given)
    assert runs.plans == []
