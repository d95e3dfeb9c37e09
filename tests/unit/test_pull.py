"""`specchat pull` as a person runs it, against a server that speaks the Hub's endpoints."""

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import httpx2
import pytest
from huggingface_hub import hf_hub_download, scan_cache_dir, try_to_load_from_cache
from hypothesis import given
from hypothesis import strategies as some

from specchat.hub.library import asked_wait_s
from specchat.pairing.catalog import CatalogPair, read_catalog
from support.command_line import SPECCHAT, next_piece, terminal, wait_until_asleep
from support.engine_process import wait_until
from support.hub_person import DEADLINE_S, Person
from support.local_hub import COMMIT, LocalHub, LocalRepository, sha256
from support.processes import Process

REPO = "maker/Tiny-GGUF"
SIZE = 600_000
Q4 = b"GGUF\x03\0\0\0" + os.urandom(SIZE)
Q8 = b"GGUF\x03\0\0\0" + os.urandom(SIZE)
WAITING = "Another program is downloading tiny-Q4_K_M.gguf; waiting for it.\n"


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    server = LocalHub()
    server.repositories[REPO] = LocalRepository(
        {"tiny-Q4_K_M.gguf": Q4, "tiny-Q8_0.gguf": Q8, "README.md": b"# Tiny"}
    )
    with server.serving():
        yield server


@pytest.fixture
def person(hub: LocalHub, tmp_path: Path) -> Person:
    return Person.of(tmp_path / "person", hub)


def test_a_model_is_pulled_into_the_cache_that_other_programs_share(
    hub: LocalHub, person: Person
) -> None:
    done = person.run("pull", f"{REPO}:q4_k_m", "--yes")

    assert done.returncode == 0, done.stderr
    path = Path(done.stdout.strip())
    assert path.read_bytes() == Q4
    folder = person.cache
    assert try_to_load_from_cache(REPO, "tiny-Q4_K_M.gguf", cache_dir=folder) == str(path)
    found = scan_cache_dir(folder)
    assert not found.warnings
    [revision] = [revision for repo in found.repos for revision in repo.revisions]
    assert revision.refs == {"main"}
    assert person.blobs() == {sha256(Q4): len(Q4)}


def test_what_will_be_downloaded_is_shown_first(hub: LocalHub, person: Person) -> None:
    done = person.run("pull", f"{REPO}:Q4_K_M", "--yes")

    assert f"{REPO} (licence apache-2.0)" in done.stderr
    assert "600 kB to download" in done.stderr
    assert "free in" in done.stderr


def test_nothing_is_downloaded_twice(hub: LocalHub, person: Person) -> None:
    first = person.run("pull", f"{REPO}:Q4_K_M", "--yes")
    again = person.run("pull", f"{REPO}:Q4_K_M")  # nothing to agree to

    assert again.returncode == 0
    assert again.stdout == first.stdout
    assert "here already" in again.stderr
    assert len(hub.asked_of_storage()) == 1


def test_a_repository_alone_means_its_q4_k_m(hub: LocalHub, person: Person) -> None:
    done = person.run("pull", REPO, "--yes")

    assert Path(done.stdout.strip()).name == "tiny-Q4_K_M.gguf"


def test_without_a_terminal_it_does_not_guess_the_answer(hub: LocalHub, person: Person) -> None:
    done = person.run("pull", f"{REPO}:Q4_K_M")

    assert done.returncode == 2
    assert "--yes" in done.stderr
    assert not hub.asked_of_storage()


def test_all_parts_of_a_split_model_are_pulled(hub: LocalHub, person: Person) -> None:
    names = [f"big-Q8_0-0000{number}-of-00003.gguf" for number in (1, 2, 3)]
    hub.repositories[REPO] = LocalRepository({name: name.encode() * 1000 for name in names})

    done = person.run("pull", f"{REPO}:Q8_0", "--yes")

    assert [Path(line).name for line in done.stdout.splitlines()] == names
    assert "3/3" in done.stderr


