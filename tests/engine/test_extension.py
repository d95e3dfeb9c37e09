"""The functions of llama.cpp that its public header leaves out."""

import pytest

from specchat.errors import UnsupportedModel
from specchat.llama.extension import FOR_LAYER_INPUTS, FOR_MTP, SYMBOLS, Extension, bind_extension
from specchat.llama.library import Library


def test_every_function_is_found_in_the_installed_llama_cpp(library: Library) -> None:
    """Fails where a new llama-cpp-python has moved or renamed one: then read src/llama-ext.h."""
    extension = bind_extension(library)
    assert extension.missing == (), f"llama.cpp {library.version} has other functions"
    assert extension.runs_mtp
    assert extension.runs_chained_heads
    assert extension.reads_layer_inputs


@pytest.mark.parametrize(
    ("name", "itanium", "msvc"),
    [
        (
            "llama_set_embeddings_nextn",
            "_Z26llama_set_embeddings_nextnP13llama_contextbb",
            "?llama_set_embeddings_nextn@@YAXPEAUllama_context@@_N1@Z",
        ),
        (
            "llama_set_nextn_layer_offset",
            "_Z28llama_set_nextn_layer_offsetP13llama_contexti",
            "?llama_set_nextn_layer_offset@@YAXPEAUllama_context@@H@Z",
        ),
        (
            "llama_get_embeddings_nextn",
            "_Z26llama_get_embeddings_nextnP13llama_context",
            "?llama_get_embeddings_nextn@@YAPEAMPEAUllama_context@@@Z",
        ),
        (
            "llama_get_ctx_other",
            "_Z19llama_get_ctx_otherP13llama_context",
            "?llama_get_ctx_other@@YAPEAUllama_context@@PEAU1@@Z",
        ),
    ],
)
def test_a_function_is_looked_up_by_its_name_in_c_and_by_both_manglings(
    name: str, itanium: str, msvc: str
) -> None:
    [symbol] = [symbol for symbol in SYMBOLS if symbol.name == name]
    assert symbol.names == (name, itanium, msvc)


def test_a_missing_function_is_a_sentence_and_takes_only_what_needs_it(library: Library) -> None:
    functions = bind_extension(library).functions
    extension = Extension(functions, ("llama_get_embeddings_layer_inp",))
    assert extension.runs_mtp
    assert not extension.reads_layer_inputs
    extension.require(FOR_MTP, "Tried.")
    with pytest.raises(UnsupportedModel) as refused:
        extension.require(FOR_LAYER_INPUTS, "Tried to draft.")
    assert "has no llama_get_embeddings_layer_inp." in refused.value.happened
    assert refused.value.next_step
