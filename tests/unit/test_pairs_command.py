"""`specchat pairs`: the table, the JSON with its schema, what-if machines, and bad input."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import jsonschema
import msgspec
import pytest

import pairs_table
from specchat.commands.pairs import table
from specchat.errors import InvalidSetting
from specchat.pairing.catalog import Backend, Catalog, read_catalog
from specchat.pairing.machine import Machine
from specchat.pairing.measured import Measured
from specchat.pairing.planned import PairsReport, pairs_schema
from specchat.pairing.planner import IMPATIENCE, READING_SPEED, SPREAD, UNSURE, rank_pairs
from specchat.pairing.sizes import GIB
from specchat.pairing.speed import REACHED
from specchat.pairing.what_if import described_machine
from support.command_line import specchat
from unit.machines import CARD_8, CARD_24, NOWHERE, what_if

DOCS = Path(__file__).parents[2] / "docs"
SCHEMA = DOCS / "pairs.schema.json"
UPDATE = (
    'python -c "from specchat.pairing.planned import pairs_schema; print(pairs_schema().decode())"'
    " > docs/pairs.schema.json"
)
WHAT_IF = ("pairs", "--device", "cuda", "--vram", "8GiB", "--ram", "32GiB")


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return read_catalog()


def lines(
    catalog: Catalog, machine: Machine, *, show_all: bool = False, width: int = 80
) -> list[str]:
    ranked = rank_pairs(catalog, machine)
    return list(table(machine, ranked, show_all=show_all, described=True, width=width))


def test_the_page_of_fourteen_machines_is_what_the_planner_says() -> None:
    update = "python scripts/pairs_table.py"

    assert len(pairs_table.MACHINES) == 14
    assert (DOCS / "pairs.md").read_text() == pairs_table.page(), f"To update it: {update}"


def test_the_page_tells_the_numbers_of_the_code() -> None:
    page = " ".join((DOCS / "pairs.md").read_text().split())
    reading = f"{READING_SPEED:.0f}"

    assert f"under {reading} tok/s times (speed / {reading})^{IMPATIENCE}" in page
    assert f"| {SPREAD} where layers beside a card" in page
    assert f"counts {UNSURE}" in page
    assert f"(0.7; mixtures {REACHED['gpu', True]} on cards" in page


def test_the_published_schema_is_the_one_of_the_report() -> None:
    assert SCHEMA.read_text() == pairs_schema().decode() + "\n", f"To update it: {UPDATE}"


def test_the_json_is_valid_by_the_schema_and_comes_back_the_same() -> None:
    done = specchat(*WHAT_IF, "--json", "--all")

    schema = json.loads(pairs_schema())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(done.stdout), schema)
    report = msgspec.json.decode(done.stdout, type=PairsReport)
    assert {pair.name for pair in report.pairs} == set(read_catalog().pairs)
    assert report.machine.devices[0].name == "CUDA0"
    assert all(pair.plan.shares and pair.why for pair in report.pairs)


def test_the_json_lists_what_fits_and_all_only_if_asked() -> None:
    report = msgspec.json.decode(specchat(*WHAT_IF, "--json").stdout, type=PairsReport)

    assert report.pairs
    assert all(pair.fits for pair in report.pairs)
    assert len(report.pairs) < len(read_catalog().pairs)


@pytest.mark.parametrize("width", [80, 100, 140])
@pytest.mark.parametrize("show_all", [False, True])
def test_no_line_is_wider_than_the_terminal(catalog: Catalog, width: int, show_all: bool) -> None:
    for machine in (CARD_8, CARD_24, what_if("metal", "16GiB"), what_if("cpu", "4GiB")):
        for line in lines(catalog, machine, show_all=show_all, width=width):
            assert len(line) <= width, line


def test_a_pair_is_shown_with_its_figures_its_memory_and_its_reason(catalog: Catalog) -> None:
    shown = lines(catalog, what_if("cuda", "32GiB", ["12GiB"]))

    start = next(index for index, line in enumerate(shown) if line.startswith("gemma-4-12b"))
    entry = shown[start : shown.index("", start)]
    assert entry[0].split() == [
        "gemma-4-12b", "Gemma", "4", "12B", "UD-Q4_K_XL", "MTP", "7.0", "GB", "10k", "45-75",
    ]  # fmt: skip
    assert entry[1].strip().startswith("CUDA0")
    assert "█" in entry[1]
    assert entry[1].endswith("of 11.5 GiB")
    words = " ".join(line.strip() for line in entry[2:])
    assert (
        "Apache-2.0 · speed: plain 38 estimated from bandwidth, times what others report" in words
    )
    assert "draft: MTP head Q4_0" in words
    assert "3.0 times as fast as the first; its answers are simpler." in words
    assert "The context is shortened from 65,536" in words


def test_a_draft_model_is_named_and_its_speed_has_a_source(catalog: Catalog) -> None:
    text = "\n".join(lines(catalog, CARD_24, show_all=True))

    assert "draft: Llama 3.2 1B Q4_K_M" in text
    assert "times what others report" in text


def test_what_was_measured_here_is_said_to_be(catalog: Catalog) -> None:
    measured = Measured(pair="llama-3.1-8b", plain=50.0, drafter="model", speed_up=1.25)
    ranked = rank_pairs(catalog, CARD_24, measured=[measured])

    text = "\n".join(table(CARD_24, ranked, show_all=True, described=True, width=80))

    assert "speed measured here" in text
    assert "plain 50 measured here" not in text


def test_the_short_table_has_one_pair_a_model_and_says_what_it_leaves_out(
    catalog: Catalog,
) -> None:
    shown = lines(catalog, CARD_24)

    names = [line.split()[0] for line in shown if line and line.split()[0] in catalog.pairs]
    models = [catalog.pairs[name].target.model for name in names]
    assert len(names) == 5
    assert len(set(models)) == 5
    left_out = " ".join(shown[shown.index("", 3) :])
    assert "--all" in left_out
    assert "specchat pull" in left_out


def test_all_pairs_are_shown_with_what_is_missing(catalog: Catalog) -> None:
    shown = lines(catalog, what_if("cpu", "16GiB"), show_all=True)

    names = [line.split()[0] for line in shown if line and line.split()[0] in catalog.pairs]
    assert sorted(names) == sorted(catalog.pairs)
    assert any("It does not fit: main memory lacks" in line for line in shown)
    assert shown[-1] == "Get one with: specchat pull PAIR"


def test_where_nothing_fits_that_is_said(catalog: Catalog) -> None:
    assert lines(catalog, what_if("cpu", "64MiB"))[-1] == (
        "No pair of the catalog fits. With --all you see what each of them lacks."
    )


def test_the_whole_command_takes_less_than_a_second_of_work_and_needs_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "from specchat.cli import cli\n"
        "try:\n"
        f"    cli.main({list(WHAT_IF)!r}, standalone_mode=False)\n"
        "except SystemExit:\n"
        "    pass\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(loaded & {'numpy', 'textual', 'llama_cpp', 'asyncio', 'gguf'}))"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)

    assert done.stdout.splitlines()[-1] == "[]"
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1.0


def test_this_machine_is_asked_what_it_can_compute_on() -> None:
    done = specchat("pairs", "--json")

    report = msgspec.json.decode(done.stdout, type=PairsReport)
    assert report.machine.devices[-1].kind == "cpu"
    assert report.machine.ram_bytes > 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--vram", "lots"), "not a number with a unit"),
        (("--ram", "8"), "Write --ram 8GiB"),
        (("--device", "cpu", "--vram", "8GiB"), "give --ram"),
        (("--device", "metal", "--vram", "8GiB"), "give --ram"),
        (("--device", "cuda"), "Say how much with --vram 8GiB"),
        (("--device", "abacus"), "abacus"),
    ],
)
def test_a_machine_that_cannot_be_is_a_sentence_and_exit_code_2(
    arguments: tuple[str, ...], words: str
) -> None:
    done = specchat("pairs", *arguments)

    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_mistake_in_a_persons_own_catalog_is_a_sentence_with_a_way_to_find_it(
    specchat_home: Path,
) -> None:
    folder = specchat_home / "config" / "catalog"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text('family = "Mine"\n[[pair]]\n')

    done = specchat(*WHAT_IF)

    assert done.returncode == 2
    assert "specchat catalog check" in done.stderr


@pytest.mark.parametrize(
    ("vram", "ram", "device", "names"),
    [
        (["8GiB"], "16GiB", None, ["CUDA0", "CPU"]),
        (["24GiB", "24GiB"], "64GiB", "cuda", ["CUDA0", "CUDA1", "CPU"]),
        (["16GiB"], "32GiB", "vulkan", ["Vulkan0", "CPU"]),
        ([], "16GiB", "cpu", ["CPU"]),
        ([], "24GiB", "metal", ["MTL0", "CPU"]),
    ],
)
def test_a_described_machine_has_the_devices_that_were_described(
    vram: list[str], ram: str, device: Backend | None, names: list[str]
) -> None:
    machine = described_machine(NOWHERE, vram, ram, device)

    assert [each.name for each in machine.devices] == names
    assert machine.unified_memory == (device == "metal")
    for each in machine.devices:
        assert 0 < each.free_bytes <= each.total_bytes


def test_a_mac_lets_its_gpu_have_a_part_of_its_memory() -> None:
    small, large = (described_machine(NOWHERE, [], ram, "metal") for ram in ("24GiB", "64GiB"))

    assert small.devices[0].total_bytes == 16 * GIB
    assert large.devices[0].total_bytes == 48 * GIB


def test_what_is_not_described_is_as_it_is_here() -> None:
    machine = described_machine(CARD_8, [], "64GiB", None)

    assert machine.devices[0] == CARD_8.devices[0]
    assert machine.ram_bytes == 64 * GIB
    other = described_machine(CARD_8, ["24GiB"], None, None)
    assert (other.ram_bytes, other.free_ram_bytes) == (CARD_8.ram_bytes, CARD_8.free_ram_bytes)


def test_a_card_that_is_larger_than_any_is_refused() -> None:
    with pytest.raises(InvalidSetting):
        described_machine(NOWHERE, ["99TiB"], "16GiB", "cuda")
