"""`specchat run` on a disk with models: which is opened, where it goes, what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from specchat.hub.builtin import built_in_model
from specchat.llama.library import Library
from support.command_line import specchat
from support.person_disk import put_in_hub_cache, write_own_catalog
from support.rpc_server import running_rpc_server

REPO, FILE = "maker/gemma-3-270m-GGUF", "gemma-3-270m-q4_k_m.gguf"
FRANCE = ("--prompt", "The capital of France is", "--temperature", "0", "--max-tokens", "8")
QUICKLY = ("--draft-length", "3", *FRANCE)

pytestmark = pytest.mark.real_model


@pytest.fixture
def gemma(specchat_home: Path, tmp_path: Path, gemma3_path: Path) -> Path:
    """A pair `gemma` of the person's catalog, in the cache of the Hub."""
    write_own_catalog(specchat_home, "gemma", REPO, FILE, params_b=0.27)
    return put_in_hub_cache(tmp_path / "hub", REPO, FILE, gemma3_path)


def report(*arguments: str) -> dict[str, Any]:
    done = specchat("run", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    shown: dict[str, Any] = json.loads(done.stdout)
    return shown


def test_the_pair_on_this_disk_answers_where_none_is_named(gemma: Path) -> None:
    shown = report(*QUICKLY)

    assert shown["target"] == str(gemma)
    assert shown["emitted"] > 0
    assert shown["memory"]["fits"]
    [share] = shown["memory"]["shares"]
    assert (share["device"], share["parts"]["target"] > 200e6) == ("CPU", True)


def test_a_pair_is_named_and_is_not_what_the_next_run_opens(gemma: Path) -> None:
    assert report("--pair", "smollm2-135m", *QUICKLY)["target"] == str(built_in_model())
    assert report(*QUICKLY)["target"] == str(gemma)


def test_pairs_and_doctor_know_what_is_here(gemma: Path) -> None:
    listed = json.loads(specchat("pairs", "--all", "--json").stdout)["pairs"]
    doctor = json.loads(specchat("doctor", "--json").stdout)

    here = {pair["name"] for pair in listed if pair["target"]["on_disk"]}
    assert here == {"gemma", "smollm2-135m"}
    assert [model["name"] for model in doctor["models"]] == [f"{REPO}:Q4_K_M", "built in"]


def test_what_was_measured_here_is_what_pairs_expects(gemma: Path) -> None:
    assert specchat("run", "--pair", "gemma", *FRANCE).returncode == 0
    listed = json.loads(specchat("pairs", "--all", "--json").stdout)["pairs"]
    [speed] = [pair["speed"] for pair in listed if pair["name"] == "gemma"]

    # Beside busy programs what was measured is not kept.
    kept = json.loads(specchat("doctor", "--json").stdout)["measurements"]
    assert speed["plain_source"] == ("measured" if kept else "estimated")
    if kept:
        assert speed["plain"] == pytest.approx(1000 / kept[0]["token_ms"])


def test_a_context_beyond_all_memory_is_refused_before_anything_is_loaded() -> None:
    done = specchat("run", "--ctx", "2000000000", *FRANCE)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("It does not fit into memory: Tried to make room for SmolLM2")
    assert "of main memory, of which" in done.stderr


def test_a_draft_of_another_family_is_refused_before_anything_is_loaded(gemma: Path) -> None:
    done = specchat("run", "--target", str(gemma), "--draft", str(built_in_model()), *FRANCE)

    assert (done.returncode, done.stdout) == (2, "")
    assert "It uses another kind of tokenizer than the target." in done.stderr


def test_the_layers_of_a_model_are_planned_for_a_server_s_device(library: Library) -> None:
    if not library.supports_rpc:
        pytest.skip("this build of llama.cpp has no RPC: CMAKE_ARGS=-DGGML_RPC=on brings it")
    with running_rpc_server() as server:
        shown = report("--rpc", server.address, "--draft", str(built_in_model()), *QUICKLY)

    there, here = shown["memory"]["shares"]
    assert (there["device"], here["device"]) == ("RPC0", "CPU")
    assert there["parts"]["target"] > 60e6
    assert there["parts"]["draft"] == there["parts"]["target"]
    assert shown["memory"]["n_gpu_layers"] == 31
    assert shown["accepted"] > 0


def test_a_server_that_is_not_there_is_an_error_in_words() -> None:
    done = specchat("run", "--rpc", "127.0.0.1:1", *FRANCE)

    assert done.returncode == 2
    assert "It cannot be reached" in done.stderr
