"""A pair's place in memory: what the engine is told, what had to give, and what is refused."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from specchat.choosing.choice import Asked, Choice, choose
from specchat.choosing.machine_now import cpu_alone, find_machine
from specchat.choosing.placing import Placed, place
from specchat.engine.protocol import Plan
from specchat.errors import DraftMismatch, InvalidSetting, OutOfMemory
from specchat.pairing.machine import Machine
from support.header_files import layers, texts, write_header_file
from support.person_disk import put_in_hub_cache, write_own_catalog
from support.shapes import GIB, MIB, card, machine

AMPLE = machine(card(24 * GIB))
VOCABULARY = 300

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a model of so many layers, each of 40 MiB, which takes no room."""

    def write(
        name: str, n_layers: int, tokens: list[str] | None = None, n_ctx_train: int = 32768
    ) -> Path:
        return write_header_file(
            tmp_path / f"{name}.gguf",
            "llama",
            tokens=tokens or texts(VOCABULARY),
            shapes=layers(n_layers, 2048, VOCABULARY),
            own={
                "block_count": n_layers,
                "embedding_length": 2048,
                "feed_forward_length": 8192,
                "attention.head_count": 16,
                "attention.head_count_kv": 16,
            },
            n_ctx_train=n_ctx_train,
        )

    return write


def placed(
    here: Machine, target: Path, draft: Path | None = None, **asked: int | str | bool
) -> Placed:
    names = {"target": str(target), "draft": str(draft) if draft else None}
    return fitted(here, choose(Asked(**names, **asked)))  # type: ignore[arg-type]


def fitted(here: Machine, choice: Choice) -> Placed:
    return asyncio.run(place(choice, here))


def test_where_all_fits_the_engine_does_as_before(write: Write) -> None:
    found = placed(AMPLE, target := write("t", 20), draft := write("d", 2))

    assert (found.load.pair.target, found.load.pair.draft) == (str(target), str(draft))
    assert found.load.plan == Plan()
    assert found.notices == ()
    assert found.plan is not None
    assert found.plan.shares[0].parts["draft"] > 2 * 40 * MIB


def test_a_draft_that_does_not_fit_is_left_out_with_the_sentence_of_the_plan(write: Write) -> None:
    found = placed(machine(card(1250 * MIB)), write("t", 20), write("d", 9), ctx=512)

    assert found.load.pair.draft is None
    [notice] = found.notices
    assert notice.kind == "memory"
    assert notice.message.startswith("The draft is left out: with it CUDA0 lacks ")
    assert "Close other programs" in notice.help


def test_a_draft_that_has_to_be_there_is_refused_where_there_is_no_room(write: Write) -> None:
    tight = machine(card(1250 * MIB))
    with pytest.raises(OutOfMemory, match=r"d.gguf beside t.gguf.*CUDA0 lacks"):
        placed(tight, write("t", 20), write("d", 9), ctx=512, keeps_draft=True)


def test_context_and_layers_give_way_and_the_engine_is_told(write: Write) -> None:
    found = placed(machine(card(GIB)), write("t", 20))

    assert found.load.plan.n_ctx == 4096
    assert 0 < found.load.plan.n_gpu_layers < 20
    assert [notice.kind for notice in found.notices] == ["memory", "memory"]
    assert [bool(notice.help) for notice in found.notices] == [False, True]


def test_snapshots_to_refuse_guesses_are_asked_for_only_where_somebody_guesses(
    write: Write,
) -> None:
    target = write("t", 20)

    assert placed(AMPLE, target, drafter="ngram").load.plan.n_snapshots == 8
    assert placed(AMPLE, target, drafter="none").load.plan.n_snapshots == 0


def test_a_context_that_was_asked_for_stays(write: Write) -> None:
    assert placed(AMPLE, write("t", 20), ctx=1000).load.plan.n_ctx == 1000


def test_no_context_is_named_where_none_was_asked_for_and_all_fits(write: Write) -> None:
    assert placed(AMPLE, write("t", 2, n_ctx_train=100)).load.plan.n_ctx is None


def test_what_does_not_fit_at_all_is_refused_with_figures_and_what_to_do(write: Write) -> None:
    with pytest.raises(OutOfMemory) as refused:
        placed(small := machine(ram_bytes=2 * GIB, free_ram_bytes=GIB), write("t", 20), ctx=4096)

    assert "t.gguf, with a context of 4,096 tokens" in refused.value.message
    assert "1.6 GiB of main memory, of which 1.0 GiB are free" in refused.value.message
    assert refused.value.next_step.startswith("Use a shorter context than --ctx 4096.")
    assert "--gpu-layers 0" in refused.value.next_step
    with pytest.raises(OutOfMemory) as refused:
        placed(small, write("t", 20), ctx=8192)
    assert "--gpu-layers" not in refused.value.next_step  # no room even for the context


def test_layers_that_were_asked_for_are_loaded_even_if_they_do_not_fit(write: Write) -> None:
    tight = machine(card(GIB))
    forced = placed(tight, write("t", 20), gpu_layers=-1)

    assert forced.load.plan == Plan()
    [notice] = forced.notices
    assert notice.title == "Loaded all the same"
    assert "It does not fit: CUDA0 lacks" in notice.message
    assert placed(tight, write("t", 20), gpu_layers=3).load.plan.n_gpu_layers == 3


