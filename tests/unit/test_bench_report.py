"""What is shown and kept of a run: the terminal, JSON with its schema, CSV, HTML."""

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import jsonschema
import msgspec
import pytest
from msgspec.structs import replace

from specchat.bench.export import CSV_COLUMNS, as_csv, as_json, require_writable, write_file
from specchat.bench.figures import rows
from specchat.bench.over_time import deciding_variants
from specchat.bench.record import Record, record_schema
from specchat.bench.report_html import report_html
from specchat.bench.report_text import WIDTH, bar, report
from specchat.engine.drafter_names import DrafterName
from specchat.errors import InvalidSetting
from specchat.speculation.settings import SamplingSettings
from support.bench_record import ANSWERS, QUIET, RECORD, SETS, VARIANTS

SCHEMA = Path(__file__).parents[2] / "docs" / "bench.schema.json"
UPDATE = (
    'python -c "from specchat.bench.record import record_schema; print(record_schema().decode())"'
    " > docs/bench.schema.json"
)
BUSY = replace(RECORD, quietness=replace(QUIET, busy=("Somebody compiled a browser.",)))
SAMPLED = replace(
    RECORD,
    sampling=SamplingSettings(temperature=0.8),
    draft=None,
    server=None,
    differences=(),
    warnings=(),
    rows=rows(VARIANTS, SETS, ANSWERS, None),
    quietness=replace(QUIET, drift=None, load_average=None, others_during=None),
)
NOTHING = replace(
    SAMPLED,
    variants=RECORD.variants[:1],
    answers=(),
    rows=rows(("plain",), SETS, (), None),
)
ALL = pytest.mark.parametrize(
    "record", [RECORD, BUSY, SAMPLED, NOTHING], ids=["full", "busy", "sampled", "nothing"]
)


@ALL
def test_the_report_fits_eighty_columns(record: Record) -> None:
    shown = report(record, colour=False)

    assert [line for line in shown.splitlines() if len(line) > WIDTH] == []
    assert "\x1b" not in shown


@pytest.mark.parametrize(
    ("drafter", "in_a_file", "alone"),
    [
        ("chain", "small.gguf", None),
        ("ngram+mtp", "small.gguf (MTP head)", "its MTP head"),
        ("ngram+eagle3", "small.gguf (EAGLE-3 head)", None),
        ("ngram+dflash", "small.gguf (DFlash head)", None),
        ("ngram+dspark", "small.gguf (DSpark head)", None),
        ("ngram", "small.gguf", ""),
    ],
)
def test_the_head_of_a_report_says_what_drafts(
    drafter: DrafterName, in_a_file: str, alone: str | None
) -> None:
    record = replace(RECORD, drafter=drafter)
    first = report(record, colour=False).splitlines()[0]

    assert first == f"a&b.gguf  <-  {in_a_file}"
    assert f"<h1>a&amp;b.gguf &larr; {in_a_file}</h1>" in report_html(record)
    if alone is not None:
        first = report(replace(record, draft=None), colour=False).splitlines()[0]
        assert first == f"a&b.gguf  <-  {alone}".removesuffix("  <-  ")


def test_the_report_has_every_variant_and_set() -> None:
    shown = report(RECORD, colour=False)

    for name in (*VARIANTS, *SETS):
        assert name in shown
    assert re.search(
        r"^model:3 +21\.5 +21\.5-21\.5 +2\.15x +168 +112 +67% +2\.33 +[0-9]+%$", shown, re.M
    )
    assert re.search(r"^llama-server:3 +18\.0 +18\.0-18\.0 +1\.80x +168 +112$", shown, re.M)
    assert "1 of 28 texts differ from the plain one:" in shown
    assert "model:3, code 1, from token 17" in shown
    assert "The machine was quiet; plain decoding drifted by +2.0%." in shown


def test_of_a_target_that_keeps_a_state_the_report_tells_what_stepping_back_takes() -> None:
    shown = report(replace(RECORD, stepping_back="checkpoints"), colour=False)

    assert "stepping back by checkpoints, of the time\n" in shown
    assert re.search(r"^ +[0-9.]+% model:3$", shown, re.M)
    assert not re.search(r"% (plain|llama-server:3)$", shown, re.M)
    assert "stepping back" not in report(RECORD, colour=False)