def test_a_cut_connection_goes_on_with_the_missing_bytes(hub: LocalHub, person: Person) -> None:
    hub.faults.cut_after = [200_000, 100_000]

    done = person.run("pull", f"{REPO}:Q4_K_M", "--yes")

    assert done.returncode == 0
    assert Path(done.stdout.strip()).read_bytes() == Q4
    assert [asked.range for asked in hub.asked_of_storage()] == [
        None,
        "bytes=200000-",
        "bytes=300000-",
    ]
    assert "The connection broke" in done.stderr


def test_a_server_that_ignores_ranges_sends_the_file_anew(hub: LocalHub, person: Person) -> None:
    hub.faults.cut_after = [200_000]
    hub.faults.ignore_range = True

    done = person.run("pull", f"{REPO}:Q4_K_M", "--yes")

    assert done.returncode == 0
    assert Path(done.stdout.strip()).read_bytes() == Q4


def test_ctrl_c_keeps_what_came_and_the_next_pull_asks_for_the_rest(
    hub: LocalHub, person: Person
) -> None:
    hub.faults.stop_at = 20 * (1 << 14)
    running = person.start("pull", f"{REPO}:Q4_K_M", "--yes")
    with running:
        assert hub.stopped_at_mark.wait(DEADLINE_S)
        wait_for_size(person, 20 * (1 << 14) - 65_536)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=DEADLINE_S)
    kept = person.blobs()[f"{sha256(Q4)}.incomplete"]
    hub.faults.stop_at = None
    hub.go_on.set()
    done = person.run("pull", f"{REPO}:Q4_K_M", "--yes")

    assert running.returncode == 130
    assert f"go on with: specchat pull {REPO}:Q4_K_M" in said
    assert "Traceback" not in said
    assert 0 < kept < len(Q4)
    assert done.returncode == 0
    assert Path(done.stdout.strip()).read_bytes() == Q4
    assert hub.asked_of_storage()[-1].range == f"bytes={kept}-"
    assert "are here)" in done.stderr


def wait_for_size(person: Person, n_bytes: int) -> None:
    """Until so much has been written."""
    wait_until(
        lambda: person.blobs().get(f"{sha256(Q4)}.incomplete", 0) >= n_bytes,
        "bytes on the disk",
    )


def test_a_killed_pull_is_gone_on_with_too(hub: LocalHub, person: Person) -> None:
    hub.faults.stop_at = 20 * (1 << 14)
    with person.start("pull", f"{REPO}:Q4_K_M", "--yes") as running:
        assert hub.stopped_at_mark.wait(DEADLINE_S)
        wait_for_size(person, 100_000)
        running.kill()
    hub.faults.stop_at = None
    hub.go_on.set()
    done = person.run("pull", f"{REPO}:Q4_K_M", "--yes")

    assert Path(done.stdout.strip()).read_bytes() == Q4
    assert hub.asked_of_storage()[-1].range is not None


def test_a_wrong_checksum_is_refused_and_never_gets_into_the_cache(
    hub: LocalHub, person: Person
) -> None:
    hub.repositories[REPO].damaged.add("tiny-Q4_K_M.gguf")

    done = person.run("pull", f"{REPO}:Q4_K_M", "--yes")

    assert done.returncode == 1
    assert "another checksum than the Hub states" in done.stderr
    assert person.blobs() == {}
    assert done.stdout == ""


def test_a_kept_piece_that_was_damaged_since_is_found_out(hub: LocalHub, person: Person) -> None:
    folder = person.cache / "models--maker--Tiny-GGUF" / "blobs"
    folder.mkdir(parents=True)
    (folder / f"{sha256(Q4)}.incomplete").write_bytes(bytes(1000))

    refused = person.run("pull", f"{REPO}:Q4_K_M", "--yes")
    done = person.run("pull", f"{REPO}:Q4_K_M", "--yes")

    assert refused.returncode == 1
    assert Path(done.stdout.strip()).read_bytes() == Q4


def test_more_bytes_than_stated_are_not_written(hub: LocalHub, person: Person) -> None:
    hub.repositories[REPO].stated_sizes["tiny-Q4_K_M.gguf"] = 1000

    done = person.run("pull", f"{REPO}:Q4_K_M", "--yes")

    assert done.returncode == 1
    assert "More came than the Hub states" in done.stderr
    assert person.blobs() == {}


