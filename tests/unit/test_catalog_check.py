"""What `specchat catalog check` finds: each mistake with its line and a way out."""

from itertools import zip_longest
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.commands.catalog import check
from specchat.errors import InvalidSetting
from specchat.pairing.catalog import catalog_files, catalog_folder
from specchat.pairing.catalog_check import check_file, find_problems
from specchat.pairing.toml_lines import line_numbers

FAMILY = """\
family = "Tiny"

[[model]]
name = "tiny-7b"
title = "Tiny 7B"
licence = "MIT"
released = "2026-01"
params_b = 7.0
architecture = "llama"
n_layer = 32
n_head_kv = 8
head_dim = 128
n_vocab = 32_000
n_ctx_train = 8192
kv_bytes_per_1024 = 134_217_728
source = "https://example.org/config.json"
confidence = "verified"

[[model]]
name = "tiny-1b"
title = "Tiny 1B"
licence = "MIT"
params_b = 1.0
architecture = "llama"
source = "https://example.org/config.json"
confidence = "verified"

[[pair]]
name = "tiny"
n_ctx = 8192
confidence = "verified"

[pair.target]
model = "tiny-7b"
repo = "example/tiny-7b-GGUF"
file = "tiny-7b-Q4_K_M.gguf"
quant = "Q4_K_M"
size_gb = 4.3

[pair.draft]
type = "model"
length = 4
model = "tiny-1b"
repo = "example/tiny-1b-GGUF"
file = "tiny-1b-Q8_0.gguf"
quant = "Q8_0"
size_gb = 1.1

[[pair.evidence]]
says = "RTX 3060: 30 to 45 tok/s"
address = "https://example.org/report"
seen = 2026-11-29
backend = "cuda"
speed_up = [1.5, 1.5]
"""


def family(folder: Path, content: str, name: str = "tiny") -> Path:
    path = folder / f"{name}.toml"
    path.write_text(content)
    return path


def said(path: Path) -> list[str]:
    """The problems of a file, without its path."""
    return [
        str(problem).removeprefix(str(path)) for problem in find_problems([check_file(path)], [])
    ]


def line_of(content: str, text: str) -> int:
    """The line on which a text stands, counted from 1."""
    return content[: content.index(text)].count("\n") + 1


def test_our_own_catalog_has_no_problem() -> None:
    ours = [check_file(file) for file in catalog_files(catalog_folder())]

    assert len(ours) >= 8
    assert find_problems(ours, []) == []


def test_a_sound_family_has_no_problem(tmp_path: Path) -> None:
    assert said(family(tmp_path, FAMILY)) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('quant = "Q4_K_M"', 'qant = "Q4_K_M"', "There is no key qant here. Did you mean quant?"),
        ("n_layer = 32", "n_layr = 32", "There is no key n_layr here. Did you mean n_layer?"),
        ('says = "', 'sais = "', "There is no key sais here. Did you mean says?"),
        ('type = "model"', 'type = "guess"', "type: Invalid enum value 'guess'."),
        ("n_ctx = 8192\nconf", 'n_ctx = "8k"\nconf', "n_ctx: Expected `int`, got `str`."),
        ("length = 4", "length = 0", "length: Expected `int` >= 1."),
        ("seen = 2026-11-29", 'seen = "lately"', "seen: Invalid RFC3339 encoded date."),
        ('"tiny-7b"\nrepo', '"tiny-8b"\nrepo', "called tiny-8b. Did you mean tiny-7b?"),
        ("n_ctx = 8192\nconf", "n_ctx = 9000\nconf", "the 8,192 that tiny-7b was trained for."),
        ("size_gb = 4.3", "size_gb = 43.0", "is no size for tiny-7b in Q4_K_M: about 4.29."),
        ("size_gb = 1.1", "size_gb = 0.1", "is no size for tiny-1b in Q8_0: about 1.06."),
        ("speed_up = [1.5, 1.5]", "speed_up = [2.5, 1.5]", "The lowest ratio comes first."),
        ('address = "https', 'address = "see', "An address begins with https://."),
        ("134_217_728", "134_217_729", "more than all layers can keep, 134,217,728."),
        ("7.0\n", "7.0\nactive_b = 8.0\n", "8.0B of 7.0B parameters cannot be active."),
        ("7.0\n", "7.0\nmixture = true\n", "the parameters that are read for a token."),
    ],
)
def test_a_mistake_is_named_with_its_line(
    tmp_path: Path, old: str, new: str, expected: str
) -> None:
    assert FAMILY.count(old) == 1
    content = FAMILY.replace(old, new)
    changed = {
        number
        for number, (now, before) in enumerate(
            zip_longest(content.splitlines(), FAMILY.splitlines()), start=1
        )
        if now != before
    }

    (problem,) = said(family(tmp_path, content))

    line, says = problem.removeprefix(":").split(": ", 1)
    assert says.endswith(expected)
    assert says.startswith(("pair tiny: ", "model tiny-7b: "))
    assert int(line) == min(changed)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('repo = "example/tiny-7b-GGUF"\n', "", "in a repo or in a package: name one of the two."),
        ('file = "tiny-1b-Q8_0.gguf"\n', "", "A draft model needs model, repo, file and quant."),
        ('type = "model"', 'type = "ngram"', "N-grams need no model and no file."),
        ('type = "model"', 'type = "mtp"', "A head has no model of its own; leave model out."),
        ('released = "2026-01"\n', "", "needs to say when it was released to be a target."),
        ('[pair.target]\nmodel = "tiny-7b"\n', "[pair.target]\n", "The key model is missing."),
        ('family = "Tiny"', 'family = "Tiny"\ncolour = "red"', "There is no key colour here."),
        ("[[pair]]", "[pair]", "Write [[pair]], in two brackets."),
        ('says = "', "says = ", "This is no TOML: Invalid value."),
        ('title = "Tiny 7B"', 'title = "Tiny 7B', "This is no TOML: Illegal character '\\n'."),
    ],
)
def test_parts_that_do_not_go_together_are_named(
    tmp_path: Path, old: str, new: str, expected: str
) -> None:
    problems = said(family(tmp_path, FAMILY.replace(old, new)))

    assert any(problem.endswith(expected) for problem in problems), problems


