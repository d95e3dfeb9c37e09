"""What a command changes for a conversation."""

import pytest

from specchat.chat.records import Setup
from specchat.errors import InvalidSetting
from specchat.settings import ChatSettings, Preset, Settings
from specchat.speculation.settings import SamplingSettings, SpeculationSettings
from specchat.tui.answer_settings import AnswerSettings
from specchat.tui.setup_changes import CHANGES, LoadedFor, change, in_force, present
from specchat.tui.slash_table import COMMANDS

LOADED = LoadedFor(longest_draft=16, has_draft=True)


def answers(setup: Setup | None = None, temperature: float = 0.8) -> AnswerSettings:
    """What holds in a conversation with this setup."""
    settings = Settings(
        sampling=SamplingSettings(temperature=temperature),
        speculation=SpeculationSettings(draft_length=4),
    )
    return AnswerSettings(settings, setup=setup or Setup())


def test_a_drafter_is_changed_and_the_rest_stays() -> None:
    changed, said = change(answers(), "conversation.drafter", "ngram", LOADED)

    assert changed.setup.speculation == SpeculationSettings(drafter="ngram", draft_length=4)
    assert said == "Who guesses: text that was seen before."


def test_two_changes_add_up() -> None:
    changed, _ = change(answers(), "conversation.drafter", "none", LOADED)
    changed, said = change(changed, "conversation.length", "auto", LOADED)

    assert changed.speculation == SpeculationSettings(drafter="none", draft_length="auto")
    assert said == "The draft length follows what pays."


@pytest.mark.parametrize(
    ("length", "said"),
    [
        ("0", "Plain decoding: nothing is guessed."),
        ("8", "Drafts of 8 tokens."),
        ("32", "Drafts of 32 tokens. This pair is loaded for at most 16, though"),
    ],
)
def test_a_length_says_what_it_comes_to(length: str, said: str) -> None:
    changed, told = change(answers(), "conversation.length", length, LOADED)

    assert changed.speculation.draft_length == int(length)
    assert told.startswith(said)


def test_a_rule_says_what_it_is_here() -> None:
    _, said = change(answers(), "conversation.rule", "auto", LOADED)
    assert said == "Guesses are kept by the rule auto, which is block here."
    _, said = change(answers(temperature=0), "conversation.rule", "coupled", LOADED)
    assert said == "Guesses are kept by the rule coupled, which is greedy here."


def test_a_rule_that_is_not_lossless_here_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="greedy"):
        change(answers(), "conversation.rule", "greedy", LOADED)


def test_a_draft_model_that_is_not_loaded_is_told_of() -> None:
    without = LoadedFor(longest_draft=16, has_draft=False)

    _, said = change(answers(), "conversation.drafter", "model", without)
    assert "F2" in said
    _, said = change(answers(), "conversation.drafter", "model", LOADED)
    assert "F2" not in said


def test_a_system_prompt_is_set_and_taken_away() -> None:
    changed, _ = change(answers(), "conversation.system", "Be brief.", LOADED)
    assert changed.setup.system == "Be brief."
    changed, said = change(changed, "conversation.system", "none", LOADED)
    assert changed.setup.system == ""
    assert said == "There is no system prompt now."


def test_no_preset_takes_everything_back() -> None:
    before = answers(Setup(system="Be brief.", speculation=SpeculationSettings(draft_length=9)))
    changed, _ = change(before, "conversation.preset", "none", LOADED)

    assert changed.setup.system is None
    assert changed.speculation.draft_length == 4


def test_every_change_is_a_command() -> None:
    assert set(CHANGES) <= {command.action for command in COMMANDS}