def test_a_file_that_cannot_be_read_is_left_to_the_engine(tmp_path: Path) -> None:
    (tmp_path / "t.gguf").write_bytes(b"GGUF, says the first word")
    found = placed(AMPLE, tmp_path / "t.gguf", tmp_path / "none.gguf")

    assert found.plan is None
    assert found.load.pair.draft == str(tmp_path / "none.gguf")


def test_a_draft_of_another_family_is_refused_where_it_is_required_and_told_where_not(
    write: Write,
) -> None:
    target, draft = write("t", 20), write("d", 2, texts(VOCABULARY, (77, "other")))
    with pytest.raises(DraftMismatch, match="'t77' for the target and 'other' for the draft"):
        placed(AMPLE, target, draft, draft_required=True)

    found = placed(AMPLE, target, draft)
    assert found.load.pair.draft is None
    [notice] = found.notices
    assert (notice.kind, notice.title) == ("draft_mismatch", "Going on without the draft")
    assert "Token 77 is 't77'" in notice.message


def test_what_was_asked_of_the_caches_is_planned_and_told_to_the_engine(write: Write) -> None:
    usual, small = placed(AMPLE, write("t", 20)), placed(AMPLE, write("t", 20), cache_type="q4_0")

    shares = [found.plan.shares[0].parts["target_kv"] for found in (usual, small) if found.plan]
    assert shares[1] * 3 < shares[0]
    assert small.load.plan == Plan(cache_type="q4_0")


@pytest.fixture
def pair(specchat_home: Path, tmp_path: Path, write: Write) -> None:
    """A pair of the person's catalog on this disk: 7B by its own account, 16k of context."""
    repo, draft = "maker/Large-GGUF", "maker/Small-GGUF"
    write_own_catalog(
        specchat_home, "mine", repo, "large.gguf", draft_repo=draft, draft_file="small.gguf"
    )
    put_in_hub_cache(tmp_path / "hub", repo, "large.gguf", write("t", 20))
    put_in_hub_cache(tmp_path / "hub", draft, "small.gguf", write("d", 2))


def test_a_pair_begins_with_the_context_that_the_catalog_suggests(pair: None) -> None:
    found = fitted(AMPLE, choose(Asked(pair="mine")))

    assert found.load.plan.n_ctx == 16384
    assert found.load.pair.draft is not None
    assert fitted(AMPLE, choose(Asked(pair="mine", ctx=2048))).load.plan.n_ctx == 2048


def test_a_suggested_context_is_shortened_before_layers_move(pair: None) -> None:
    found = fitted(machine(card(3 * GIB)), choose(Asked(pair="mine")))

    assert found.load.plan.n_ctx is not None
    assert 8192 <= found.load.plan.n_ctx < 16384
    assert found.load.plan.n_gpu_layers == -1


def test_a_draft_that_is_known_to_lose_here_stays_on_the_disk_unless_it_is_asked_for(
    pair: None,
) -> None:
    laptop = machine()
    found = fitted(laptop, choose(Asked(pair="mine")))
    asked_for = fitted(laptop, choose(Asked(pair="mine", drafter="model")))

    assert found.load.pair.draft is None
    [notice] = found.notices
    assert "a CPU has no arithmetic to spare" in notice.message
    assert "--drafter model" in notice.help
    assert asked_for.load.pair.draft is not None
    assert asked_for.notices == ()


def test_the_draft_lies_on_one_card_of_several(write: Write) -> None:
    several = machine(card(8 * GIB), card(24 * GIB, name="CUDA1"))
    plan = placed(several, write("t", 20), write("d", 2)).load.plan

    assert plan == replace(Plan(), draft_devices=("CUDA1",))


def test_numbers_that_make_no_sense_are_refused_at_once(write: Write) -> None:
    with pytest.raises(InvalidSetting, match="context"):
        placed(AMPLE, write("t", 2), ctx=-5)


@pytest.mark.parametrize(
    ("names", "alone"),
    [
        (["libggml-base.so.0", "libggml-cpu.so", "libggml-rpc.so", "libllama.so"], True),
        (["ggml-base.dll", "ggml-cpu-haswell.dll", "ggml.dll"], True),
        (["libggml-base.dylib", "libggml-cpu.dylib", "libggml-blas.dylib"], True),
        (["libggml-base.so", "libggml-cpu.so", "libggml-cuda.so"], False),
        (["libggml-base.dylib", "libggml-cpu.dylib", "libggml-metal.dylib"], False),
        (["libggml-base.so", "libggml-cpu.so", "libggml-unheard.so"], False),
        (["libllama.so"], False),
        ([], False),
    ],
)
def test_a_build_for_the_cpu_alone_is_known_by_its_libraries(names: list[str], alone: bool) -> None:
    assert cpu_alone(names) is alone


def test_the_machine_of_a_build_for_the_cpu_is_the_systems() -> None:
    found = asyncio.run(find_machine())

    assert 0 < found.free_ram_bytes <= found.ram_bytes
    assert found.devices[-1].kind == "cpu"
