"""Paths that are completed behind an @."""

from pathlib import Path

import pytest

from specchat.tui.path_finder import PathFinder, mention, suggestions


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project."""
    for name in (
        "README.md",
        "src/main.py",
        "src/maths/sums.py",
        "docs/my notes.md",
        "docs/domain.md",
        ".git/config",
        ".env",
        "node_modules/left/main.js",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    return tmp_path


def found(folder: Path, part: str) -> list[str]:
    """What completes it."""
    finder = PathFinder(folder)
    assert not finder.knows(part)
    finder.look(part)
    assert finder.knows(part)
    return finder.matches(part)


@pytest.mark.parametrize(
    ("typed", "part"),
    [
        ("@", ""),
        ("look at @src/ma", "src/ma"),
        ("(@a", "a"),
        ('see @"my no', "my no"),
        ('see @"', ""),
        ("@~/x", "~/x"),
        ("你好 @文", "文"),
    ],
)
def test_a_mention_begins_with_an_at_sign(typed: str, part: str) -> None:
    assert mention(typed) == part


@pytest.mark.parametrize(
    "typed", ["", "me@example.org", "@done ", 'a "@b" c', '@"my file" ', "@@a"]
)
def test_other_at_signs_begin_none(typed: str) -> None:
    assert mention(typed) is None


def test_names_that_begin_as_typed_come_first(folder: Path) -> None:
    assert found(folder, "ma") == [
        "src/main.py",
        "src/maths/",
        "docs/domain.md",
        "src/maths/sums.py",
    ]


def test_upper_and_lower_case_are_the_same(folder: Path) -> None:
    assert found(folder, "readme") == ["README.md"]


def test_folders_are_gone_into_from_their_slash_on(folder: Path) -> None:
    assert found(folder, "src/") == ["src/main.py", "src/maths/"]
    assert found(folder, "src/maths/s") == ["src/maths/sums.py"]
    assert found(folder, f"{folder}/README") == [f"{folder}/README.md"]
    assert found(folder, "nowhere/") == []


def test_hidden_and_generated_files_come_only_when_they_are_asked_for(folder: Path) -> None:
    assert found(folder, "config") == []
    assert found(folder, "main.js") == []
    assert found(folder, ".") == [".env", ".git/"]
    assert found(folder, ".git/") == [".git/config"]
    assert found(folder, "node_modules/left/") == ["node_modules/left/main.js"]


def test_home_is_a_tilde(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(folder))

    assert found(Path("/"), "~/READ") == ["~/README.md"]


def test_links_are_no_way_round_in_a_circle(folder: Path) -> None:
    (folder / "src" / "up").symlink_to(folder)

    assert "src/up" in found(folder, "up")


def test_what_was_there_is_forgotten_on_demand(folder: Path) -> None:
    finder = PathFinder(folder)
    finder.look("")
    finder.look("src/")
    finder.forget()

    assert not finder.knows("")
    assert not finder.knows("src/")


def test_a_file_is_put_in_place_of_its_mention_and_attached(folder: Path) -> None:
    typed = "read @ma"
    file, subfolder, *_ = suggestions(typed, ["src/main.py", "src/maths/"])

    assert typed[: file.start] + file.text == "read @src/main.py "
    assert file.paths == ("src/main.py",)
    assert typed[: subfolder.start] + subfolder.text == "read @src/maths/"
    assert subfolder.paths == ()


def test_names_with_spaces_are_quoted() -> None:
    file, folder = suggestions('@"my', ["my notes.md", "my folder/"])

    assert file.text == '@"my notes.md" '
    assert mention(folder.text) == "my folder/"
