"""Downloading a pair from the screen, from a server on this machine that speaks as the Hub does."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants
from textual.pilot import Pilot
from textual.widgets import Button, Static

from specchat.choosing.offers import Offers
from specchat.hub.builtin import BUILT_IN
from specchat.hub.progress import Progress
from specchat.pairing.catalog import Catalog, own_catalog_folder, read_all
from specchat.pairing.machine import Machine
from specchat.pairing.planner import rank_pairs
from specchat.tui.screens.help import HelpScreen
from specchat.tui.screens.pairs import PairsScreen
from specchat.tui.widgets.download_line import DownloadLine
from specchat.tui.widgets.pair_list import PairList
from support.local_hub import LocalHub, LocalRepository
from tui.offers import FIRST, LATER, MACHINE, app_with
from tui.screen_driver import WIDE, cards, screen, until_ready, wait_until

REPO, FILE, SIZE = "maker/Tiny-GGUF", "tiny-Q4_K_M.gguf", 600_000
OWN_CATALOG = f"""
family = "Tiny"

[[model]]
name = "tiny"
title = "Tiny 7B"
licence = "MIT"
params_b = 7.0
architecture = "llama"
n_layer = 28
n_head_kv = 4
head_dim = 128
n_vocab = 32000
n_ctx_train = 8192
source = "https://example.org"
confidence = "verified"

[[pair]]
name = "tiny-7b"
n_ctx = 8192
confidence = "verified"

[pair.target]
model = "tiny"
repo = "{REPO}"
file = "{FILE}"
quant = "Q4_K_M"
size_gb = 0.0006