def test_a_wait_that_the_hub_asks_for_is_kept_and_said(hub: LocalHub, person: Person) -> None:
    hub.faults.refuse = [(429, {"Retry-After": "1"})]
    hub.faults.refuse_api = [(429, {"RateLimit": '"api";r=0;t=1'})]

    done = person.run("pull", f"{REPO}:Q4_K_M", "--yes")

    assert done.returncode == 0, done.stderr
    assert done.stderr.count("Waiting 1 s, as it asks.") == 2


@pytest.mark.parametrize("faults", ["refuse", "refuse_api"])
def test_a_wait_that_is_too_long_is_a_sentence(hub: LocalHub, person: Person, faults: str) -> None:
    setattr(hub.faults, faults, [(429, {"Retry-After": "3600"})])

    done = person.run("pull", f"{REPO}:Q4_K_M", "--yes")

    assert done.returncode == 1
    assert "asks to wait 1 h 0 min; specchat waits 5 min at most" in done.stderr


def test_an_error_of_the_server_that_passes_is_waited_out(hub: LocalHub, person: Person) -> None:
    hub.faults.refuse = [(503, {})]
    hub.faults.refuse_api = [(502, {})]

    done = person.run("pull", f"{REPO}:Q4_K_M", "--yes")

    assert done.returncode == 0
    assert "error 503. Trying again" in done.stderr


def test_an_unknown_repository_is_named(hub: LocalHub, person: Person) -> None:
    done = person.run("pull", "maker/Missing", "--yes")

    assert done.returncode == 2
    assert "no repository of this name, or it is a private one" in done.stderr
    assert f"{hub.address}/maker/Missing" in done.stderr


def test_an_unknown_quant_is_answered_with_the_choices(hub: LocalHub, person: Person) -> None:
    done = person.run("pull", f"{REPO}:Q5_K_M", "--yes")

    assert done.returncode == 2
    assert "one of: Q4_K_M, Q8_0." in done.stderr


def test_a_file_that_vanished_since_it_was_listed_is_a_sentence(
    hub: LocalHub, person: Person
) -> None:
    hub.repositories[REPO].vanished.add("tiny-Q4_K_M.gguf")

    done = person.run("pull", f"{REPO}:Q4_K_M", "--yes")

    assert done.returncode == 2
    assert "The file is not there any more" in done.stderr


def test_a_token_that_is_not_accepted_is_said(hub: LocalHub, person: Person) -> None:
    done = person.with_(HF_TOKEN="hf_bad").run("pull", f"{REPO}:Q4_K_M", "--yes")

    assert done.returncode == 1
    assert "does not accept the token (401)" in done.stderr
    assert "hf auth login" in done.stderr


def test_a_gated_model_without_a_token_names_the_page_before_anything_is_asked_for(
    hub: LocalHub, person: Person
) -> None:
    hub.repositories[REPO].gated = "manual"

    done = person.run("pull", f"{REPO}:Q4_K_M", "--yes")

    assert done.returncode == 1
    assert f"Accept them at {hub.address}/{REPO}" in done.stderr
    assert not [asked for asked in hub.requests if "/resolve/" in asked.path]


def test_a_gated_model_refuses_a_token_without_access(hub: LocalHub, person: Person) -> None:
    hub.repositories[REPO].gated = "auto"

    done = person.with_(HF_TOKEN="hf_other").run("pull", f"{REPO}:Q4_K_M", "--yes")

    assert done.returncode == 1
    assert f"Accept them at {hub.address}/{REPO}" in done.stderr
    assert not [asked for asked in hub.requests if "/resolve/" in asked.path]


def test_a_gated_model_is_pulled_with_a_token_that_may(hub: LocalHub, person: Person) -> None:
    hub.repositories[REPO].gated = "auto"

    done = person.with_(HF_TOKEN=hub.token).run("pull", f"{REPO}:Q4_K_M", "--yes")

    assert done.returncode == 0, done.stderr
    assert "gated: you have accepted its owner's conditions" in done.stderr


