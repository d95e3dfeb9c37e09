"""`specchat run`: one prompt in, one answer out, in a process of its own."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import specchat as package
from specchat.headless import report_schema
from support.command_line import (
    SPECCHAT,
    first_notice,
    next_piece,
    running_specchat,
    specchat,
    terminal,
    wait_until_answering,
    wait_until_loading,
    wait_until_waiting_for_more,
)
from support.engine_process import DEADLINE_S
from support.gguf_models import random_table, write_bigram, write_mamba
from support.processes import Process

PROMPTLY_S = 3.0
GREEDY = ("--temperature", "0", "--draft-length", "3")
SHORT = ("--max-tokens", "24", *GREEDY)
ROUNDING_S = 1e-9
NOTICE = "No chat template: bigram has no chat template;"


@pytest.fixture(scope="module")
def bigram(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The option that names a byte model, which writes for as long as it may."""
    path = tmp_path_factory.mktemp("bigram") / "bigram.gguf"
    return ("--target", str(write_bigram(path, random_table(0, "abcdefgh"))))


def report_of(stdout: str) -> dict[str, Any]:
    """The one JSON object on standard output, which has to be what the schema says."""
    assert stdout.count("\n") == 1
    report: dict[str, Any] = json.loads(stdout)
    jsonschema.validate(report, json.loads(report_schema()))
    return report


def assert_figures_agree(report: dict[str, Any]) -> None:
    """Every figure that is derived from others is."""
    histogram = report["accepted_histogram"]
    assert report["emitted"] == len(report["tokens"])
    assert report["rounds"] == sum(histogram)
    assert report["accepted"] == sum(kept * rounds for kept, rounds in enumerate(histogram))
    assert report["accepted"] <= report["tested"] <= report["drafted"]
    assert report["reused_tokens"] <= report["prompt_tokens"]
    acceptance = report["accepted"] / report["tested"] if report["tested"] else None
    assert report["acceptance"] == pytest.approx(acceptance)
    assert report["tokens_per_round"] == pytest.approx(report["emitted"] / report["rounds"])
    assert report["tokens_per_second"] == pytest.approx(report["emitted"] / report["decode_s"])
    own = report["decode_s"] - report["draft_s"] - report["verify_s"]
    assert report["overhead_s"] == pytest.approx(own, abs=ROUNDING_S)
    assert report["time_to_first_token_s"] > 0


@pytest.mark.real_model
def test_the_built_in_model_answers_on_standard_output_and_the_figures_stand_beside() -> None:
    done = specchat("run", "--prompt", "What is the capital city of Germany?", *SHORT)
    assert done.returncode == 0
    assert "Berlin" in done.stdout
    assert "tok/s" not in done.stdout
    [figures] = done.stderr.splitlines()
    for part in ("tokens a round", "tok/s", "s to first", "drafter ngram, length 3, greedy"):
        assert part in figures


@pytest.mark.real_model
def test_json_is_one_object_with_figures_that_agree() -> None:
    prompt = ("--prompt", "Repeat three times: the quick brown fox jumps over the lazy dog.")
    length = ("--draft-length", "3", "--temperature", "0.3")
    done = specchat("run", *prompt, "--json", "--seed", "7", "--max-tokens", "40", *length)
    assert (done.returncode, done.stderr) == (0, "")
    report = report_of(done.stdout)
    assert_figures_agree(report)
    assert report["accepted"] > 0
    assert report["finish_reason"] in ("stop", "length")
    assert (report["rule"], report["drafter"], report["draft_length"]) == ("block", "ngram", 3)
    assert report["seed"] == 7
    assert report["draft"] is None
    assert report["target"].endswith(".gguf")
    assert report["engine"]["specchat"] == package.__version__


@pytest.mark.real_model
def test_with_a_draft_model_the_greedy_answer_is_the_plain_one(smollm2_path: Path) -> None:
    prompt = ("--prompt", "Count from one to ten.", "--json", *SHORT)
    plain = report_of(specchat("run", *prompt, "--drafter", "none").stdout)
    drafted = report_of(specchat("run", *prompt, "--draft", str(smollm2_path)).stdout)
    for report in (plain, drafted):
        assert_figures_agree(report)
    assert drafted["tokens"] == plain["tokens"]
    assert (plain["drafter"], plain["draft"], plain["drafted"]) == ("none", None, 0)
    assert (drafted["drafter"], drafted["draft"]) == ("chain", str(smollm2_path))
    assert drafted["acceptance"] == 1
    assert drafted["rounds"] < plain["rounds"]


