"""Commands of the prompt: what is meant, what is wrong with it, what may be meant."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.errors import InvalidSetting, SpecchatError
from specchat.tui.slash import SlashProblem, complete, escaped, is_command, is_whole, literal, parse
from specchat.tui.slash_table import COMMANDS, Names, Value

NAMES: Names = {
    "presets": lambda: [Value("code", "temperature 0"), Value("Story")],
    "pairs": lambda: [Value("qwen2.5-7b", "Qwen2.5 7B")],
}


def labels(typed: str) -> list[str]:
    """What is offered for it."""
    return [suggestion.label for suggestion in complete(typed, NAMES)]


def trouble(text: str) -> SpecchatError:
    """What is wrong with a command."""
    with pytest.raises(SpecchatError) as caught:
        parse(text, NAMES)
    return caught.value


@pytest.mark.parametrize(
    ("text", "action", "argument"),
    [
        ("/draft", "conversation.drafter", ""),
        ("/length", "conversation.length", ""),
        ("/rule", "conversation.rule", ""),
        ("/system", "conversation.system", ""),
        ("/preset", "conversation.preset", ""),
        ("/draft ngram", "conversation.drafter", "ngram"),
        ("/DRAFT  NGram ", "conversation.drafter", "ngram"),
        ("/length auto", "conversation.length", "auto"),
        ("/length 0", "conversation.length", "0"),
        ("/length 7", "conversation.length", "7"),
        ("/rule coupled", "conversation.rule", "coupled"),
        ("/system Be brief.\nBe kind.", "conversation.system", "Be brief.\nBe kind."),
        ("/preset story", "conversation.preset", "Story"),
        ("/preset none", "conversation.preset", "none"),
        ("/temperature 0.7", "conversation.temperature", "0.7"),
        ("/top-k 0", "conversation.top_k", "0"),
        ("/presence-penalty -1e-1", "conversation.presence_penalty", "-1e-1"),
        ("/seed 9223372036854775807", "conversation.seed", "9223372036854775807"),
        ("/seed None", "conversation.seed", "None"),
        ("/min-p default", "conversation.min_p", "default"),
        ("/compare", "app.compare", ""),
        ("/timeline", "app.timeline", ""),
        ("/origins", "chat.origins", ""),
        ("/pair", "app.pairs", ""),
        ("/pair qwen2.5-7B", "app.pairs", "qwen2.5-7b"),
        ("/export", "chat.export", ""),
        ("/export json", "chat.export", "json"),
        ("/copy code", "chat.copy", "code"),
        ("/bench", "app.bench", ""),
        ("/clear", "chat.new", ""),
        ("/help", "app.help", ""),
        ("/quit", "app.quit", ""),
    ],
)
def test_a_command_is_understood(text: str, action: str, argument: str) -> None:
    found = parse(text, NAMES)

    assert (found.command.action, found.argument) == (action, argument)
    assert is_whole(text, NAMES)


def test_an_unknown_command_names_the_nearest_and_how_to_send_a_slash() -> None:
    error = trouble("/lenght 4")

    assert error.happened == "There is no such command. Did you mean /length?"
    assert "//" in error.next_step


def test_something_that_is_like_no_command_gets_no_proposal() -> None:
    assert trouble("/home/me/notes.txt").happened == "There is no such command."


def test_after_a_name_and_a_space_a_value_is_about_to_be_written() -> None:
    for command in COMMANDS:
        assert is_whole(f"/{command.name}", NAMES)
        assert is_whole(f"/{command.name} ", NAMES) is not command.tells


def test_an_unknown_value_names_the_nearest_and_all() -> None:
    error = trouble("/rule blok")

    assert "Did you mean block?" in error.happened
    assert "auto, greedy, token, block, coupled" in error.next_step


def test_a_preset_that_is_not_in_the_settings_names_the_nearest() -> None:
    assert "Did you mean code?" in trouble("/preset coed").happened


def test_a_length_out_of_its_range_is_refused_in_the_words_of_the_settings() -> None:
    for length in ("65", "-1", "9999999999"):
        error = trouble(f"/length {length}")
        assert isinstance(error, InvalidSetting)
        assert error.tried == f"Tried to set the draft length to {length}."


@pytest.mark.parametrize("length", ["four", "4.5", "٤", "--4", "4 5"])
def test_a_length_that_is_no_number_is_refused(length: str) -> None:
    assert isinstance(trouble(f"/length {length}"), SlashProblem)


def test_a_command_that_stands_alone_takes_no_argument() -> None:
    assert trouble("/clear all").happened == "/clear stands alone."


def test_two_slashes_begin_a_message() -> None:
    assert is_command("/clear")
    assert not is_command("//clear")
    assert not is_command("clear /now")
    assert literal("//clear") == "/clear"
    assert literal("a //b") == "a //b"


@given(st.text(alphabet="/ab \n", max_size=6))
def test_every_message_can_be_written_and_is_sent_as_it_was_meant(message: str) -> None:
    written = escaped(message)

    assert not is_command(written)
    assert literal(written) == message


def refusal(command: str) -> SpecchatError | None:
    """Why a command cannot be obeyed, if it cannot."""
    try:
        parse(command, NAMES)
    except SpecchatError as error:
        return error
    return None


@given(st.text(max_size=30))
def test_no_text_confuses_the_parser(text: str) -> None:
    command = f"/{text}"
    if not is_command(command):
        return
    complete(command, NAMES)
    error = refusal(command)
    assert error is None or (error.next_step and not is_whole(command, NAMES))


def test_a_slash_lists_everything() -> None:
    assert len(labels("/")) == len(COMMANDS)
    assert labels("//") == []
    assert labels("what") == []


def test_what_begins_as_typed_is_listed_before_what_only_has_it() -> None:
    assert labels("/e")[:3] == ["/export [md|json]", "/length [N|auto]", "/rule [NAME]"]
    assert "/quit" not in labels("/e")
    assert labels("/PRE") == ["/preset [NAME]", "/presence-penalty [N]"]


def test_values_are_listed_with_what_they_mean() -> None:
    assert labels("/draft ") == ["auto", "model", "ngram", "none"]
    assert labels("/draft n") == ["ngram", "none"]
    assert labels("/preset ") == ["none", "code", "Story"]
    assert labels("/pair q") == ["qwen2.5-7b"]
    assert complete("/pair q", NAMES)[0].detail == "Qwen2.5 7B"
    assert labels("/bench ") == []
    assert labels("/nothing ") == []


def test_a_suggestion_takes_the_place_of_what_was_typed() -> None:
    (suggestion,) = complete("/rule  cou", NAMES)

    assert "/rule  cou"[: suggestion.start] + suggestion.text == "/rule  coupled"


def test_the_name_of_a_command_is_completed_up_to_its_argument() -> None:
    assert complete("/len", NAMES)[0].text == "/length "
    assert complete("/cle", NAMES)[0].text == "/clear"


def test_only_what_can_be_obeyed_is_whole() -> None:
    unfinished = ["", "/", "/draft ", "/draft n", "/nothing", "hello", "//clear", "/length 99"]

    assert not [text for text in unfinished if is_whole(text, NAMES)]


def test_values_are_asked_for_only_where_they_matter() -> None:
    asked: list[str] = []

    def source(name: str) -> Callable[[], list[Value]]:
        def values() -> list[Value]:
            asked.append(name)
            return []

        return values

    names: Names = {"presets": source("presets"), "pairs": source("pairs")}
    for typed in ("/", "/pa", "/draft ", "/pair"):
        complete(typed, names)
        is_whole(typed, names)
    assert asked == []
    complete("/pair ", names)
    assert asked == ["pairs"]


def test_names_and_actions_are_unique_and_said_in_words() -> None:
    assert len({command.name for command in COMMANDS}) == len(COMMANDS)
    assert len({command.action for command in COMMANDS}) == len(COMMANDS)
    for command in COMMANDS:
        assert command.does
        assert all(value.means for value in command.values)