def test_the_length_of_a_block_head_has_a_limit(tmp_path: Path) -> None:
    head = 'type = "dspark"\nlength = 8\nrepo = "example/heads"\nfile = "dspark-tiny.gguf"\n\n'
    before, _, after = FAMILY.partition('type = "model"')

    (problem,) = said(family(tmp_path, before + head + after[after.index("[[pair.evidence") :]))

    assert problem.endswith("pair tiny: Such a head guesses at most 7 tokens.")


def test_every_unsound_table_is_named_and_nothing_that_only_follows_from_it(tmp_path: Path) -> None:
    content = FAMILY.replace("n_layer = 32", "n_layer = 0").replace("length = 4", "length = 99")

    problems = said(family(tmp_path, content))

    assert [problem.partition(": ")[2] for problem in problems] == [
        "model tiny-7b: n_layer: Expected `int` >= 1.",
        "pair tiny: length: Expected `int` <= 64.",
    ]


def test_a_name_that_is_there_twice_is_named_with_the_first_place(tmp_path: Path) -> None:
    first = family(tmp_path, FAMILY)
    pair = FAMILY[FAMILY.index("[[pair]]") :]
    second = family(tmp_path, f'family = "More"\n\n{pair}', "zz")

    problems = find_problems([check_file(first), check_file(second)], [])

    there = line_of(FAMILY, 'name = "tiny"\n')
    assert [str(problem) for problem in problems] == [
        f"{second}:4: pair tiny is there: {first}:{there}."
    ]


def test_a_persons_file_may_refer_to_our_models_and_take_over_our_names(tmp_path: Path) -> None:
    ours = check_file(family(tmp_path, FAMILY))
    pair = FAMILY[FAMILY.index("[[pair]]") :]
    own = check_file(family(tmp_path, f'family = "Mine"\n\n{pair}', "mine"))

    assert find_problems([own], [ours]) == []
    assert len(find_problems([own], [])) == 2, "without ours both models are nowhere"


def test_bytes_that_are_no_text_are_named_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "old.toml"
    path.write_bytes(b'family = "Tiny"\n# caf\xe9\n')

    assert said(path) == [":2: This is no UTF-8."]


@given(st.text(max_size=300))
def test_whatever_a_file_holds_it_is_read_or_its_mistakes_are_named(text: str) -> None:
    line_numbers(text)


@given(st.dictionaries(st.sampled_from(FAMILY.split()), st.text(max_size=5), max_size=4))
def test_a_family_with_words_replaced_is_read_or_its_mistakes_are_named(
    tmp_path_factory: pytest.TempPathFactory, replaced: dict[str, str]
) -> None:
    content = FAMILY
    for old, new in replaced.items():
        content = content.replace(old, new)
    path = tmp_path_factory.mktemp("catalog") / "tiny.toml"
    path.write_text(content, encoding="utf-8", errors="replace")

    for problem in find_problems([check_file(path)], []):
        assert problem.says.endswith((".", "?"))


def test_the_command_prints_what_is_wrong_and_says_how_much_it_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = family(tmp_path, FAMILY.replace("length = 4", "length = 99"))

    assert check((str(path),)) == 1

    first, last = capsys.readouterr().out.splitlines()
    line = line_of(FAMILY, "length = 4")
    assert first == f"{path}:{line}: pair tiny: length: Expected `int` <= 64."
    assert last == "1 file, 2 models, no pairs: 1 problem."


def test_without_files_the_command_checks_ours_and_the_persons_own(
    specchat_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(()) == 0
    files = len(catalog_files(catalog_folder()))
    assert capsys.readouterr().out.startswith(f"{files} files, ")

    own = specchat_home / "config" / "catalog"
    own.mkdir(parents=True)
    pair = FAMILY[FAMILY.index("[[pair]]") :].replace("tiny-7b", "qwen3-8b", 1)
    family(own, f'family = "Mine"\n\n{pair}')

    assert check(()) == 1
    out = capsys.readouterr().out
    assert "No [[model]] is called tiny-1b." in out
    assert f"{files + 1} files, " in out


@pytest.mark.parametrize("name", ["missing.toml", "."])
def test_a_file_that_cannot_be_read_is_a_sentence(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidSetting) as refusal:
        check((str(tmp_path / name),))

    assert refusal.value.exit_code == 2
    assert "none to check all of the catalog" in refusal.value.next_step
