"""Functions of llama.cpp that its public header leaves out: what trained heads need.

They are declared in src/llama-ext.h with C++ linkage, so that their exported names depend on the
compiler. Each is looked up as a C name, as GCC and Clang mangle it, and as MSVC does. A build
without one of them can do less; nothing here ends the process.
"""

import ctypes
from dataclasses import dataclass
from typing import Any, NamedTuple

from specchat.errors import UnsupportedModel
from specchat.llama.library import Library

CONTEXT, MODEL = "P13llama_context", "PK11llama_model"
"""Types as the Itanium ABI writes them: `llama_context *`, `const llama_model *`."""
MSVC_CONTEXT, MSVC_MODEL = "PEAUllama_context@@", "PEBUllama_model@@"

_floats = ctypes.POINTER(ctypes.c_float)
_integers = ctypes.POINTER(ctypes.c_int32)
_pointer = ctypes.c_void_p


class Symbol(NamedTuple):
    """One function: its name, its parameters as both ABIs write them, and its types."""

    name: str
    itanium: str
    """Codes of the parameters."""
    msvc: str
    """Codes of the result and the parameters."""
    result: Any
    arguments: tuple[Any, ...]

    @property
    def names(self) -> tuple[str, str, str]:
        """What the function may be exported as."""
        return (
            self.name,
            f"_Z{len(self.name)}{self.name}{self.itanium}",
            f"?{self.name}@@YA{self.msvc}@Z",
        )


SYMBOLS = (
    Symbol(
        "llama_set_embeddings_nextn",
        CONTEXT + "bb",
        f"X{MSVC_CONTEXT}_N1",
        None,
        (_pointer, ctypes.c_bool, ctypes.c_bool),
    ),
    Symbol(
        "llama_get_embeddings_nextn",
        CONTEXT,
        f"PEAM{MSVC_CONTEXT}",
        _floats,
        (_pointer,),
    ),
    Symbol(
        "llama_set_nextn_layer_offset",
        CONTEXT + "i",
        f"X{MSVC_CONTEXT}H",
        None,
        (_pointer, ctypes.c_int32),
    ),
    Symbol(
        "llama_get_ctx_other",
        CONTEXT,
        "PEAUllama_context@@PEAU1@",
        _pointer,
        (_pointer,),
    ),
    Symbol(
        "llama_set_embeddings_layer_inp",
        CONTEXT + "jb",
        f"X{MSVC_CONTEXT}I_N",
        None,
        (_pointer, ctypes.c_uint32, ctypes.c_bool),
    ),
    Symbol(
        "llama_get_embeddings_layer_inp",
        CONTEXT + "j",
        f"PEAM{MSVC_CONTEXT}I",
        _floats,
        (_pointer, ctypes.c_uint32),
    ),
    Symbol(
        "llama_model_target_layer_ids",
        MODEL,
        f"PEBH{MSVC_MODEL}",
        _integers,
        (_pointer,),
    ),
    Symbol(
        "llama_model_target_layer_ids_n",
        MODEL,
        f"I{MSVC_MODEL}",
        ctypes.c_uint32,
        (_pointer,),
    ),
    Symbol(
        "llama_model_dflash_selector_top_k",
        MODEL,
        f"H{MSVC_MODEL}",
        ctypes.c_int32,
        (_pointer,),
    ),
)

FOR_HIDDEN_STATES = ("llama_set_embeddings_nextn", "llama_get_embeddings_nextn")
FOR_MTP = (*FOR_HIDDEN_STATES, "llama_get_ctx_other")
FOR_CHAINED_HEADS = (*FOR_MTP, "llama_set_nextn_layer_offset")
FOR_LAYER_INPUTS = (
    *FOR_HIDDEN_STATES,
    "llama_set_embeddings_layer_inp",
    "llama_get_embeddings_layer_inp",
    "llama_model_target_layer_ids",
    "llama_model_target_layer_ids_n",
)


@dataclass(frozen=True)
class Extension:
    """The functions that this build has."""

    functions: dict[str, Any]
    missing: tuple[str, ...]

    @property
    def runs_mtp(self) -> bool:
        """Whether a single MTP head can be run."""
        return self._has(FOR_MTP)

    @property
    def runs_chained_heads(self) -> bool:
        """Whether several MTP heads, each guessing one token further, can be run."""
        return self._has(FOR_CHAINED_HEADS)

    @property
    def reads_layer_inputs(self) -> bool:
        """Whether what EAGLE-3, DFlash and DSpark need of a target can be read."""
        return self._has(FOR_LAYER_INPUTS)

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a function that this build is known to have."""
        return self.functions[name](*arguments)

    def require(self, names: tuple[str, ...], tried: str) -> None:
        """Refuse where one of these functions is missing.

        Raises:
            UnsupportedModel: with the names of those that are.
        """
        missing = [name for name in names if name in self.missing]
        if missing:
            raise UnsupportedModel(
                tried,
                f"This build of llama.cpp has no {' and no '.join(missing)}.",
                "Install the llama-cpp-python that specchat asks for, or use another draft.",
            )

    def _has(self, names: tuple[str, ...]) -> bool:
        return not set(names) & set(self.missing)


def bind_extension(library: Library) -> Extension:
    """Look the functions up."""
    functions: dict[str, Any] = {}
    for symbol in SYMBOLS:
        for name in symbol.names:
            try:
                functions[symbol.name] = library.function(name, symbol.result, *symbol.arguments)
                break
            except AttributeError:
                continue
    missing = tuple(symbol.name for symbol in SYMBOLS if symbol.name not in functions)
    return Extension(functions, missing)