def test_what_holds_is_told_with_who_says_so() -> None:
    settings = Settings(presets={"code": Preset(system="Only code.")})
    plain = AnswerSettings(settings, given={"rule": "token"})
    own, _ = change(plain, "conversation.length", "32", LOADED)
    coded, _ = change(plain, "conversation.preset", "code", LOADED)

    assert present(plain, "conversation.system", LOADED) == "There is no system prompt."
    assert present(coded, "conversation.system", LOADED) == "Set by the preset code: Only code."
    assert present(plain, "conversation.preset", LOADED) == "No preset holds."
    assert present(coded, "conversation.preset", LOADED) == "The preset code holds."
    assert present(own, "conversation.length", LOADED) == (
        "Drafts of 32 tokens. This pair is loaded for at most 16, though; begin specchat with "
        "--draft-length 32 for more. Set by this conversation."
    )
    assert present(plain, "conversation.rule", LOADED) == (
        "Guesses are kept by the rule token. Set by the command line."
    )
    assert present(plain, "conversation.drafter", LOADED).endswith(". As in the settings.")
    assert present(plain, "conversation.seed", LOADED) == (
        "Each answer has a fresh seed. As in the settings."
    )


def test_a_preset_that_is_gone_is_told_of() -> None:
    lost = AnswerSettings(Settings(), setup=Setup(preset="code"))

    assert "code is not in the settings any more" in present(lost, "conversation.preset", LOADED)
    assert in_force(lost) == ["no preset code"]


def test_a_long_system_prompt_is_told_in_part() -> None:
    answers = AnswerSettings(Settings(chat=ChatSettings(system="Be brief.\n" * 100)))

    told = present(answers, "conversation.system", LOADED)
    assert told.startswith("As in the settings: Be brief. Be brief.")
    assert len(told) < 300
    assert "\n" not in told


def test_what_is_not_usual_is_named_in_few_words() -> None:
    unusual = SpeculationSettings(drafter="ngram", draft_length=0, rule="coupled")
    settings = Settings(
        speculation=unusual, presets={"code": Preset(system="Only code.", speculation=unusual)}
    )

    assert in_force(AnswerSettings(Settings())) == []
    seeded = AnswerSettings(Settings(), given={"temperature": 0.0, "seed": 7})
    assert in_force(seeded) == ["temperature 0", "seed 7"]
    assert in_force(AnswerSettings(settings, setup=Setup(preset="code"))) == [
        "preset code", "system prompt", "drafter ngram", "length 0", "rule coupled"
    ]  # fmt: skip
    assert in_force(AnswerSettings(Settings(), setup=Setup(system="Be brief."))) == [
        "system prompt"
    ]


@pytest.mark.parametrize(
    ("setting", "argument", "value", "said"),
    [
        ("temperature", "0.25", 0.25, "Temperature: 0.25."),
        ("top_k", "7", 7, "Top-k: 7."),
        ("seed", "9223372036854775807", 2**63 - 1, "Seed: 9223372036854775807."),
        ("seed", "none", None, "Each answer has a fresh seed."),
    ],
)
def test_a_value_of_the_sampling_holds_in_the_conversation(
    setting: str, argument: str, value: object, said: str
) -> None:
    changed, told = change(answers(), f"conversation.{setting}", argument, LOADED)

    assert getattr(changed.sampling, setting) == value
    assert changed.setup.sampling == changed.sampling
    assert told == said


def test_a_value_of_the_sampling_goes_back_to_that_of_the_settings() -> None:
    changed, _ = change(answers(temperature=0.5), "conversation.temperature", "2", LOADED)
    changed, said = change(changed, "conversation.temperature", "default", LOADED)

    assert changed.sampling.temperature == 0.5
    assert said == "Temperature: 0.5."


def test_a_rule_that_does_not_go_with_a_new_temperature_is_said() -> None:
    greedy, _ = change(answers(temperature=0), "conversation.rule", "greedy", LOADED)
    changed, said = change(greedy, "conversation.temperature", "1", LOADED)

    assert changed.speculation.rule == "auto"
    assert said == "Temperature: 1. The rule greedy does not go with that; the rule is auto."


def test_every_value_of_the_sampling_but_the_biases_has_a_command() -> None:
    settings = {command.setting for command in COMMANDS if command.setting}

    assert settings == {*SamplingSettings.__struct_fields__} - {"logit_bias"}