[pair.draft]
type = "ngram"
"""


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHub]:
    """The server, a person with an empty cache, and a pair of theirs to be found on it."""
    server = LocalHub()
    data = b"GGUF\x03\0\0\0" + os.urandom(SIZE)
    server.repositories[REPO] = LocalRepository({FILE: data})
    own_catalog_folder().mkdir()
    (own_catalog_folder() / "tiny.toml").write_text(OWN_CATALOG)
    cache = str(tmp_path / "cache")
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    monkeypatch.setenv("HF_HUB_CACHE", cache)
    # What huggingface-hub has read from the environment when it was imported.
    monkeypatch.setattr(constants, "HF_HUB_CACHE", cache)
    monkeypatch.setattr(constants, "ENDPOINT", server.address)
    # On a busy machine a test may hold the server for longer than it is waited for.
    monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 60)
    addresses = server.address + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", addresses)
    with server.serving():
        yield server


def offers(count: int, rpc: tuple[str, ...], machine: Machine | None) -> Offers:
    """The one pair, and the built-in model."""
    whole = read_all()
    two = Catalog(whole.models, {name: whole.pairs[name] for name in ("tiny-7b", BUILT_IN)})
    built_in = two.pairs[BUILT_IN].target
    here = {(built_in.package or "", built_in.file)}
    if list(Path(constants.HF_HUB_CACHE).glob(f"*/snapshots/*/{FILE}")):
        here.add((REPO, FILE))
    ranked = {pair.name: pair for pair in rank_pairs(two, MACHINE, on_disk=here)}
    best, small = ranked["tiny-7b"], ranked[BUILT_IN]
    return Offers(machine=MACHINE, best=(best,), built_in=small, catalog=(best,))


async def until_listed(pilot: Pilot[None]) -> None:
    """Wait for the pair."""
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, PairsScreen))
    await wait_until(pilot, lambda: says(pilot, "tiny-7b", "to download"))


def says(pilot: Pilot[None], name: str, state: str) -> bool:
    """Whether the entry of this pair says this in its first line."""
    entries = [str(option.prompt) for option in pilot.app.screen.query_one(PairList).options]
    return any(name in entry and state in entry.splitlines()[0] for entry in entries)


def progress(pilot: Pilot[None]) -> str:
    """What the line of the download says; empty where it is hidden."""
    line = pilot.app.screen.query_one(DownloadLine)
    return str(line.content) if line.display else ""


def names(pilot: Pilot[None]) -> str:
    """The files in the first line."""
    return str(pilot.app.query_one("#names", Static).content)


async def test_on_a_first_run_a_pair_is_downloaded_in_place_and_then_loaded(hub: LocalHub) -> None:
    hub.faults.stop_at = SIZE // 2
    async with app_with(FIRST, offers=offers).run_test(size=WIDE) as pilot:
        await until_listed(pilot)
        await pilot.press("enter")
        await wait_until(pilot, lambda: "downloading tiny-7b" in progress(pilot))
        await wait_until(pilot, lambda: "of 600 kB" in progress(pilot))
        await pilot.press("f1")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        hub.go_on.set()
        await until_ready(pilot)
        assert "tiny-Q4_K_M" in names(pilot)
        assert not progress(pilot)


async def test_the_chat_goes_on_beside_a_download_and_the_pair_is_offered_when_it_is_here(
    hub: LocalHub,
) -> None:
    hub.faults.stop_at = SIZE // 2
    async with app_with(FIRST, offers=offers).run_test(size=WIDE) as pilot:
        await until_listed(pilot)
        await pilot.press("enter")
        await wait_until(pilot, hub.stopped_at_mark.is_set)
        await pilot.press("escape")
        app = await until_ready(pilot)
        assert "SmolLM2" in names(pilot)
        assert "downloading tiny-7b" in progress(pilot)
        hub.go_on.set()
        await wait_until(pilot, lambda: bool(cards(pilot)))
        assert "tiny-7b is here" in cards(pilot)[0]
        assert await pilot.click(Button)
        await wait_until(pilot, lambda: "tiny-Q4_K_M" in names(pilot))
        await until_ready(pilot)
        assert not app.query(Button)


async def test_a_download_can_be_stopped_and_goes_on_where_it_was(hub: LocalHub) -> None:
    hub.faults.stop_at = SIZE // 2
    async with app_with(LATER, offers=offers).run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await pilot.press("f2")
        await until_listed(pilot)
        await pilot.press("end", "enter")
        await wait_until(pilot, hub.stopped_at_mark.is_set)
        await pilot.press("f8")
        assert "stopping; what came is kept" in progress(pilot)
        hub.go_on.set()
        await wait_until(pilot, lambda: not progress(pilot))
        hub.faults.stop_at = None
        await pilot.press("enter")
        await wait_until(pilot, lambda: says(pilot, "tiny-7b", "here"))
        assert screen(pilot).state == "ready"
        assert any(asked.range for asked in hub.asked_of_storage())


async def test_why_a_download_waits_stays_to_be_read_until_more_has_come() -> None:
    async with app_with(LATER).run_test(size=WIDE) as pilot:
        line = pilot.app.query_one(DownloadLine)
        line.show("tiny-7b", so_far(100))
        line.show("tiny-7b", None, "Waiting 20 s, as it asks.")
        line.show("tiny-7b", so_far(100))
        assert "Waiting 20 s, as it asks." in progress(pilot)
        line.show("tiny-7b", so_far(101))
        assert "101 of 600 kB" in progress(pilot)
        assert "Waiting" not in progress(pilot)


def so_far(kilobytes: int) -> Progress:
    """A download of one file that has got so far."""
    return Progress(
        file=FILE,
        number=1,
        files=1,
        stage="downloading",
        done_bytes=1000 * kilobytes,
        size_bytes=SIZE,
        total_done_bytes=1000 * kilobytes,
        total_bytes=SIZE,
    )


async def test_what_the_hub_refuses_is_told_and_the_list_stays(hub: LocalHub) -> None:
    hub.repositories.clear()
    async with app_with(FIRST, offers=offers).run_test(size=WIDE) as pilot:
        await until_listed(pilot)
        await pilot.press("enter")
        trouble = pilot.app.screen.query_one("#trouble", Static)
        await wait_until(pilot, lambda: trouble.display)
        assert "→" in str(trouble.content)
        assert not progress(pilot)
        await pilot.press("escape")
        await until_ready(pilot)


async def test_leaving_in_mid_download_does_not_wait_for_the_hub(hub: LocalHub) -> None:
    hub.faults.stop_at = SIZE // 2
    async with app_with(FIRST, offers=offers).run_test(size=WIDE) as pilot:
        await until_listed(pilot)
        await pilot.press("enter")
        await wait_until(pilot, hub.stopped_at_mark.is_set)
        await pilot.press("ctrl+q")
        await pilot.pause()
        assert pilot.app.return_code == 0
