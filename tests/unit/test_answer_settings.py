"""What holds for an answer: settings, preset, conversation, command line, each over the last."""

from typing import Any

import pytest
from msgspec.structs import asdict

from specchat.chat.records import Setup
from specchat.choosing.choice import Asked, asked_anew, choose
from specchat.errors import InvalidSetting
from specchat.settings import ChatSettings, LoadingSettings, Preset, Settings
from specchat.speculation.settings import SamplingSettings, SpeculationSettings
from specchat.tui.answer_settings import AnswerSettings

SETTINGS = Settings(
    chat=ChatSettings(system="Be brief.", max_tokens=500),
    sampling=SamplingSettings(temperature=0.5, top_k=20),
    speculation=SpeculationSettings(draft_length=4),
    presets={
        "code": Preset(
            system="Write code.",
            sampling=SamplingSettings(temperature=0, top_k=20),
            speculation=SpeculationSettings(draft_length=8),
        ),
        "wild": Preset(sampling=SamplingSettings(temperature=1.5)),
    },
)
WITH_CODE = Settings(
    chat=ChatSettings(preset="code"), sampling=SETTINGS.sampling, presets=SETTINGS.presets
)


def answers(setup: Setup = Setup(), settings: Settings = SETTINGS, **given: Any) -> AnswerSettings:  # noqa: B008
    return AnswerSettings(settings, given, setup)


def test_without_anything_else_the_settings_hold() -> None:
    plain = answers()

    assert plain.sampling == SETTINGS.sampling
    assert plain.speculation.draft_length == 4
    assert (plain.system, plain.max_tokens, plain.preset) == ("Be brief.", 500, None)


def test_the_preset_wins_over_the_settings_and_the_conversation_over_the_preset() -> None:
    hot = SamplingSettings(temperature=1.2)
    changed = answers(Setup(sampling=hot), WITH_CODE)

    assert answers(settings=WITH_CODE).sampling.temperature == 0
    assert answers(settings=WITH_CODE).system == "Write code."
    assert changed.sampling == hot
    assert changed.speculation.draft_length == 8


def test_a_conversation_may_have_a_preset_of_its_own_or_none() -> None:
    assert answers(Setup(preset="wild"), WITH_CODE).sampling.temperature == 1.5
    assert answers(Setup(preset=""), WITH_CODE).sampling.temperature == 0.5


def test_the_command_line_wins_over_the_conversation() -> None:
    setup = Setup(system="Rhyme.", speculation=SpeculationSettings(draft_length=2))
    given = answers(setup, draft_length=6, system="Hi", max_tokens=9, reproducible=True)

    assert given.speculation == SpeculationSettings(draft_length=6, rule="coupled")
    assert (given.system, given.max_tokens) == ("Hi", 9)
    assert answers(setup, WITH_CODE, preset="wild").sampling.temperature == 1.5


def test_what_is_changed_in_the_chat_wins_over_the_command_line_in_this_conversation() -> None:
    given = answers(draft_length=6, rule="token", temperature=0.3)
    changed = given.with_speculation(draft_length=2)

    assert changed.speculation == SpeculationSettings(draft_length=2, rule="token")
    assert changed.setup == Setup(speculation=SpeculationSettings(draft_length=2))
    assert changed.sampling.temperature == 0.3
    assert changed.for_conversation(Setup()).speculation.draft_length == 6


def test_the_system_prompt_can_be_changed_taken_away_and_left_to_the_settings() -> None:
    given = answers(system="Hi")

    assert given.with_system("Rhyme.").system == "Rhyme."
    assert given.with_system("").system == ""
    assert given.with_system(None).system == "Be brief."


def test_a_preset_that_is_chosen_in_the_chat_replaces_what_was_changed_there() -> None:
    changed = answers(temperature=0.9, preset="wild").with_sampling(top_k=1).with_preset("code")

    assert changed.setup == Setup(preset="code")
    assert changed.preset == "code"
    assert changed.sampling == SETTINGS.presets["code"].sampling
    assert changed.with_preset("").sampling == SETTINGS.sampling


def test_an_unknown_preset_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InvalidSetting, match="Did you mean code"):
        answers().with_preset("cod")


def test_a_preset_that_is_gone_leaves_the_settings_and_is_named() -> None:
    gone = answers(Setup(preset="poems"))

    assert (gone.preset, gone.lost_preset) == (None, "poems")
    assert gone.sampling == SETTINGS.sampling
    assert answers().lost_preset is None


def test_a_rule_that_does_not_go_with_the_sampling_is_refused_where_it_is_chosen() -> None:
    with pytest.raises(InvalidSetting, match=r"temperature 0\.5"):
        answers().with_speculation(rule="greedy")

    assert answers(temperature=0).with_speculation(rule="greedy").speculation.rule == "greedy"


def test_a_rule_left_behind_by_another_temperature_is_left_to_auto() -> None:
    greedy = Setup(speculation=SpeculationSettings(rule="greedy"))

    assert answers(greedy, settings=WITH_CODE).speculation.rule == "greedy"
    assert answers(greedy).speculation.rule == "auto"


@pytest.mark.parametrize("length", [-1, 99])
def test_a_length_out_of_range_is_refused(length: int) -> None:
    with pytest.raises(InvalidSetting, match="draft length"):
        answers().with_speculation(draft_length=length)


def test_what_holds_in_place_of_the_file_is_named_with_who_says_so() -> None:
    setup = Setup(speculation=SpeculationSettings(draft_length=2))
    here = answers(setup, WITH_CODE, top_p=0.5)

    assert here.instead("sampling", "top_p") == (0.5, "the command line")
    assert here.instead("speculation", "draft_length") == (2, "this conversation")
    assert here.instead("sampling", "temperature") == (0, "the preset code")
    assert here.instead("chat", "system") == ("Write code.", "the preset code")
    assert here.instead("sampling", "min_p") is None
    assert here.instead("screen", "theme") is None


def test_options_given_in_full_leave_nothing_to_the_settings() -> None:
    sampling, speculation = SamplingSettings(temperature=0.1), SpeculationSettings(rule="token")
    options = {**asdict(sampling), **asdict(speculation)}
    full = AnswerSettings(SETTINGS, {**options, "system": "Hi", "max_tokens": 7})

    assert (full.sampling, full.speculation) == (sampling, speculation)
    assert (full.system, full.max_tokens) == ("Hi", 7)


def test_the_next_load_is_asked_for_as_the_settings_have_it_then() -> None:
    asked = Asked(target="big.gguf", draft="small.gguf", ctx=1024, threads=2)
    choice = choose(asked)
    later = AnswerSettings(
        Settings(
            loading=LoadingSettings(context=8192, gpu_layers=5),
            speculation=SpeculationSettings(drafter="ngram", draft_length=20),
        ),
        {"threads": 2},
        Setup(speculation=SpeculationSettings(drafter="none")),
    )
    anew = asked_anew(choice, later.asked(choice.asked))

    plan = anew.load.plan
    assert (plan.n_ctx, plan.n_threads, plan.n_gpu_layers) == (8192, 2, 5)
    assert plan.max_draft_length == 20
    assert anew.load.pair.draft is None
    assert anew.files == choice.files
    assert anew.asked.target == "big.gguf"