@pytest.mark.real_model
def test_by_itself_the_length_follows_what_was_measured_and_the_plain_rate_is_told() -> None:
    prompt = ("--prompt", "Write a story about a fox.", "--json", "--max-tokens", "48")
    report = report_of(specchat("run", *prompt, "--temperature", "0").stdout)
    assert report["draft_length"] == "auto"
    assert report["plain_tokens_per_second"] > 0
    ratio = report["tokens_per_second"] / report["plain_tokens_per_second"]
    assert report["speed_up"] == (pytest.approx(ratio) if report["drafted"] else None)


@pytest.mark.real_model
def test_reproducible_text_depends_on_the_seed_and_not_on_the_draft(smollm2_path: Path) -> None:
    prompt = ("--prompt", "Write a story.", "--json", "--max-tokens", "24", "--reproducible")
    drafts = (("--drafter", "none"), ("--draft", str(smollm2_path)), ("--draft-length", "5"))
    reports = [
        report_of(specchat("run", *prompt, "--seed", "3", *draft).stdout) for draft in drafts
    ]
    assert {report["rule"] for report in reports} == {"coupled"}
    assert reports[0]["tokens"] == reports[1]["tokens"] == reports[2]["tokens"]
    other = report_of(specchat("run", *prompt, "--seed", "4", *drafts[0]).stdout)
    assert other["tokens"] != reports[0]["tokens"]


@pytest.mark.real_model
def test_log_probabilities_come_on_request(smollm2_path: Path) -> None:
    prompt = ("--prompt", "Count.", "--json", "--draft", str(smollm2_path), *SHORT)
    report = report_of(specchat("run", *prompt, "--logprobs").stdout)
    assert len(report["log_probabilities"]) == report["emitted"]
    assert all(value <= 0 for value in report["log_probabilities"])
    assert report_of(specchat("run", *prompt).stdout)["log_probabilities"] is None


@pytest.mark.real_model
def test_a_system_prompt_stands_before_the_question() -> None:
    prompt = ("--prompt", "Who are you?", "--json", "--max-tokens", "8", *GREEDY)
    without = report_of(specchat("run", *prompt).stdout)
    system = "You are a pirate called Anne. Begin every answer with: Arr!"
    told = report_of(specchat("run", *prompt, "--system", system).stdout)
    assert told["text"] != without["text"]


def test_an_answer_and_its_figures_without_a_draft_model(bigram: tuple[str, str]) -> None:
    done = specchat("run", *bigram, "--prompt", "abcd", *SHORT)
    assert done.returncode == 0
    assert len(done.stdout) == 24 + 1
    assert set(done.stdout.strip()) <= set("abcdefgh")
    notice, figures = done.stderr.splitlines()
    assert notice.startswith(NOTICE)
    assert "24 tokens · drafter ngram" in figures


def test_the_prompt_comes_from_standard_input_when_none_is_named(bigram: tuple[str, str]) -> None:
    named = report_of(specchat("run", *bigram, "--prompt", "abcd", "--json", *SHORT).stdout)
    piped = report_of(specchat("run", *bigram, "--json", *SHORT, given=b"abcd").stdout)
    assert piped["tokens"] == named["tokens"]
    assert piped["prompt_tokens"] == named["prompt_tokens"] == 4


def test_bytes_that_are_no_text_are_replaced_in_options_as_in_a_pipe(
    bigram: tuple[str, str],
) -> None:
    named = os.fsdecode(b"ab\xffcd")
    for done in (
        specchat("run", *bigram, "--prompt", named, "--system", named, "--json", *SHORT),
        specchat("run", *bigram, "--system", named, "--json", *SHORT, given=b"ab\xffcd"),
    ):
        assert done.returncode == 0
        assert report_of(done.stdout)["prompt_tokens"] == 2 * (4 + 3) + 2