def test_the_report_of_a_busy_machine_says_so() -> None:
    assert report(BUSY, colour=False).endswith(
        "The machine was busy.\nSomebody compiled a browser."
    )


def test_colour_marks_faster_and_slower() -> None:
    shown = report(RECORD, colour=True)

    assert "\x1b[32m    2.15x\x1b[0m" in shown
    assert "\x1b[31m    0.90x\x1b[0m" in shown
    assert re.sub(r"\x1b\[\d+m", "", shown) == report(RECORD, colour=False)


@pytest.mark.parametrize(
    ("value", "drawn"), [(0, ""), (1, "█" * 8), (0.5, "█" * 4), (0.3, "██▍"), (2, "█" * 8)]
)
def test_a_bar_is_as_long_as_its_value(value: float, drawn: str) -> None:
    assert bar(value, 1, 8) == drawn
    assert bar(value, 0, 8) == ""


def test_the_published_schema_is_the_one_of_the_record() -> None:
    assert SCHEMA.read_text() == record_schema().decode() + "\n", f"To update it: {UPDATE}"


@ALL
def test_the_json_is_valid_by_the_schema_and_comes_back_the_same(record: Record) -> None:
    schema = json.loads(record_schema())
    written = as_json(record)

    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(written), schema)
    assert msgspec.json.decode(written, type=Record) == record


def test_the_csv_has_a_line_for_every_answer() -> None:
    lines = list(csv.DictReader(io.StringIO(as_csv(RECORD))))

    assert len(lines) == len(ANSWERS)
    assert tuple(lines[0]) == CSV_COLUMNS
    assert lines[2]["variant"] == "model:3"
    assert float(lines[2]["tokens_per_second"]) == 21.5
    assert lines[4]["tested"] == ""


class Page(HTMLParser):
    """Checks that every element is closed, and collects what could load something."""

    EMPTY = ("meta", "br")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@ALL
def test_the_page_is_whole_and_loads_nothing(record: Record) -> None:
    written = report_html(record)
    page = Page(written)

    assert page.open == []
    assert not page.tags & {"script", "link", "img", "iframe", "object", "embed", "base", "image"}
    names = {name for name, _ in page.attributes}
    assert not names & {"src", "href", "xlink:href", "srcset", "action"}
    assert not any(name.startswith("on") for name in names)
    assert not re.search(r"https?:|url\(|@import|@font-face", written)


def test_the_page_has_its_charts_and_tables() -> None:
    page = report_html(RECORD)

    titles = re.findall(r'aria-label="([^"]+)"', page)
    assert titles.count("Acceptance by position in the draft") == 1
    for start in ("Speed-up over plain decoding: ", "Tokens drafted a round: "):
        assert [title for title in titles if title.startswith(start)][-7:] == [
            f"{start}{name.title()}" for name in SETS
        ]
    assert "Speed-up over plain decoding: All sets" in titles
    assert "prefers-color-scheme: dark" in page
    assert "a&amp;b.gguf" in page
    assert "&lt;script&gt;alert(1)" in page
    assert "not drafting: it would cost more than it saves" in page


def test_the_page_of_a_busy_machine_says_so() -> None:
    assert "do not rely on these figures" in report_html(BUSY)
    assert "do not rely on these figures" not in report_html(RECORD)


def test_only_lengths_that_can_change_are_drawn_over_time() -> None:
    assert set(deciding_variants(RECORD)) == {"ngram:3", "auto"}


def test_a_file_that_cannot_be_written_is_refused_before_the_run(tmp_path: Path) -> None:
    require_writable({"--json": tmp_path / "new.json", "--csv": None})
    with pytest.raises(InvalidSetting, match="That is a folder"):
        require_writable({"--json": tmp_path})
    with pytest.raises(InvalidSetting, match="folder does not exist"):
        require_writable({"--html": tmp_path / "missing" / "page.html"})
    with pytest.raises(InvalidSetting, match="The system refused"):
        write_file(tmp_path, "text")
