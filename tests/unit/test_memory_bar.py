"""A memory plan drawn as bars."""

from hypothesis import given
from hypothesis import strategies as st

from specchat.pairing.memory import DeviceShare, Wishes, plan_memory
from specchat.pairing.memory_bar import (
    GLYPHS,
    coloured,
    legend,
    memory_bar,
    memory_line,
    memory_lines,
    plain,
)
from support.shapes import GIB, card, machine, model, small_model

SHARE = DeviceShare(
    "CUDA0",
    7 * GIB,
    {
        "target": 4 * GIB,
        "draft": GIB // 2,
        "target_kv": GIB // 4,
        "draft_kv": GIB // 4,
        "compute": GIB // 2,
        "margin": GIB // 2,
    },
)


def test_a_bar_shows_each_part_by_a_glyph_of_its_own() -> None:
    assert plain(memory_bar(SHARE, 8 * GIB, 16)) == "████████▓▒░···xx"


def test_glyphs_tell_the_parts_apart_without_colour() -> None:
    assert len(set(GLYPHS.values())) == len(GLYPHS)


def test_a_part_too_small_to_draw_is_drawn_all_the_same() -> None:
    share = DeviceShare("CUDA0", 8 * GIB, {"target": 6 * GIB, "draft": 1})
    assert "▓" in plain(memory_bar(share, 8 * GIB, 10))


def test_what_does_not_fit_is_seen() -> None:
    share = DeviceShare("CUDA0", 4 * GIB, {"target": 5 * GIB, "target_kv": GIB})
    assert plain(memory_bar(share, 4 * GIB, 12)) == "████████!!!!"


def test_a_margin_that_is_lacking_is_seen() -> None:
    share = DeviceShare("CUDA0", 4 * GIB, {"target": 4 * GIB, "margin": GIB})
    assert plain(memory_bar(share, 4 * GIB, 10)) == "████████!!"


def test_a_line_names_the_device_and_says_how_much_of_what_is_free() -> None:
    line = plain(memory_line(SHARE, 8 * GIB))
    assert line.startswith("CUDA0    █")
    assert line.endswith(" 5.5 of 7.0 GiB")
    assert len(line) == 80


def test_the_legend_names_what_is_drawn_and_nothing_else() -> None:
    assert plain(legend({"target", "free"})) == "█ target  · free"


def test_a_plan_is_a_line_a_device_and_a_legend() -> None:
    here = machine(card(8 * GIB))
    lines = memory_lines(plan_memory(here, model(), small_model(), Wishes()), here)
    assert [plain(line)[:5] for line in lines] == ["CUDA0", "CPU  ", "     "]
    assert plain(lines[-1]).strip() == "█ target  ▓ draft  ▒ KV cache  ░ compute  · free"
    assert {len(plain(line)) for line in lines[:-1]} == {80}


def test_a_device_with_nothing_on_it_is_left_out() -> None:
    here = machine(card(GIB // 4), ram_bytes=64 * GIB)
    lines = memory_lines(plan_memory(here, model(), None, Wishes(n_gpu_layers=0)), here)
    assert [plain(line)[:3] for line in lines] == ["CPU", "   "]


def test_colours_change_nothing_but_colours() -> None:
    line = memory_line(SHARE, 8 * GIB)
    text = coloured(line)
    assert "\x1b[34m████" in text
    for code in ("34", "32", "36", "35", "2", "0"):
        text = text.replace(f"\x1b[{code}m", "")
    assert text == plain(line)


def test_a_long_name_is_cut() -> None:
    share = DeviceShare("RPC0[192.168.0.7:50052]", GIB, {"target": GIB // 2})
    assert plain(memory_line(share, GIB)).startswith("RPC0[19… █")


sizes = st.integers(0, 100 * GIB)


@given(
    st.dictionaries(
        st.sampled_from(["target", "draft", "target_kv", "draft_kv", "compute", "margin"]), sizes
    ),
    sizes,
    sizes,
    st.integers(1, 120),
)
def test_a_bar_is_as_long_as_it_was_asked_to_be(
    parts: dict[str, int], free: int, total: int, width: int
) -> None:
    bar = memory_bar(DeviceShare("GPU", free, parts), total, width)  # type: ignore[arg-type]
    anything = any(parts.values()) or free or total
    assert len(plain(bar)) == (width if anything else 0)
    assert ("!" in plain(bar)) == (sum(parts.values()) > free) or width < len(GLYPHS)