def test_text_that_the_output_cannot_write_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows, where a pipe has the code page of the country."""
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    path = write_mamba(tmp_path / "mamba.gguf")  # it says bytes of any kind
    done = specchat("run", "--target", str(path), "--prompt", "abcd", *SHORT)
    assert (done.returncode, done.stdout.isascii()) == (0, True)
    assert "?" in done.stdout


def test_a_stop_text_ends_the_answer_before_it(bigram: tuple[str, str]) -> None:
    whole = specchat("run", *bigram, "--prompt", "abcd", *SHORT).stdout.strip()
    stop = whole[10:13]
    done = specchat("run", *bigram, "--prompt", "abcd", "--json", "--stop", stop, *SHORT)
    report = report_of(done.stdout)
    assert report["finish_reason"] == "stop"
    assert report["text"] == whole[: whole.index(stop)]
    assert_figures_agree(report)


@pytest.mark.parametrize("as_json", [False, True])
def test_ctrl_c_keeps_what_came(bigram: tuple[str, str], as_json: bool) -> None:
    options = ("--json",) if as_json else ()
    with running_specchat("run", *bigram, "--prompt", "abcd", *options) as process:
        assert first_notice(process).startswith(NOTICE)
        wait_until_answering(process)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 130
    assert "Traceback" not in stderr
    if as_json:
        report = report_of(stdout)
        assert report["finish_reason"] == "cancelled"
        assert_figures_agree(report)
        assert 0 < report["emitted"] < 8000
    else:
        assert 0 < len(stdout.strip()) < 8000
        assert "tok/s" in stderr


def test_ctrl_c_while_loading_leaves_at_once(tmp_path: Path) -> None:
    slow = tmp_path / "slow.gguf"
    os.mkfifo(slow)
    with running_specchat("run", "--target", str(slow), "--prompt", "abcd") as process:
        other_end = wait_until_loading(slow)
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=DEADLINE_S)
        os.close(other_end)
    assert time.monotonic() - started < PROMPTLY_S
    assert (process.returncode, stdout, stderr) == (130, "", "")


def test_ctrl_c_while_the_prompt_is_read_leaves_at_once(bigram: tuple[str, str]) -> None:
    with Process[bytes](
        [*SPECCHAT, "run", *bigram], stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        process.stdin.write(b"a" * 200_000)  # more than a pipe holds: somebody reads it
        process.stdin.flush()
        wait_until_waiting_for_more(process)
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE_S) == 130
        assert process.stderr is not None
        assert process.stderr.read().strip() == b""


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_a_reader_that_has_left_is_no_trouble(
    bigram: tuple[str, str], options: tuple[str, ...]
) -> None:
    arguments = ("run", *bigram, "--prompt", "abcd", *options, "--max-tokens", "100")
    with running_specchat(*arguments) as process:
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        _, stderr = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0
    [notice] = stderr.splitlines()
    assert notice.startswith(NOTICE)


def test_in_a_pipe_to_head_the_first_bytes_arrive(bigram: tuple[str, str]) -> None:
    arguments = ("run", *bigram, "--prompt", "abcd", *SHORT)
    whole = specchat(*arguments).stdout
    with (
        running_specchat(*arguments) as process,
        Process(
            ["head", "-c", "10"], stdin=process.stdout, stdout=subprocess.PIPE, text=True
        ) as head,
    ):
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        assert head.communicate(timeout=DEADLINE_S)[0] == whole[:10]
        _, stderr = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0
    assert "Traceback" not in stderr
    assert "Broken" not in stderr


def test_on_a_terminal_the_text_comes_while_it_is_written(bigram: tuple[str, str]) -> None:
    with (
        terminal() as (ours, theirs),
        running_specchat("run", *bigram, "--prompt", "abcd", stdout=theirs) as process,
    ):
        pieces = [next_piece(ours) for _ in range(2)]  # one every 50 ms
        assert process.poll() is None  # and more is to come
        assert all(set(piece) <= set(b"abcdefgh") for piece in pieces)
        process.send_signal(signal.SIGINT)
        text = b"".join(pieces)
        while not text.endswith(b"\n"):
            text += next_piece(ours)
        assert process.wait(DEADLINE_S) == 130
        assert process.stderr is not None
        notice, figures = process.stderr.read().splitlines()
    assert notice.startswith(NOTICE)
    written = len(text.decode().strip())
    assert f"{written} tokens" in figures


BAD_SETTINGS = {
    "a draft length below nothing": (["--draft-length", "-1"], "draft length to -1"),
    "a draft length beyond reason": (["--draft-length", "999"], "draft length to 999"),
    "a temperature that is no number": (["--temperature", "nan"], "temperature to nan"),
    "a temperature below nothing": (["--temperature", "-0.5"], "temperature to -0.5"),
    "a top-p above one": (["--top-p", "1.5"], "top-p to 1.5"),
    "a min-p that is no number": (["--min-p", "nan"], "min-p to nan"),
    "a top-k below nothing": (["--top-k", "-1"], "top-k to -1"),
    "a top-k beyond reason": (["--top-k", "9" * 30], "It has to be at most 2147483647."),
    "a seed beyond reason": (["--seed", "9" * 30], "It has to be from 0 to 2^63-1."),
    "no context": (["--ctx", "0"], "context to 0"),
    "a context beyond reason": (["--ctx", "9" * 30], "It has to be at most 2147483647."),
    "no threads": (["--threads", "0"], "threads to 0"),
    "more threads than llama.cpp takes": (["--threads", "513"], "It has to be at most 512."),
    "layers below nothing": (["--gpu-layers", "-2"], "GPU layers to -2"),
    "no answer": (["--max-tokens", "0"], "longest answer to 0"),
    "an answer beyond reason": (["--max-tokens", "9" * 30], "It has to be at most 2147483647."),
    "an empty prompt": (["--prompt", " \n"], "Tried to answer a prompt. It is empty."),
    "a rule that does not go with it": (["--rule", "greedy"], "greedily at temperature 0.8"),
    "a drafter that is not there": (
        ["--drafter", "model"],
        "No draft model and no head is loaded.",
    ),
    "an unknown choice": (["--drafter", "oracle"], "'oracle' is not one of"),
    "a number in letters": (["--ctx", "many"], "'many' is not a valid integer"),
    "an unknown option": (["--sing"], "No such option"),
    "a file that is not there": (["--target", "none.gguf"], "There is no such file."),
    "a file name that is no text": (["--target", os.fsdecode(b"\xff")], "There is no such file."),
    "a draft that is not there": (["--draft", "none.gguf"], "There is no such file."),
    "a prompt beyond the context": (["--ctx", "256", "--prompt", "a" * 300], "context holds 256"),
}


@pytest.mark.parametrize("name", BAD_SETTINGS)
def test_what_cannot_be_done_is_refused_in_words(bigram: tuple[str, str], name: str) -> None:
    options, words = BAD_SETTINGS[name]
    done = specchat("run", *bigram, "--prompt", "abcd", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert done.stderr.count(".") + done.stderr.count("Try '") >= 2


def test_an_empty_pipe_is_an_empty_prompt(bigram: tuple[str, str]) -> None:
    done = specchat("run", *bigram)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Tried to answer a prompt. It is empty." in done.stderr


def test_an_option_before_the_command_is_refused_and_not_ignored(bigram: tuple[str, str]) -> None:
    done = specchat("--max-tokens", "5", "run", *bigram, "--prompt", "abcd")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Put --max-tokens after 'run'." in done.stderr


def test_without_a_terminal_the_chat_names_the_command_for_pipes() -> None:
    done = specchat()
    assert (done.returncode, done.stdout) == (2, "")
    assert "In a pipe use: specchat run" in done.stderr


def test_the_version_is_told() -> None:
    done = specchat("--version")
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        f"specchat {package.__version__}\n",
        "",
    )


@pytest.mark.parametrize("arguments", [("--help",), ("-h",), ("run", "--help")])
def test_help_names_every_option(arguments: tuple[str, ...]) -> None:
    done = specchat(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    options = "target draft ctx threads gpu-layers drafter draft-length rule temperature top-k "
    options += "top-p min-p seed system max-tokens"
    if arguments[0] == "run":
        options += " prompt stop json"
    else:
        assert "Answer one prompt on standard output" in done.stdout
    for option in options.split():
        assert f"--{option} " in done.stdout
