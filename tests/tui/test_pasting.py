"""Text of any kind and size that is pasted into the prompt."""

import pytest

from tui.screen_driver import WIDE, make_app, prompt, questions, until_ready, wait_until
from tui.test_attaching import last_question, paste

LONG = "\n".join(f"line {number}" for number in range(3120))
WORD = "[pasted 3,120 lines, 30 kB]"


async def test_a_long_text_is_folded_and_sent_whole() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        prompt(pilot).insert("Summarize ")
        await paste(pilot, LONG)
        assert prompt(pilot).text == f"Summarize {WORD}"
        await pilot.press("enter")
        await wait_until(pilot, lambda: questions(pilot) == 1)
        assert last_question(pilot) == f"Summarize {LONG}"


@pytest.mark.parametrize("key", ["backspace", "ctrl+w"])
async def test_deleting_the_word_removes_all_of_it_and_undo_brings_it_back(key: str) -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        prompt(pilot).insert("a ")
        await paste(pilot, LONG)
        await pilot.press(key)
        assert prompt(pilot).text == "a "
        await pilot.press("ctrl+z", "enter")
        await wait_until(pilot, lambda: questions(pilot) == 1)
        assert last_question(pilot) == f"a {LONG}"


async def test_delete_removes_it_from_its_front() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await paste(pilot, LONG)
        await pilot.press("home", "delete")
        assert prompt(pilot).text == ""


async def test_five_megabytes_are_one_word() -> None:
    text = "0123456789abcde\n" * 312_500
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await paste(pilot, text)
        assert prompt(pilot).text == "[pasted 312,500 lines, 5.0 MB]"
        assert prompt(pilot).content_size.height == 1


@pytest.mark.parametrize(
    "text",
    [
        "第一行,你好",
        "👩‍👩‍👧‍👦 🇪🇺 e\u0301 한국어",
        "שלום עולם, مرحبا بالعالم",
        "if x:\n\treturn\ty",
        "zero\u200bwidth \u202eoverride\u202c",
        "a\x1b[2Jb\x07c\x7fd\x01",
        "[bold]x[/] \\[ $x {y}",
    ],
)
async def test_text_of_every_kind_is_sent_as_it_was_pasted(text: str) -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await paste(pilot, text)
        assert prompt(pilot).text == text
        await pilot.press("enter")
        await wait_until(pilot, lambda: questions(pilot) == 1)
        assert last_question(pilot) == text


async def test_line_ends_of_every_kind_become_newlines() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await paste(pilot, "a\r\nb\rc\nd\u2028e\x85f\x0cg\r\n")
        assert prompt(pilot).text == "a\nb\nc\nd\ne\nf\ng\n"


async def test_the_prompt_shows_control_characters_and_does_not_obey_them() -> None:
    async with make_app("happy").run_test(size=WIDE) as pilot:
        await until_ready(pilot)
        await paste(pilot, "a\x1b[2Jb\x9bc\x7f\td")
        line = prompt(pilot).render_line(0).text
        assert line.rstrip() == "a␛[2Jb\ufffdc␡   d"