def test_a_token_does_not_follow_a_redirect_to_another_host(hub: LocalHub, person: Person) -> None:
    done = person.with_(HF_TOKEN=hub.token).run("pull", f"{REPO}:Q4_K_M", "--yes")

    assert done.returncode == 0, done.stderr
    assert all(asked.authorization for asked in hub.requests if "/resolve/" in asked.path)
    assert [asked.authorization for asked in hub.asked_of_storage()] == [None]


def test_a_file_that_cannot_fit_is_refused_before_the_download(
    hub: LocalHub, person: Person
) -> None:
    hub.repositories[REPO].stated_sizes["tiny-Q4_K_M.gguf"] = 10**16

    done = person.run("pull", f"{REPO}:Q4_K_M", "--yes")

    assert done.returncode == 1
    assert "Tried to make room for 10000.0 TB." in done.stderr
    assert not hub.asked_of_storage()


def test_a_disk_that_takes_no_more_is_a_sentence_and_keeps_what_came(
    hub: LocalHub, person: Person
) -> None:
    """A limit on the size of a file is what fails here in a write, as a full disk does."""
    done = person.run("pull", f"{REPO}:Q4_K_M", "--yes", file_limit=400)

    assert done.returncode == 1
    assert "takes no file as large as this" in done.stderr
    assert 200_000 <= person.blobs()[f"{sha256(Q4)}.incomplete"] < len(Q4)


def read_until_waiting(process: Process[str]) -> str:
    """What a pull says up to the sentence that it waits."""
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if line == WAITING:
            return "".join(said)
    raise AssertionError("".join(said))


def test_two_pulls_at_once_download_one_time_and_the_second_says_that_it_waits(
    hub: LocalHub, person: Person
) -> None:
    hub.faults.stop_at = 20 * (1 << 14)
    with person.start("pull", f"{REPO}:Q4_K_M", "--yes") as first:
        assert hub.stopped_at_mark.wait(DEADLINE_S)
        with person.start("pull", f"{REPO}:Q4_K_M", "--yes") as second:
            said = read_until_waiting(second)
            hub.go_on.set()
            answers = [first.communicate(timeout=DEADLINE_S), second.communicate()]

    assert (first.returncode, second.returncode) == (0, 0), said
    assert answers[0][0] == answers[1][0]
    assert Path(answers[0][0].strip()).read_bytes() == Q4
    assert len(hub.asked_of_storage()) == 1
    assert list(person.blobs()) == [sha256(Q4)]


def test_offline_by_choice_asks_nothing_of_the_network(hub: LocalHub, person: Person) -> None:
    done = person.with_(HF_HUB_OFFLINE="1").run("pull", f"{REPO}:Q4_K_M", "--yes")

    assert done.returncode == 1
    assert "HF_HUB_OFFLINE is set" in done.stderr
    assert not hub.requests


def test_a_hub_that_nobody_answers_for_is_a_sentence(person: Person) -> None:
    done = person.with_(HF_ENDPOINT="http://127.0.0.1:9").run("pull", f"{REPO}:Q4_K_M", "--yes")

    assert done.returncode == 1
    assert "http://127.0.0.1:9 does not answer" in done.stderr
    assert "Traceback" not in done.stderr


def test_everything_goes_through_the_proxy_that_is_set(hub: LocalHub, person: Person) -> None:
    behind_proxy = person.with_(HF_ENDPOINT="http://hub.invalid", HTTP_PROXY=hub.address)

    done = behind_proxy.run("pull", f"{REPO}:Q4_K_M", "--yes")

    assert done.returncode == 0, done.stderr
    assert hub.requests[0].host == "hub.invalid"
    assert hub.asked_of_storage()


def test_who_asks_is_specchat_and_nothing_more_is_told(hub: LocalHub, person: Person) -> None:
    person.run("pull", f"{REPO}:Q4_K_M", "--yes")

    assert len(hub.requests) >= 3
    for asked in hub.requests:
        names = {part.partition("/")[0] for part in asked.user_agent.split("; ")}
        assert names == {"specchat", "hf_hub", "python"}


