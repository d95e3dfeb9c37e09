"""What we understand of a header is what llama.cpp understands when it loads the file."""

from pathlib import Path

import pytest

from specchat.llama.library import Library
from specchat.llama.model import Model
from specchat.pairing.compatibility import VocabularyFacts
from specchat.pairing.drafter_type import memory_kind
from specchat.pairing.findings import context_length
from specchat.pairing.gguf_file import read_gguf
from specchat.pairing.verdict import judge
from specchat.pairing.vocabulary import vocabulary_of
from support.gguf_models import random_table, write_bigram, write_mamba


def facts_of(model: Model) -> VocabularyFacts:
    """The facts by llama.cpp's own account."""
    vocabulary = model.vocabulary
    return VocabularyFacts(
        kind=vocabulary.kind,
        adds_bos=vocabulary.adds_bos,
        bos=vocabulary.bos,
        adds_eos=vocabulary.adds_eos,
        eos=vocabulary.eos,
        texts=tuple(vocabulary.texts(range(vocabulary.n_tokens))),
    )


def assert_agrees(library: Library, path: Path) -> None:
    """Compare what is known without llama.cpp with what it knows."""
    header, model = read_gguf(path), Model(library, path)
    try:
        assert vocabulary_of(header) == facts_of(model)
        assert header.architecture == model.architecture
        assert context_length(header) == model.n_ctx_train
        assert sum(tensor.n_bytes for tensor in header.tensors) == model.size_bytes
        assert (memory_kind(header) in ("recurrent", "hybrid")) == model.is_recurrent
    finally:
        model.close()


@pytest.mark.real_model
def test_the_header_of_smollm2(library: Library, smollm2_path: Path) -> None:
    assert_agrees(library, smollm2_path)


@pytest.mark.real_model
def test_the_header_of_gemma_3(library: Library, gemma3_path: Path) -> None:
    assert_agrees(library, gemma3_path)


def test_the_headers_of_models_made_here(library: Library, tmp_path: Path) -> None:
    assert_agrees(library, write_bigram(tmp_path / "bigram.gguf", random_table(0, "abc")))
    assert_agrees(library, write_mamba(tmp_path / "mamba.gguf"))


@pytest.mark.real_model
def test_gemma_does_not_draft_for_smollm2_and_a_worse_smollm2_does(
    smollm2_path: Path, worse_path: Path, gemma3_path: Path
) -> None:
    target, worse, gemma = map(read_gguf, (smollm2_path, worse_path, gemma3_path))

    assert judge(target, worse).usable
    assert judge(target, gemma).kind == "other_vocabulary"
