"""llama.cpp as a library: checked, quiet, and ended when asked to."""

import ctypes
import importlib.metadata
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import cast

import numpy as np
import pytest

from build_llama import PROJECT, pinned_version
from specchat.architectures import BROUGHT_BY, READ_IN
from specchat.errors import LibraryProblem
from specchat.llama.context import CPU_BATCH, Aborted, Context, Outputs
from specchat.llama.library import (
    KNOWN_DEFAULTS,
    LEVEL_CONTINUE,
    LEVEL_ERROR,
    LEVEL_WARNING,
    AbortFlag,
    Library,
    LogRing,
    _check_layout,
    open_library,
)
from specchat.llama.model import Model
from specchat.neighbours import POLITE
from support.aborting import AbortInside
from support.gguf_models import byte_ids, random_table, write_bigram

LEVEL_INFO = 2
PROMPT = byte_ids("abcdefgh" * 25)
"""Several micro-batches in one batch."""


def test_the_library_says_its_versions(library: Library) -> None:
    assert library.python_version == importlib.metadata.version("llama-cpp-python")
    assert library.version
    assert library.version == library.api.llama_version().decode()


def test_what_cannot_be_asked_for_was_read_in_the_llama_cpp_that_is_installed(
    library: Library,
) -> None:
    """Who moves the pin reads the lists of `architectures` anew, then says there what in."""
    assert pinned_version(PROJECT / "pyproject.toml") == BROUGHT_BY
    assert library.python_version == BROUGHT_BY
    commit = library.function("ggml_commit", ctypes.c_char_p)().decode().removesuffix("-dirty")
    assert commit == "unknown" or READ_IN.startswith(commit)  # a build without git knows none


def test_the_library_is_opened_once(library: Library) -> None:
    assert open_library() is library


def a_library_with(**changes: int) -> ModuleType:
    """A stand-in for the bindings whose context parameters begin with other values."""
    defaults = SimpleNamespace(**{**KNOWN_DEFAULTS, **changes})
    return cast("ModuleType", SimpleNamespace(llama_context_default_params=lambda: defaults))


def test_the_known_layout_is_taken(library: Library) -> None:
    _check_layout(a_library_with(), "1.2.3")
    _check_layout(library.api, library.python_version)


@pytest.mark.parametrize("name", KNOWN_DEFAULTS)
def test_another_layout_is_refused_in_words(name: str) -> None:
    with pytest.raises(LibraryProblem) as refused:
        _check_layout(a_library_with(**{name: 77}), "1.2.3")
    assert refused.value.tried == "Tried to use llama-cpp-python 1.2.3."
    assert f"'{name}': 77" in refused.value.happened
    assert refused.value.next_step == "Install the version that specchat asks for."


def test_a_field_that_is_gone_is_refused_in_words() -> None:
    fields = {name: value for name, value in KNOWN_DEFAULTS.items() if name != "n_rs_seq"}
    api = SimpleNamespace(llama_context_default_params=lambda: SimpleNamespace(**fields))
    with pytest.raises(LibraryProblem, match="not laid out as expected"):
        _check_layout(cast("ModuleType", api), "1.2.3")


def test_a_missing_library_is_refused_in_words() -> None:
    """In a Python that cannot find llama_cpp."""
    script = """
import sys
sys.modules["llama_cpp"] = None
from specchat.errors import LibraryProblem
from specchat.llama.library import open_library
try:
    open_library()
except LibraryProblem as error:
    print(error.tried, error.next_step)
"""
    assert fresh_python(script).strip() == "Tried to load llama-cpp-python. Install it again."


def test_of_the_package_only_the_bindings_are_imported() -> None:
    """And who imports it later, in the same process, gets all of it."""
    script = """
import sys
from specchat.llama.library import open_library
library = open_library()
print(sorted(name for name in sys.modules if name.partition(".")[0] == "llama_cpp"))
import llama_cpp
print(llama_cpp.llama_decode is library.api.llama_decode, llama_cpp.Llama.__name__)
"""
    modules, whole = fresh_python(script).splitlines()
    assert "llama_cpp.llama_cpp" in modules
    assert "'llama_cpp'" not in modules
    assert "llama_cpp.llama'" not in modules
    assert whole == "True Llama"


def test_a_package_whose_bindings_need_all_of_it_is_imported_whole(tmp_path: Path) -> None:
    package = tmp_path / "llama_cpp"
    package.mkdir()
    (package / "__init__.py").write_text("answer = 42")
    (package / "llama_cpp.py").write_text("from llama_cpp import answer")
    script = """
from specchat.llama.library import _bindings
print(_bindings().answer)
"""
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    assert fresh_python(script, PYTHONPATH=path) == "42\n"


