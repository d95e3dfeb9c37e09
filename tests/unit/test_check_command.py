"""What `specchat check` prints, and the code it leaves with."""

import json
from pathlib import Path

import jsonschema
import pytest

from specchat.commands.check import check, report_schema, size_text
from specchat.errors import ModelNotFound
from support.header_files import layers, texts, write_header_file

SCHEMA = Path(__file__).parents[2] / "docs" / "check.schema.json"
UPDATE = (
    'python -c "from specchat.commands.check import report_schema; print(report_schema().decode())"'
    " > docs/check.schema.json"
)
N_VOCAB = 300


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A target, a draft that fits, one that does not, and a head, in the current folder."""
    monkeypatch.chdir(tmp_path)
    for name, width, architecture, tokens in (
        ("target.gguf", 2048, "qwen3", texts(N_VOCAB)),
        ("draft.gguf", 512, "qwen3", texts(N_VOCAB)),
        ("other.gguf", 512, "qwen3", texts(N_VOCAB, (139, "<other>"), (200, "<more>"))),
        ("head.gguf", 512, "eagle3", texts(N_VOCAB)),
    ):
        write_header_file(
            tmp_path / name,
            architecture,
            tokens=tokens,
            shapes=layers(2, width, N_VOCAB),
            own={"block_count": 2, "embedding_length": width},
        )
    return tmp_path


def test_a_pair_that_fits(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check("target.gguf", "draft.gguf", as_json=False) == 0
    assert (
        capsys.readouterr().out
        == """\
draft.gguf can draft for target.gguf.
Start the chat with --target and --draft.

  target          target.gguf, 85.1 MB, qwen3, plain KV cache
  draft           draft.gguf, 5.56 MB, qwen3, plain KV cache

  drafter         A draft model.
  vocabulary      Both have 300 tokens (byte-level BPE), with the same texts.
  begin and end   Both add nothing.
  special tokens  The same.
  chat template   The same.
  context         The target was trained for 32,768 tokens, the draft for
                  32,768.
  size            The draft has 7% of the target's bytes.
  memory          Both have a plain KV cache: guesses can be undone.
  llama.cpp       Its own rule takes these vocabularies.
"""
    )


def test_a_pair_that_does_not_fit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check("target.gguf", "other.gguf", as_json=False) == 1
    printed = capsys.readouterr().out
    assert printed.startswith(
        """\
other.gguf cannot draft for target.gguf. Token 139 is 't139' for the target and
'<other>' for the draft. 2 tokens differ.
Choose a draft of the same family, or leave it out: n-grams of the conversation
draft for any model.
"""
    )
    assert "\nx vocabulary      Token 139 is 't139' for the target" in printed
    assert "\n! llama.cpp       Its own rule refuses them. Token 139" in printed


def test_files_that_make_no_pair_are_only_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check("target.gguf", "head.gguf", as_json=False) == 1
    assert (
        capsys.readouterr().out
        == """\
head.gguf, an EAGLE-3 draft, cannot draft for target.gguf. It reads 0 layers of
its target, where EAGLE-3 reads 3.
Choose a head that was made for this model, or leave it out: n-grams of the
conversation draft for any model.

  target          target.gguf, 85.1 MB, qwen3, plain KV cache
  draft           head.gguf, 5.56 MB, eagle3, an EAGLE-3 draft
"""
    )


def test_a_target_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check("target.gguf", None, as_json=False) == 0
    assert (
        capsys.readouterr().out
        == """\
target.gguf can answer. It brings no drafter of its own; n-grams of the
conversation draft for it.
Name a small model of the same family as DRAFT to see whether it fits.

  target          target.gguf, 85.1 MB, qwen3, plain KV cache

  drafter         It brings no drafter of its own.
  memory          Plain KV cache: guesses can be undone.
  context         It was trained for 32,768 tokens.
  chat template   It has one.
"""
    )


@pytest.mark.parametrize("draft", ["draft.gguf", "other.gguf", "head.gguf", None])
def test_the_json_is_valid_by_its_schema(
    folder: Path, capsys: pytest.CaptureFixture[str], draft: str | None
) -> None:
    code = check("target.gguf", draft, as_json=True)

    schema = json.loads(report_schema())
    jsonschema.Draft202012Validator.check_schema(schema)
    printed = json.loads(capsys.readouterr().out)
    jsonschema.validate(printed, schema)
    assert printed["verdict"]["usable"] == (code == 0)
    assert (printed["draft"] is None) == (draft is None)
    assert printed["target"] == {
        "path": "target.gguf",
        "size_bytes": (folder / "target.gguf").stat().st_size,
        "architecture": "qwen3",
        "n_tokens": N_VOCAB,
        "n_ctx_train": 32768,
        "memory": "plain",
        "drafter": "model",
    }
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(printed | {"verdict": {"usable": True}}, schema)


def test_the_published_schema_is_the_one_of_the_report() -> None:
    assert SCHEMA.read_text() == report_schema().decode() + "\n", f"To update it: {UPDATE}"


def test_a_missing_draft_is_an_error_and_no_verdict(folder: Path) -> None:
    with pytest.raises(ModelNotFound, match="There is no such file"):
        check("target.gguf", "missing.gguf", as_json=False)


def test_lines_fit_a_terminal_of_80_columns(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for draft in ("draft.gguf", "other.gguf", "head.gguf", None):
        check("target.gguf", draft, as_json=False)

    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("n_bytes", "shown"),
    [
        (17, "17 bytes"),
        (1700, "1.7 kB"),
        (98_362_432, "98.4 MB"),
        (4_688_986_336, "4.69 GB"),
        (70_000_000_000, "70 GB"),
        (999_999_999, "1 GB"),
        (123_456_000_000, "123 GB"),
    ],
)
def test_sizes_read_well(n_bytes: int, shown: str) -> None:
    assert size_text(n_bytes) == shown
