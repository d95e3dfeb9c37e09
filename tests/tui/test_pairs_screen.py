"""Choosing a pair: on a first run, and later in place of the one that is loaded."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from specchat.choosing.choice import Asked, Choice, choose
from specchat.choosing.offers import Offers
from specchat.choosing.placing import place
from specchat.hub.builtin import BUILT_IN
from specchat.pairing.catalog import read_catalog
from specchat.pairing.machine import Machine
from specchat.pairing.memory import MemoryPlan
from specchat.pairing.planner import rank_pairs
from specchat.tui.app import SpecchatApp
from specchat.tui.on_disk import look_at_disk
from specchat.tui.pair_entries import model_entry
from specchat.tui.screens.pairs import PairsScreen
from specchat.tui.widgets.pair_list import NOTHING_FOUND, PairList
from support.head_headers import dspark, eagle3, target
from support.header_files import layers, texts, write_header_file
from support.shapes import GIB, card
from support.shapes import machine as machine_of
from tui.offers import FIRST, LATER, MACHINE, app_with
from tui.screen_driver import (
    WIDE,
    ask_and_wait,
    cards,
    chat,
    screen,
    until_ready,
    wait_until,
)
from unit.machines import MAC

AMPLE = machine_of(card(24 * GIB))
FILE_VARIABLES = ("HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME", "OLLAMA_MODELS", "LLAMA_CACHE")


async def until_listed(pilot: Pilot[None], text: str) -> PairList:
    """Wait for an entry."""
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, PairsScreen))
    found = pilot.app.screen.query_one(PairList)
    await wait_until(pilot, lambda: text in listed(found))
    return found


def listed(pairs: PairList) -> str:
    """Everything that the list says."""
    return "\n".join(str(option.prompt) for option in pairs.options)


def machine(pilot: Pilot[None]) -> str:
    """What the screen says about the machine."""
    return str(pilot.app.screen.query_one("#machine", Static).content)


async def test_a_first_run_shows_the_machine_and_the_pairs_that_fit_with_what_they_take() -> None:
    async with app_with(FIRST).run_test(size=WIDE) as pilot:
        pairs = await until_listed(pilot, "Qwen2.5 7B")
        assert "8.0 GiB free" in machine(pilot)
        assert "8 cores" in machine(pilot)
        entry = next(text for text in listed(pairs).split("\n\n") if "Qwen2.5 7B" in text)
        for fact in ("GB to download", "CUDA0", "█", "tok/s (", "Apache-2.0", "qwen2.5-7b"):
            assert fact in entry
        assert "Here already, to try at once" in listed(pairs)
        assert screen(pilot).engine.pid is None


async def test_esc_starts_the_built_in_model_at_once() -> None:
    async with app_with(FIRST).run_test(size=WIDE) as pilot:
        await until_listed(pilot, "")
        await pilot.press("escape")
        app = await until_ready(pilot)
        assert not isinstance(app.screen, PairsScreen)
        await ask_and_wait(pilot, "Hello")
        assert "exactly what the target" in chat(pilot)


async def test_the_built_in_model_can_be_chosen_from_the_list() -> None:
    async with app_with(FIRST).run_test(size=WIDE) as pilot:
        await until_listed(pilot, "Here already")
        await pilot.press("end", "enter")
        await until_ready(pilot)


async def test_a_first_run_can_be_left_without_loading_anything() -> None:
    async with app_with(FIRST).run_test(size=WIDE) as pilot:
        await until_listed(pilot, "Qwen2.5 7B")
        await pilot.press("ctrl+q")
        await pilot.pause()
        assert pilot.app.return_code == 0


async def test_the_list_is_there_in_mid_chat_and_leaving_it_changes_nothing() -> None:
    async with app_with(LATER).run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        process = app.engine.pid
        await pilot.press("f2")
        pairs = await until_listed(pilot, "Qwen2.5 7B")
        entry = next(text for text in listed(pairs).split("\n\n") if "SmolLM2" in text)
        assert "● loaded now" in entry
        await pilot.press("escape")
        await wait_until(pilot, lambda: len(app.screen_stack) == 1)
        assert app.engine.pid == process


async def test_a_pair_on_this_disk_is_loaded_in_place_of_the_present_one() -> None:
    async with app_with(LATER, disk=True).run_test(size=WIDE) as pilot:
        await ask_and_wait(pilot, "Hello")
        app = screen(pilot)
        process = app.engine.pid
        await pilot.press("f2")
        pairs = await until_listed(pilot, "can draft for")
        assert "The draft is left out" in listed(pairs)
        await pilot.press("up", "up", "enter")
        await wait_until(pilot, lambda: app.state == "ready" and app.engine.pid != process)
        assert "Qwen2.5-7B-Q4_K_M  <-  Qwen2.5-0.5B-Q8_0" in names(pilot)
        assert "exactly what the target" in chat(pilot)
        await ask_and_wait(pilot, "And now?")
        assert len(app.conversation.messages) == 4


async def test_a_draft_that_does_not_suit_is_listed_with_its_reason_and_cannot_be_chosen() -> None:
    async with app_with(LATER, disk=True).run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await pilot.press("f2")
        pairs = await until_listed(pilot, "differ at token 151643")
        [unsuitable] = [o for o in pairs.options if "151643" in str(o.prompt)]
        assert unsuitable.disabled


async def test_the_answer_under_way_keeps_its_text_when_another_pair_is_loaded() -> None:
    async with app_with(LATER, "hold", disk=True).run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        process = app.engine.pid
        await pilot.press(*"Hello", "enter")
        await wait_until(pilot, lambda: "The second line" in chat(pilot))
        await pilot.press("f2")
        await until_listed(pilot, "can draft for")
        await pilot.press("home", "enter")
        await wait_until(pilot, lambda: app.state == "ready" and app.engine.pid != process)
        assert app.conversation.messages[1].content == "The first line.\n\nThe second line"


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The one folder of models on this disk."""
    for name in FILE_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    monkeypatch.setenv("SPECCHAT_MODELS", str(tmp_path))
    return tmp_path