def fresh_python(script: str, **environment: str) -> str:
    """What a script prints in a Python of its own, without the variables that specchat sets."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "GGML_NO_BACKTRACE")
    }
    result = subprocess.run(
        [sys.executable, "-c", script],
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert result.stderr == ""
    return result.stdout


WAIT_POLICY = """
import os
from specchat.llama.library import open_library
open_library()
names = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "GGML_NO_BACKTRACE")
print(*[os.environ.get(name) for name in names])
"""


def test_waiting_threads_spin_for_a_moment_and_then_leave_the_cpu_to_others() -> None:
    assert fresh_python(WAIT_POLICY).split() == [*POLITE.values(), "1"]


def test_a_wait_policy_that_the_person_has_set_stays() -> None:
    assert fresh_python(WAIT_POLICY, OMP_WAIT_POLICY="active").split() == ["active", "None", "1"]
    assert fresh_python(WAIT_POLICY, GOMP_SPINCOUNT="7").split() == ["None", "7", "1"]


def test_the_log_gives_the_errors_after_a_mark() -> None:
    log = LogRing()
    log.append(LEVEL_ERROR, "before\n")
    mark = log.mark()
    assert log.errors(mark) == []
    log.append(LEVEL_INFO, "loading\n")
    log.append(LEVEL_ERROR, "first\n")
    log.append(LEVEL_WARNING, "careful\n")
    log.append(LEVEL_ERROR, "second\n")
    assert log.errors(mark) == ["first", "second"]
    assert log.errors(0) == ["before", "first", "second"]
    assert log.errors(log.mark()) == []


def test_the_log_drops_the_dots_of_progress() -> None:
    log = LogRing()
    log.append(LEVEL_CONTINUE, ".")
    assert log.mark() == 0


def test_the_log_keeps_the_last_lines_and_its_marks_stay_right() -> None:
    log = LogRing(size=3)
    for number in range(5):
        log.append(LEVEL_ERROR, str(number))
    mark = log.mark()
    log.append(LEVEL_ERROR, "5")
    assert log.errors(0) == ["3", "4", "5"]
    assert log.errors(mark) == ["5"]


def test_the_log_repeats_warnings_and_errors_and_nothing_less() -> None:
    log = LogRing()
    log.append(LEVEL_ERROR, "unheard")
    log.echo = io.StringIO()
    log.append(LEVEL_INFO, "chatter\n")
    log.append(LEVEL_WARNING, "careful\n")
    log.append(LEVEL_ERROR, "broken\n")
    assert log.echo.getvalue() == "careful\nbroken\n"


def test_what_llama_cpp_says_reaches_the_log_and_not_the_screen(
    library: Library, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    mark = library.log.mark()
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF")
    params = library.api.llama_model_default_params()
    assert not library.api.llama_model_load_from_file(str(path).encode(), params)
    assert library.log.errors(mark)
    assert capfd.readouterr() == ("", "")


@pytest.fixture(scope="module")
def model(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    path = tmp_path_factory.mktemp("bigram") / "bigram.gguf"
    model = Model(library, write_bigram(path, random_table(0, "abcdefgh")))
    yield model
    model.close()


def tokens_in_cache(context: Context) -> int:
    """What llama.cpp itself says."""
    api = context.model.library.api
    return int(api.llama_memory_seq_pos_max(api.llama_get_memory(context.handle), 0)) + 1


def test_the_abort_flag_is_what_libc_counts(library: Library) -> None:
    """The callback is `strlen` over the flag's buffer: true once it is set."""
    flag = AbortFlag(library)

    def seen() -> tuple[bool, bool]:
        return flag.is_set, bool(flag.callback(ctypes.c_void_p(flag.address)))

    assert seen() == (False, False)
    flag.set()
    assert seen() == (True, True)
    flag.clear()
    assert seen() == (False, False)


def test_a_flag_that_is_set_ends_decodes_until_it_is_cleared(
    library: Library, model: Model
) -> None:
    flag = AbortFlag(library)
    context = Context(model, n_ctx=512, n_outputs=1, abort=flag)
    context.decode(PROMPT[:10], Outputs.LAST)
    flag.set()
    for _ in range(2):
        with pytest.raises(Aborted):
            context.decode(PROMPT[10:20], Outputs.LAST)
        assert context.tokens == PROMPT[:10]
        assert tokens_in_cache(context) == 10
    flag.clear()
    context.decode(PROMPT[10:20], Outputs.LAST)
    assert context.tokens == PROMPT[:20]
    context.close()


def test_a_decode_that_is_ended_inside_keeps_whole_micro_batches(
    library: Library, model: Model
) -> None:
    flag = AbortInside(library)
    context = Context(model, n_ctx=512, n_outputs=1, abort=flag)
    context.decode(PROMPT, Outputs.LAST)
    expected, asks = context.rows(1).copy(), flag.asked
    kept = set()
    for place in range(1, asks + 1, 3):
        context.rollback(0)
        flag.at(place)
        with pytest.raises(Aborted):
            context.decode(PROMPT, Outputs.LAST)
        assert len(context.tokens) % CPU_BATCH[1] == 0
        assert context.tokens == PROMPT[: len(context.tokens)]
        assert tokens_in_cache(context) == len(context.tokens)
        kept.add(len(context.tokens))
        context.decode(PROMPT[len(context.tokens) :], Outputs.LAST)
        np.testing.assert_array_equal(context.rows(1), expected)
    assert kept == set(range(0, len(PROMPT), CPU_BATCH[1]))
    context.close()
