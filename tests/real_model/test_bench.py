"""A short measurement of the built-in model, through the engine's own process."""

from pathlib import Path
from typing import Any

import pytest

from specchat.bench.export import as_json
from specchat.bench.machine import Before
from specchat.bench.measure import measure
from specchat.bench.plan import BenchPlan, make_plan
from specchat.bench.problems import EngineFailed
from specchat.bench.progress import Progress
from specchat.bench.record import Record
from specchat.bench.report_html import report_html
from specchat.bench.report_text import report

pytestmark = pytest.mark.real_model

TOKENS = 16
VARIANTS = ("plain", "ngram:3", "model:2", "model:2:token")


def plan_for(target: Path, draft: Path, **options: Any) -> BenchPlan:
    usual: dict[str, Any] = {
        "ctx": 1024,
        "threads": None,
        "gpu_layers": -1,
        "rpc": (),
        "cache_type": None,
        "draft_cache_type": "f16",
        "experts_in_ram": False,
        "sets": ("chat", "code"),
        "prompts": 1,
        "repetitions": 1,
        "variants": VARIANTS,
        "quick": False,
        "max_tokens": TOKENS,
        "temperature": 0.0,
        "top_k": 40,
        "top_p": 0.95,
        "min_p": 0.05,
        "seed": 1,
        "server_binary": None,
        "server_draft_length": 3,
        "server_arguments": (),
    }
    return make_plan(usual | options, str(target), str(draft), "model")


@pytest.fixture(scope="module")
def record(smollm2_path: Path) -> Record:
    """SmolLM2 with itself as draft: whatever it drafts is right."""
    plan = plan_for(smollm2_path, smollm2_path)
    return measure(plan, Before(sample_s=0.1), Progress())


def test_every_variant_answers_every_prompt(record: Record) -> None:
    assert len(record.answers) == 2 * len(VARIANTS)
    assert {answer.variant for answer in record.answers} == set(VARIANTS)
    assert {answer.set for answer in record.answers} == {"chat", "code"}
    for answer in record.answers:
        assert 0 < answer.emitted <= TOKENS
        assert answer.tokens_per_second == pytest.approx(answer.emitted / answer.decode_s)
        assert len(answer.lengths) == len(answer.kept) == answer.rounds
        assert sum(answer.lengths) == answer.drafted
        assert sum(answer.kept) == answer.accepted
        assert sum(answer.reasons.values()) == answer.rounds


def test_figures_are_those_of_decoding(record: Record) -> None:
    plain, drafted = record.row("plain"), record.row("model:2")

    assert plain.speed_up is not None
    assert plain.speed_up.median == 1.0
    assert plain.tokens_per_round == 1.0
    assert drafted.acceptance is not None
    assert drafted.acceptance > 0.9
    assert drafted.tokens_per_round is not None
    assert drafted.tokens_per_round > 2
    assert drafted.draft_share is not None
    assert 0 < drafted.draft_share < 1


def test_the_record_names_files_and_no_folders(record: Record, smollm2_path: Path) -> None:
    written = as_json(record)

    assert smollm2_path.name in written
    assert str(smollm2_path.parent) not in written
    assert record.target.size_bytes == smollm2_path.stat().st_size


def test_the_record_can_be_shown(record: Record) -> None:
    assert "model:2:token" in report_html(record)
    assert "model:2:token" in report(record, colour=False)


def test_a_pair_that_cannot_be_loaded_is_told_in_words(smollm2_path: Path, tmp_path: Path) -> None:
    plan = plan_for(tmp_path / "missing.gguf", smollm2_path)
    with pytest.raises(EngineFailed) as failed:
        measure(plan, Before(sample_s=0.1), Progress())

    assert failed.value.event.kind == "model_not_found"