async def test_what_is_on_the_disk_is_read_from_its_headers(shelf: Path) -> None:
    sizes = {"block_count": 2, "embedding_length": 64}
    big = write_header_file(
        shelf / "big.gguf", "qwen2", tokens=texts(200), shapes=layers(8, 512, 200), own=sizes
    )
    for name, tokens in (("same", texts(200)), ("other", texts(200, (150, "x")))):
        write_header_file(
            shelf / f"{name}.gguf", "qwen2", tokens=tokens, shapes=layers(2, 64, 200), own=sizes
        )

    disk = look_at_disk(MACHINE)

    assert {pair.draft for pair in disk.pairs if pair.verdict.usable} == {"same"}
    [unsuitable] = [p for p in disk.pairs if not p.verdict.usable and p.target_path == str(big)]
    assert "150" in unsuitable.verdict.sentence
    assert disk.plans[str(big), str(shelf / "same.gguf")].fits


@pytest.mark.parametrize(
    ("own", "beside", "who"),
    [
        (True, (), "target  <-  its MTP head"),
        (False, (eagle3,), "target  <-  the EAGLE-3 head beside it"),
        (False, (eagle3, dspark), "target  <-  the DSpark head beside it"),
        (False, (), "target  <-  n-grams guess"),
    ],
)
def test_a_model_on_the_disk_is_planned_and_described_as_it_is_loaded(
    shelf: Path, own: bool, beside: tuple[Callable[[Path, str], Path], ...], who: str
) -> None:
    path = str(target(shelf, heads=own))
    heads = [str(write(shelf, f"{write.__name__}.gguf")) for write in beside]
    disk = look_at_disk(AMPLE)
    [model] = disk.models

    assert str(model_entry(model, disk.alone[path], AMPLE, 80)).splitlines()[0].startswith(who)
    assert disk.alone[path].plan == plan_of(Asked(target=path))
    assert {pair: plan_of(Asked(target=pair[0], draft=pair[1])) for pair in disk.plans} == {
        (path, head): disk.plans[path, head] for head in heads
    }


