"""What the pair takes of the memory, on the screen."""

from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Static

from specchat.choosing.choice import Asked, Choice, choose
from specchat.tui.widgets.memory_bars import MemoryBars
from support.header_files import layers, texts, write_header_file
from tui.offers import app_with
from tui.screen_driver import WIDE, cards, until_ready

WIDTH = 2048


def big_pair(folder: Path, *, n_layers: int) -> Choice:
    """Two files of which only the headers are real."""
    own = {
        "block_count": n_layers,
        "embedding_length": WIDTH,
        "attention.head_count": 16,
        "attention.head_count_kv": 4,
    }
    shapes = layers(n_layers, WIDTH, 1000)
    target = write_header_file(
        folder / "target.gguf", "qwen2", tokens=texts(1000), shapes=shapes, own=own
    )
    draft = write_header_file(
        folder / "draft.gguf",
        "qwen2",
        tokens=texts(1000),
        shapes=layers(2, WIDTH, 1000),
        own=own | {"block_count": 2},
    )
    return choose(Asked(target=str(target), draft=str(draft)))


def bars(pilot: Pilot[None]) -> str:
    """The foot of the panel."""
    return str(pilot.app.query_one(MemoryBars).content)


def device(pilot: Pilot[None]) -> str:
    """The place of the device in the first line."""
    return str(pilot.app.query_one("#backend", Static).content)


async def test_the_panel_and_the_first_line_show_what_each_device_holds(tmp_path: Path) -> None:
    choice = big_pair(tmp_path, n_layers=20)
    async with app_with(choice).run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        name, bar, *_ = bars(pilot).splitlines()
        assert name.split()[0] == "CUDA0"
        assert name.endswith("of 8.0 GiB")
        assert set("█▓▒·") <= set(bar)
        assert len(bar) == len(name) == 26
        assert device(pilot) == f"CUDA0 {' '.join(name.split()[1:])}"
        assert "CPU" in bars(pilot)


async def test_what_had_to_give_for_the_pair_to_fit_is_told_quietly(tmp_path: Path) -> None:
    choice = big_pair(tmp_path, n_layers=140)
    async with app_with(choice).run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        [told] = cards(pilot)
        assert "The draft is left out: with it CUDA0 lacks" in told
        assert "The context is shortened from 8,192 to" in told


async def test_a_pair_whose_files_say_nothing_has_no_bars() -> None:
    choice = choose(Asked(target="/nowhere/target.gguf"))
    async with app_with(choice).run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        assert not pilot.app.query_one(MemoryBars).display
        assert device(pilot) == "CPU"
