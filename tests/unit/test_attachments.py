"""Text files that go along with a message."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from specchat.tui.attachments import (
    MAX_BYTES,
    Attachment,
    NotAttached,
    fenced,
    message_of,
    name_of,
    pasted_paths,
    read_attachment,
    tokens_text,
)

BACKTICKS = st.text(alphabet="`~ab \n", max_size=40)
TEXTS = st.one_of(
    BACKTICKS, st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=80)
)


def refusal(path: Path | str, here: Path | None = None) -> NotAttached:
    """Why a file is not attached."""
    with pytest.raises(NotAttached) as caught:
        read_attachment(str(path), here)
    return caught.value


def test_a_text_file_is_read_and_measured(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("Grüße\n" * 1000)
    attachment = read_attachment("notes.md", tmp_path)

    assert attachment.name == "notes.md"
    assert attachment.text == "Grüße\n" * 1000
    assert attachment.measure == "8 kB, about 2,000 tokens"


def test_line_ends_become_newlines_and_a_mark_of_the_encoding_goes(tmp_path: Path) -> None:
    (tmp_path / "dos.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree")
    (tmp_path / "wide.txt").write_bytes("héllo\n".encode("utf-16"))

    assert read_attachment("dos.txt", tmp_path).text == "one\ntwo\nthree"
    assert read_attachment("wide.txt", tmp_path).text == "héllo\n"


def test_a_coloured_log_is_text(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("\x1b[31merror\x1b[0m\n" * 50)

    assert read_attachment("log", tmp_path).text.startswith("\x1b[31m")


@pytest.mark.parametrize("content", [b"GGUF\0\3", b"\x01\x02\x03\x04" * 20, bytes(range(1, 32))])
def test_a_binary_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "model.gguf").write_bytes(content)

    assert refusal("model.gguf", tmp_path).happened == "It is a binary file."


def test_text_in_another_encoding_is_refused(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_bytes("Grüße".encode("latin-1"))

    assert "UTF-8" in refusal("old.txt", tmp_path).happened


def test_a_large_file_is_refused_with_its_size(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"a" * (2 * MAX_BYTES))
    (tmp_path / "largest").write_bytes(b"a" * MAX_BYTES)

    assert refusal("large", tmp_path).happened == "It has 2.0 MB; 1.0 MB is the most."
    assert read_attachment("largest", tmp_path).n_bytes == MAX_BYTES


def test_a_folder_a_pipe_and_nothing_are_refused(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")

    assert refusal("folder", tmp_path).happened == "It is a folder."
    assert refusal("pipe", tmp_path).happened == "It is no plain file."
    assert refusal("nothing", tmp_path).happened == "No such file or directory."
    assert refusal("a\0b", tmp_path).happened


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (tmp_path / "secret").chmod(0)

    assert refusal("secret", tmp_path).happened == "Permission denied."


def test_a_file_is_called_by_its_path_from_here_or_from_home(tmp_path: Path) -> None:
    here = tmp_path / "work"

    assert name_of(here / "src" / "a.py", here) == "src/a.py"
    assert name_of(Path.home() / "a.py", here) == "~/a.py"
    assert name_of(Path("/etc/hosts"), here) == "/etc/hosts"


def test_a_fence_has_the_language_of_the_suffix() -> None:
    assert fenced("src/a.py", "x = 1\n") == "src/a.py:\n\n```py\nx = 1\n```"
    assert fenced("Makefile", "all:") == "Makefile:\n\n```\nall:\n```"
    assert fenced("odd.a b", "") == "odd.a b:\n\n```\n```"


@given(TEXTS)
def test_no_text_gets_out_of_its_fence(text: str) -> None:
    blocks = MarkdownIt().parse(fenced("a.txt", text))

    assert [block.type for block in blocks if block.level == 0][-1] == "fence"
    (fence,) = [block for block in blocks if block.type == "fence"]
    expected = text if not text or text.endswith("\n") else f"{text}\n"
    assert fence.content == expected
    assert fence.info == "txt"


@given(st.text(max_size=30))
def test_no_name_breaks_out_of_its_line(name: str) -> None:
    block = fenced(name, "text")

    assert block.count("\n") == 4
    assert block.splitlines()[-3].startswith("```")
    assert block.splitlines()[-2:] == ["text", "```"]


def test_files_come_before_what_is_written_about_them() -> None:
    files = [Attachment(Path(name), name, "x\n", 2) for name in ("a", "b")]

    assert message_of("Compare.", files) == "a:\n\n```\nx\n```\n\nb:\n\n```\nx\n```\n\nCompare."
    assert message_of("", files[:1]) == "a:\n\n```\nx\n```"
    assert message_of("Hi", []) == "Hi"


def test_an_estimate_is_no_more_exact_than_it_is() -> None:
    assert [tokens_text(count) for count in (1, 42, 537, 3123, 250_000)] == [
        "about 1 token",
        "about 42 tokens",
        "about 540 tokens",
        "about 3,100 tokens",
        "about 250,000 tokens",
    ]


def test_dropped_files_are_known_however_the_terminal_writes_them(tmp_path: Path) -> None:
    plain, spaced = tmp_path / "a.txt", tmp_path / "my notes.txt"
    for path in (plain, spaced):
        path.write_text("x")
    address = spaced.as_uri()

    for text in (f"{plain}", f"{plain} ", f"'{plain}'\n", plain.as_uri()):
        assert pasted_paths(text) == (str(plain),)
    escaped = str(spaced).replace(" ", "\\ ")
    for text in (f"{spaced}", f"'{spaced}'", f'"{spaced}"', escaped, address):
        assert pasted_paths(text) == (str(spaced),)
    assert pasted_paths(f"{plain} '{spaced}'") == (str(plain), str(spaced))
    assert pasted_paths(f"{plain}\n{plain}") == (str(plain), str(plain))
    assert pasted_paths("./a.txt", tmp_path) == ("./a.txt",)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "a.txt",
        "/no/such/file",
        "see {path}",
        "{path} it's",
        "http://[x",
        "a\0/b",
        "~nobody/x",
    ],
)
def test_other_text_is_no_path(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.txt").write_text("x")

    assert pasted_paths(text.format(path=tmp_path / "a.txt"), tmp_path) == ()


def test_a_folder_is_no_file_and_a_long_text_is_not_looked_at(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")

    assert pasted_paths(str(tmp_path)) == ()
    assert pasted_paths(f"{tmp_path / 'a.txt'} " * 100) == ()