def test_of_several_heads_the_list_names_the_one_that_would_be_loaded(shelf: Path) -> None:
    path = str(target(shelf))
    for name in ("a-Q2_K.gguf", "b-F16.gguf"):
        eagle3(shelf, name)
    loaded = asyncio.run(place(choose(Asked(target=path)), AMPLE)).load.pair.draft

    assert look_at_disk(AMPLE).alone[path].beside == loaded == str(shelf / "b-F16.gguf")


def test_heads_that_would_lose_here_are_left_out_of_the_list_with_the_reason(shelf: Path) -> None:
    path = str(target(shelf, heads=True))
    disk = look_at_disk(MAC)
    entry = str(model_entry(disk.models[0], disk.alone[path], MAC, 80))

    assert "<-  n-grams guess" in entry
    assert "Its MTP head would lose: on Metal they were slower. n-grams guess instead." in entry
    assert disk.alone[path].plan == plan_of(Asked(target=path), MAC)


def plan_of(asked: Asked, here: Machine = AMPLE) -> MemoryPlan | None:
    """Where it would go if it were loaded."""
    return asyncio.run(place(choose(asked), here)).plan


def names(pilot: Pilot[None]) -> str:
    """The files in the first line."""
    return str(pilot.app.query_one("#names", Static).content)


async def test_files_that_are_gone_are_told_and_another_pair_can_be_chosen() -> None:
    async with app_with(LATER).run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        await app.action_use_pair("qwen2.5-7b")
        await wait_until(pilot, lambda: bool(cards(pilot)))
        assert "not on this disk" in cards(pilot)[0]
        assert app.state == "ready"


def one_small_one(count: int, rpc: tuple[str, ...], machine: Machine | None) -> Offers:
    """The whole catalog on a machine where some of it does not fit; one is offered first."""
    ranked = rank_pairs(read_catalog(), MACHINE)
    others = tuple(pair for pair in ranked if pair.name != BUILT_IN)
    return Offers(machine=MACHINE, best=others[:1], built_in=None, catalog=others)


@pytest.mark.parametrize("choice", [FIRST, LATER], ids=["first run", "later"])
async def test_typing_filters_all_pairs_of_the_catalog(choice: Choice) -> None:
    async with app_with(choice, offers=one_small_one).run_test(size=WIDE) as pilot:
        if choice is LATER:
            await until_ready(pilot)
            await pilot.press("f2")
        pairs = await until_listed(pilot, "tok/s (")
        catalog = one_small_one(1, (), None).catalog
        if choice is LATER:
            everything = listed(pairs)
            assert all(pair.name in everything for pair in catalog)
        last = [pair for pair in catalog if pair.fits][-1]
        await pilot.press(*last.name.upper())
        await wait_until(pilot, lambda: pairs.option_count < 6)
        assert last.name in listed(pairs)
        await pilot.press("down", "up", "x", "x")
        await wait_until(pilot, lambda: listed(pairs) == NOTHING_FOUND)
        await pilot.press("enter", "backspace", "backspace")
        await pilot.press("escape")
        await wait_until(pilot, lambda: not pilot.app.screen.query_one("#filter").display)
        assert pilot.app.screen.focused is pairs
        assert isinstance(pilot.app.screen, PairsScreen)


def loaded_anew(app: SpecchatApp, process: int | None) -> bool:
    """Whether another engine than this one is ready."""
    return app.state == "ready" and app.engine.pid != process


async def test_the_present_pair_is_loaded_again_by_key_and_by_command() -> None:
    async with app_with(LATER).run_test(size=WIDE) as pilot:
        app = await until_ready(pilot)
        for reload in (("f2", "f5"), ("slash", *"reload", "enter")):
            process = app.engine.pid
            await pilot.press(*reload)
            await wait_until(pilot, partial(loaded_anew, app, process))
            assert len(app.screen_stack) == 1
