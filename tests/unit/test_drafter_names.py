"""Every drafter has its words, on the screen and in sentences."""

from typing import get_args

import pytest
from msgspec.structs import replace

from specchat.commands.pairs import DRAFTERS as IN_THE_TABLE
from specchat.engine.alarms import AnswerFacts, alarms
from specchat.engine.drafter_names import WITH_NGRAMS, WITHOUT_NGRAMS, DrafterName, what_drafts
from specchat.pairing.catalog import DraftType
from specchat.pairing.drafter_type import DraftKind
from specchat.speculation.metrics import Figures
from specchat.tui.widgets.speculation_panel import DRAFTERS, SHORT


def test_the_panel_has_words_for_every_drafter() -> None:
    assert set(DRAFTERS) == set(get_args(DrafterName))
    assert set(SHORT) == set(WITHOUT_NGRAMS)


def test_the_table_of_pairs_has_words_for_every_type_of_a_draft() -> None:
    assert set(IN_THE_TABLE) == {*get_args(DraftType), "none"}


def test_what_drafts_beside_ngrams_drafts_alone_where_it_is_asked_for() -> None:
    assert set(WITH_NGRAMS) == set(get_args(DraftKind)) < set(get_args(DrafterName))
    assert len(WITHOUT_NGRAMS) == len(WITH_NGRAMS)


@pytest.mark.parametrize(
    ("name", "words"),
    [("chain", "draft model"), ("ngram+mtp", "MTP head"), ("dspark", "DSpark head")],
)
def test_an_alarm_names_what_is_too_slow(name: DrafterName, words: str) -> None:
    [alarm] = alarms(
        AnswerFacts(
            figures=replace(Figures(), emitted=100, rounds=90, drafted=90, decode_s=10.0),
            temperature=0.8,
            fixed_length=None,
            model_tested=90,
            model_accepted=10,
            break_even=float("inf"),
            others=0.0,
            what_drafts=what_drafts(name),
        )
    )
    assert alarm.title == f"The {words} is too slow for this target"
