"""Sizes of memory, as people write and read them."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.errors import InvalidSetting
from specchat.pairing.sizes import GIB, MIB, gib, parse_size


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("8GiB", 8 * GIB),
        ("8GB", 8 * GIB),
        ("8 gb", 8 * GIB),
        ("8g", 8 * GIB),
        ("512MiB", 512 * MIB),
        ("1.5GiB", 3 * GIB // 2),
        ("1T", 1024 * GIB),
        (" 24GiB ", 24 * GIB),
    ],
)
def test_memory_is_counted_in_powers_of_two_however_the_unit_is_written(
    text: str, expected: int
) -> None:
    assert parse_size(text, "--vram") == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", "8", "GiB", "lots", "nanGiB", "-8GiB", "1e3GiB", "8GiB!", "8 Gi B", "8PiB"),
        *("0GiB", "1KiB", "999999TiB", "\N{ARABIC-INDIC DIGIT EIGHT}GiB"),
    ],
)
def test_what_is_no_size_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidSetting) as refusal:
        parse_size(text, "--ram")

    assert refusal.value.exit_code == 2
    assert "--ram" in refusal.value.tried
    assert "8GiB" in refusal.value.next_step


@given(st.text())
def test_any_text_is_a_size_or_refused(text: str) -> None:
    with contextlib.suppress(InvalidSetting):
        assert parse_size(text, "--vram") > 0


@given(st.integers(1, 16_000))
def test_a_size_that_is_shown_reads_as_the_same_size(size: int) -> None:
    assert parse_size(f"{gib(size * GIB)}GiB", "--vram") == size * GIB
