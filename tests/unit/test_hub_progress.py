"""What a person sees of a download."""

import io

from msgspec.structs import replace

from specchat.commands.download_line import DownloadLine, progress_line
from specchat.hub.listing import RemoteFile
from specchat.hub.progress import Meter, Progress
from specchat.hub.wording import size_text, time_text

FILE = RemoteFile(
    repo="maker/Model", commit="c" * 40, name="model-q4_k_m.gguf", size_bytes=4_000, checksum="1"
)
DRAFT = replace(FILE, name="draft.gguf", size_bytes=1_000)
HALF = Progress(
    file="models/Qwen2.5-Coder-7B-Instruct-Q4_K_M.gguf",
    number=1,
    files=2,
    stage="downloading",
    done_bytes=1_200_000_000,
    size_bytes=4_700_000_000,
    total_done_bytes=1_200_000_000,
    total_bytes=5_200_000_000,
    bytes_per_second=48_300_000.0,
)


class Followed:
    """Keeps what a listener is told."""

    def __init__(self) -> None:
        self.told: list[Progress] = []
        self.sentences: list[str] = []

    def progress(self, progress: Progress) -> None:
        self.told.append(progress)

    def notice(self, sentence: str) -> None:
        self.sentences.append(sentence)


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_totals_run_over_all_files() -> None:
    followed, clock = Followed(), Clock()
    meter = Meter([FILE, DRAFT], followed, clock)
    meter.begin(FILE)
    meter.complete()
    meter.begin(DRAFT)
    clock.now += 1
    meter.advance(250)

    last = followed.told[-1]
    assert (last.number, last.files, last.done_bytes) == (2, 2, 250)
    assert (last.total_done_bytes, last.total_bytes) == (4_250, 5_000)


def test_the_rate_is_that_of_the_last_ten_seconds() -> None:
    followed, clock = Followed(), Clock()
    meter = Meter([FILE], followed, clock)
    meter.begin(FILE)
    for _ in range(20):
        clock.now += 1
        meter.advance(10)
    for _ in range(10):
        clock.now += 1
        meter.advance(100)

    last = followed.told[-1]
    assert last.bytes_per_second == 100
    assert last.seconds_left == (4_000 - 1_200) / 100


def test_bytes_kept_from_before_are_progress_but_no_speed() -> None:
    followed, clock = Followed(), Clock()
    meter = Meter([FILE], followed, clock)
    meter.begin(FILE)
    meter.restart("checking")
    meter.advance(3_000)
    meter.goes_on()
    clock.now += 1
    meter.advance(100)

    last = followed.told[-1]
    assert (last.stage, last.done_bytes, last.bytes_per_second) == ("downloading", 3_100, 100)


def test_a_listener_hears_ten_times_a_second_at_most() -> None:
    followed, clock = Followed(), Clock()
    meter = Meter([FILE], followed, clock)
    meter.begin(FILE)
    for _ in range(1_000):
        clock.now += 0.001
        meter.advance(1)

    assert 9 <= len(followed.told) <= 12


def test_a_standstill_has_no_time_left() -> None:
    assert replace(HALF, bytes_per_second=0.0).seconds_left is None


def test_the_line_has_file_total_rate_and_time_left_and_fits_a_terminal() -> None:
    line = progress_line(HALF)
    slow = replace(HALF, total_done_bytes=0, bytes_per_second=1_444_700.0)

    assert line == ("1/2 Qwen2.5-C…ct-Q4_K_M 1.2 of 4.7 GB, total 23 %, 48.3 MB/s, 1 min 23 s left")
    assert progress_line(slow).endswith("total 0 %, 1.4 MB/s, 59 min 59 s left")
    assert len(progress_line(slow)) <= 79


def test_the_line_of_one_file_shows_its_own_share() -> None:
    line = progress_line(replace(HALF, files=1, file="a.gguf", total_bytes=4_700_000_000))

    assert line == "a 1.2 of 4.7 GB, 25 %, 48.3 MB/s, 1 min 12 s left"


def test_what_is_kept_is_said_to_be_checked() -> None:
    assert "checking its bytes" in progress_line(replace(HALF, stage="checking", files=1))


def test_outside_a_terminal_there_is_a_line_every_ten_per_cent() -> None:
    out = io.StringIO()
    line = DownloadLine(out)
    for done in range(0, 1001):
        line.progress(replace(HALF, files=1, done_bytes=done, size_bytes=1000, total_bytes=1000))

    assert len(out.getvalue().splitlines()) == 11


def test_sizes_and_times_read_as_people_write_them() -> None:
    sizes = [0, 999, 1_000, 98_362_432, 4_683_074_048, 999_600_000, 42_520_000_000, 3.1e12]
    assert [size_text(size) for size in sizes] == [
        "0 B",
        "999 B",
        "1 kB",
        "98.4 MB",
        "4.7 GB",
        "1.0 GB",
        "42.5 GB",
        "3.1 TB",
    ]
    assert [time_text(s) for s in (0.4, 59.4, 60, 83, 3600, 7_500)] == [
        "0 s",
        "59 s",
        "1 min",
        "1 min 23 s",
        "1 h 0 min",
        "2 h 5 min",
    ]