def test_a_pair_whose_model_a_package_brings_needs_no_download(
    hub: LocalHub, person: Person
) -> None:
    done = person.run("pull", "smollm2-135m")

    assert done.returncode == 0
    assert Path(done.stdout.strip()).is_file()
    assert not hub.requests


@pytest.mark.parametrize("name", ["nonsense", "a/b/c", "owner/", "/name", "own er/name"])
def test_a_name_that_means_nothing_is_bad_input(person: Person, name: str) -> None:
    done = person.run("pull", name)

    assert done.returncode == 2
    assert "Tried to" in done.stderr


def test_a_setting_of_the_library_that_makes_no_sense_is_a_sentence(person: Person) -> None:
    done = person.with_(HF_HUB_ETAG_TIMEOUT="soon").run("pull", REPO, "--yes")

    assert done.returncode == 2
    assert "One of the variables HF_... makes no sense" in done.stderr


def test_a_full_disk_is_a_sentence(hub: LocalHub, person: Person) -> None:
    """The kernel's own full device stands where the bytes would go."""
    folder = person.cache / "models--maker--Tiny-GGUF" / "blobs"
    folder.mkdir(parents=True)
    (folder / f"{sha256(Q4)}.incomplete").symlink_to("/dev/full")

    done = person.run("pull", f"{REPO}:Q4_K_M", "--yes")

    assert done.returncode == 1
    assert "is full." in done.stderr
    assert "set HF_HOME to a folder on another disk" in done.stderr


def test_a_cache_that_cannot_be_made_is_a_sentence(hub: LocalHub, person: Person) -> None:
    person.cache.parent.mkdir(parents=True)
    person.cache.write_text("no folder")

    done = person.run("pull", f"{REPO}:Q4_K_M", "--yes")

    assert done.returncode == 1
    assert "cannot be written" in done.stderr


def pair_of_type(*types: str) -> CatalogPair:
    """A pair of the catalog with a drafter of its own file."""
    return next(
        pair
        for pair in read_catalog().pairs.values()
        if pair.draft.type in types and pair.draft.repo and "*" not in pair.target.file
    )


def serve_pair(hub: LocalHub, pair: CatalogPair) -> None:
    """Its repositories, with small files."""
    assert pair.target.repo is not None
    assert pair.draft.repo is not None
    assert pair.draft.file is not None
    hub.repositories[pair.target.repo] = LocalRepository({pair.target.file: b"target" * 9})
    draft = hub.repositories.setdefault(pair.draft.repo, LocalRepository({}))
    draft.files[pair.draft.file] = b"draft" * 9


def test_a_pair_brings_its_target_and_its_draft(hub: LocalHub, person: Person) -> None:
    pair = pair_of_type("model")
    serve_pair(hub, pair)

    done = person.run("pull", pair.name, "--yes")

    assert done.returncode == 0, done.stderr
    names = [Path(line).name for line in done.stdout.splitlines()]
    assert names == [pair.target.file, pair.draft.file]


@pytest.mark.parametrize("type", ["mtp", "dflash", "dspark"])
def test_a_pair_brings_its_target_and_its_head(hub: LocalHub, person: Person, type: str) -> None:
    pair = pair_of_type(type)
    serve_pair(hub, pair)

    done = person.run("pull", pair.name, "--yes")

    assert done.returncode == 0, done.stderr
    names = [Path(line).name for line in done.stdout.splitlines()]
    assert names == [pair.target.file, pair.draft.file]


@pytest.mark.parametrize(("answer", "pulled"), [(b"n\n", False), (b"\n", True)])
def test_on_a_terminal_it_asks(hub: LocalHub, person: Person, answer: bytes, pulled: bool) -> None:
    shown = b""
    with terminal() as (ours, theirs):
        with Process(
            [*SPECCHAT, "pull", f"{REPO}:Q4_K_M"],
            env=person.environment,
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=theirs,
        ) as process:
            while b"Download? [Y/n]" not in shown:
                shown += next_piece(ours)
            os.write(ours, answer)
            stdout, _ = process.communicate(timeout=DEADLINE_S)
        shown += next_piece(ours)

    assert process.returncode == 0
    assert bool(stdout) == pulled
    assert bool(hub.asked_of_storage()) == pulled
    assert (b"Nothing was downloaded." in shown) == (not pulled)
    assert (b"\rtiny-Q4_K_M " in shown) == pulled


@pytest.mark.parametrize("moment", ["asking", "listing"])
def test_ctrl_c_before_the_download_ends_quietly(
    hub: LocalHub, person: Person, moment: str
) -> None:
    hub.faults.refuse_api = [(429, {"Retry-After": "60"})] if moment == "listing" else []
    shown = b""
    with terminal() as (ours, theirs):
        with Process(
            [*SPECCHAT, "pull", f"{REPO}:Q4_K_M"],
            env=person.environment,
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=theirs,
        ) as process:
            while b"[Y/n]" not in shown and b"as it asks" not in shown:
                shown += next_piece(ours)
            wait_until_asleep(process.pid)
            process.send_signal(signal.SIGINT)
            process.wait(DEADLINE_S)
        shown += next_piece(ours)

    assert process.returncode == 130
    assert b"Traceback" not in shown


@given(
    some.dictionaries(
        some.sampled_from(["Retry-After", "RateLimit"]),
        some.text(some.characters(min_codepoint=32, max_codepoint=126))
        | some.integers().map(str)
        | some.just("Wed, 21 Oct 2015 07:28:00 GMT"),
    )
)
def test_whatever_wait_is_asked_for_is_seconds_or_nothing(asked: dict[str, str]) -> None:
    seconds = asked_wait_s(httpx2.Headers(asked))

    assert seconds is None or 0 <= seconds <= 1e9


def test_a_wait_may_be_stated_as_a_date() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)

    seconds = asked_wait_s(httpx2.Headers({"Retry-After": soon}))

    assert seconds is not None
    assert 25 < seconds <= 30


def test_a_server_that_stands_still_is_asked_again(hub: LocalHub, person: Person) -> None:
    hub.faults.stop_at = 20 * (1 << 14)
    impatient = person.with_(HF_HUB_DOWNLOAD_TIMEOUT="1")

    done = impatient.run("pull", f"{REPO}:Q4_K_M", "--yes")

    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).read_bytes() == Q4
    assert [asked.range for asked in hub.asked_of_storage()] == [None, "bytes=327680-"]


def test_where_links_cannot_be_made_the_file_lies_under_its_name(
    hub: LocalHub, person: Person
) -> None:
    without_links = person.with_(HF_HUB_DISABLE_SYMLINKS="1")

    done = without_links.run("pull", f"{REPO}:Q4_K_M", "--yes")
    again = without_links.run("pull", f"{REPO}:Q4_K_M", "--yes")
    listed = without_links.run("models", "--json")
    removed = without_links.run("models", "rm", REPO, "--yes")

    path = Path(done.stdout.strip())
    assert path.parent.name == COMMIT
    assert again.stdout == done.stdout
    assert len(hub.asked_of_storage()) == 1
    assert '"pulled":true' in listed.stdout
    assert removed.returncode == 0
    assert not path.exists()


def test_it_waits_for_a_download_of_the_library_itself(hub: LocalHub, person: Person) -> None:
    hub.faults.stop_at = 20 * (1 << 14)
    theirs: list[str] = []

    def download() -> None:
        path = hf_hub_download(
            REPO, "tiny-Q4_K_M.gguf", cache_dir=person.cache, endpoint=hub.address
        )
        theirs.append(str(path))

    other = threading.Thread(target=download)
    other.start()
    assert hub.stopped_at_mark.wait(DEADLINE_S)
    with person.start("pull", f"{REPO}:Q4_K_M", "--yes") as ours:
        said = read_until_waiting(ours)
        hub.go_on.set()
        stdout, _ = ours.communicate(timeout=DEADLINE_S)
    other.join()

    assert ours.returncode == 0, said
    assert [stdout.strip()] == theirs
    assert len(hub.asked_of_storage()) == 1
