"""Which files of a repository are meant."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as some

from specchat.errors import InvalidSetting, NotOnHub
from specchat.hub.naming import (
    companion,
    named_kind,
    quant_of,
    split_names,
    split_part,
    whole_models,
)
from specchat.hub.selection import Wanted, parse_wanted, pick

REPO = "maker/Model-GGUF"
NAMES = [
    "README.md",
    "Model-Q4_K_M.gguf",
    "Model-UD-Q4_K_M.gguf",
    "Model-UD-Q5_K_XL.gguf",
    "Model-Q8_0.gguf",
    "BF16/Model-BF16-00001-of-00002.gguf",
    "BF16/Model-BF16-00002-of-00002.gguf",
    "mmproj-Model-F16.gguf",
    "Model.imatrix.gguf",
]


@pytest.mark.parametrize(
    ("name", "quant"),
    [
        ("Qwen3-8B-UD-Q4_K_XL.gguf", "UD-Q4_K_XL"),
        ("qwen2.5-7b-instruct-q4_k_m.gguf", "Q4_K_M"),
        ("gemma-3-4b-it-qat-q4_0.gguf", "Q4_0"),
        ("Model.IQ4_XS.gguf", "IQ4_XS"),
        ("Model-IQ4_NL.gguf", "IQ4_NL"),
        ("Model-UD-IQ2_XXS.gguf", "UD-IQ2_XXS"),
        ("Model-Q6_K.gguf", "Q6_K"),
        ("Model-Q2_K_L.gguf", "Q2_K_L"),
        ("gpt-oss-20b-mxfp4.gguf", "MXFP4"),
        ("Model-IQ4_XS-4.19bpw.gguf", "IQ4_XS"),
        ("Model-TQ1_0.gguf", "TQ1_0"),
        ("BF16/Model-00001-of-00002.gguf", "BF16"),
        ("Model-F16.gguf", "F16"),
        ("Model.gguf", None),
        ("Seq4_0kM.gguf", None),
    ],
)
def test_a_quantisation_is_read_from_the_name(name: str, quant: str | None) -> None:
    assert quant_of(name) == quant


@given(some.text(max_size=30), some.integers(1, 99_999), some.integers(1, 40))
def test_the_parts_of_a_split_model_name_each_other(stem: str, number: int, count: int) -> None:
    name = f"x{stem}-{number:05}-of-{count:05}.gguf".replace("\n", "")
    part = split_part(name)

    assert part is not None
    assert len(split_names(part)) == count
    assert (name in split_names(part)) == (number <= count)


@given(some.text())
def test_any_text_is_a_name_or_a_sentence(text: str) -> None:
    quant_of(text)
    split_part(text)
    companion(text)
    named_kind(text)
    with suppress(InvalidSetting):
        assert parse_wanted(text).repo.count("/") == 1


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("maker/Model-GGUF", Wanted(REPO)),
        ("maker/Model-GGUF:q4_k_m", Wanted(REPO, "q4_k_m")),
        ("hf.co/maker/Model-GGUF:Q8_0", Wanted(REPO, "Q8_0")),
        ("https://huggingface.co/maker/Model-GGUF", Wanted(REPO)),
        ("https://huggingface.co/maker/Model-GGUF/tree/main", Wanted(REPO)),
        (
            "https://huggingface.co/maker/Model-GGUF/blob/main/Model-Q8_0.gguf",
            Wanted(REPO, "Model-Q8_0.gguf"),
        ),
        (
            "https://huggingface.co/maker/Model-GGUF/resolve/main/sub/Model.gguf?download=true",
            Wanted(REPO, "sub/Model.gguf"),
        ),
    ],
)
def test_an_address_means_the_same_as_a_name(text: str, wanted: Wanted) -> None:
    assert parse_wanted(text) == wanted


@pytest.mark.parametrize(
    ("choice", "picked"),
    [
        (None, "Model-Q4_K_M.gguf"),
        ("q4_k_m", "Model-Q4_K_M.gguf"),
        ("ud-q4_k_m", "Model-UD-Q4_K_M.gguf"),
        ("Q5_K_XL", "Model-UD-Q5_K_XL.gguf"),
        ("model-q8_0.gguf", "Model-Q8_0.gguf"),
        ("Model-Q8*.gguf", "Model-Q8_0.gguf"),
        ("mmproj-Model-F16.gguf", "mmproj-Model-F16.gguf"),
    ],
)
def test_a_quantisation_or_a_name_picks_the_file(choice: str | None, picked: str) -> None:
    assert pick(NAMES, Wanted(REPO, choice)) == (picked,)


@pytest.mark.parametrize(
    "choice", ["bf16", "BF16/Model-BF16-00002-of-00002.gguf", "Model-BF16.gguf"]
)
def test_a_split_model_is_picked_whole(choice: str) -> None:
    assert pick(NAMES, Wanted(REPO, choice)) == (
        "BF16/Model-BF16-00001-of-00002.gguf",
        "BF16/Model-BF16-00002-of-00002.gguf",
    )


def test_a_split_model_without_all_its_parts_is_no_choice() -> None:
    assert whole_models(["a-00001-of-00002.gguf", "b.gguf"]) == [("b.gguf",)]


def test_projectors_are_no_models() -> None:
    with pytest.raises(NotOnHub) as caught:
        pick(NAMES, Wanted(REPO, "F16"))

    assert "No GGUF file there fits F16." in caught.value.message
    assert caught.value.next_step == (
        f"Name one as {REPO}:CHOICE, where CHOICE is one of: "
        "BF16, Q4_K_M, Q8_0, UD-Q4_K_M, UD-Q5_K_XL."
    )


def test_several_files_that_fit_are_all_named() -> None:
    names = ["a-Q4_K_M.gguf", "b-Q4_K_M.gguf"]

    with pytest.raises(NotOnHub) as caught:
        pick(names, Wanted(REPO, "Q4_K_M"))

    assert "2 files fit Q4_K_M." in caught.value.message
    assert "a-Q4_K_M.gguf, b-Q4_K_M.gguf" in caught.value.next_step


def test_a_repository_without_the_usual_quantisation_asks_for_a_choice() -> None:
    with pytest.raises(NotOnHub) as caught:
        pick(["a-Q3_K_M.gguf", "a-Q8_0.gguf"], Wanted(REPO))

    assert "It has 2 GGUF models." in caught.value.message


def test_a_repository_with_one_model_needs_no_choice() -> None:
    assert pick(["odd.gguf", "mmproj.gguf"], Wanted(REPO)) == ("odd.gguf",)


def test_a_repository_without_gguf_files_is_a_sentence() -> None:
    with pytest.raises(NotOnHub, match="no GGUF model"):
        pick(["model.safetensors"], Wanted(REPO, "Q4_K_M"))


def test_many_choices_are_cut_short() -> None:
    with pytest.raises(NotOnHub) as caught:
        pick([f"m{number}-Q4_0.gguf" for number in range(40)], Wanted(REPO, "Q4_0"))

    assert caught.value.next_step.endswith("and 28 more.")


HEADS = [
    "mtp-b-Q4_K_M.gguf",
    "eagle3-b-Q4_K_M.gguf",
    "dflash-b-Q4_0.gguf",
    "MTP/dspark-b-BF16.gguf",
]


@pytest.mark.parametrize(
    ("names", "choice", "picked"),
    [
        (["b-Q8_0.gguf", *HEADS], None, "b-Q8_0.gguf"),
        (["b-Q4_0.gguf", "b-Q8_0.gguf", *HEADS], "Q4_0", "b-Q4_0.gguf"),
        (["b-Q8_0.gguf", *HEADS], "mtp-b-Q4_K_M.gguf", "mtp-b-Q4_K_M.gguf"),
        (["b-Q8_0.gguf", *HEADS], "dspark-b-BF16.gguf", "MTP/dspark-b-BF16.gguf"),
        (["b-Q8_0.gguf", *HEADS], "mtp-*", "mtp-b-Q4_K_M.gguf"),
        (["b-Q4_0.gguf", *HEADS], "*b-Q4_0*", "b-Q4_0.gguf"),
        (["mtp-b-Q4_0.gguf", "mtp-b-Q8_0.gguf"], "Q8_0", "mtp-b-Q8_0.gguf"),
        (["b-MTP-Q4_K_M.gguf", "b-MTP-Q8_0.gguf"], None, "b-MTP-Q4_K_M.gguf"),
        (["b-Q8_0.gguf", "MTP/b-Q8_0.gguf"], "b-Q8_0.gguf", "b-Q8_0.gguf"),
    ],
)
def test_a_head_is_picked_only_where_it_is_named_or_nothing_else_is_there(
    names: list[str], choice: str | None, picked: str
) -> None:
    assert pick(names, Wanted(REPO, choice)) == (picked,)


def test_a_quantisation_that_only_a_head_has_is_answered_with_those_of_the_models() -> None:
    with pytest.raises(NotOnHub) as caught:
        pick(["b-Q8_0.gguf", "mtp-b-Q4_0.gguf"], Wanted(REPO, "Q4_0"))

    assert caught.value.next_step.endswith("CHOICE is one of: Q8_0.")


@pytest.mark.parametrize(
    ("names", "choice", "picked"),
    [
        (["b-Q8_0.gguf", "b-dflash-Q4_K_M.gguf"], None, "b-Q8_0.gguf"),
        (["b-Q8_0.gguf", "b-dflash-Q8_0.gguf"], None, "b-Q8_0.gguf"),
        (["b-Q4_0.gguf", "b-dflash-Q4_0.gguf"], "Q4_0", "b-Q4_0.gguf"),
        (["b-dflash-Q4_K_M.gguf", "b-dflash-Q8_0.gguf"], None, "b-dflash-Q4_K_M.gguf"),
        (["b-dflash-Q4_K_M.gguf", "b-dflash-Q8_0.gguf"], "Q8_0", "b-dflash-Q8_0.gguf"),
    ],
)
def test_a_file_that_turns_out_to_be_a_head_is_no_model_either(
    names: list[str], choice: str | None, picked: str
) -> None:
    assert pick(names, Wanted(REPO, choice), lambda parts: "dflash" in parts[0]) == (picked,)


def test_no_file_is_looked_into_where_the_choice_stays_open() -> None:
    names = ["a-Q8_0.gguf", "b-Q8_0.gguf", "c-dflash-Q8_0.gguf"]
    asked: list[str] = []

    def is_head(parts: tuple[str, ...]) -> bool:
        asked.extend(parts)
        return False

    with pytest.raises(NotOnHub):
        pick(names, Wanted(REPO), is_head)

    assert asked == ["a-Q8_0.gguf", "b-Q8_0.gguf"]


def test_files_of_one_name_are_told_apart_by_their_folders() -> None:
    with pytest.raises(NotOnHub) as caught:
        pick(["x/b-Q8_0.gguf", "y/b-Q8_0.gguf"], Wanted(REPO, "Q8_0"))

    assert caught.value.next_step.endswith("one of: x/b-Q8_0.gguf, y/b-Q8_0.gguf.")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("mtp-gemma-4-12B-it.gguf", "mtp_sidecar"),
        ("gemma-4-12B-it-qat-assistant-MTP-Q8_0.gguf", "mtp_sidecar"),
        ("MTP/gemma-4-12B-it-Q8_0.gguf", "mtp_sidecar"),
        ("eagle3-gpt-oss-20b-Q8_0.gguf", "eagle3"),
        ("Qwen3-4B-DFlash.Q8_0.gguf", "dflash"),
        ("dspark-Qwen3-8B-Q8_0.gguf", "dspark"),
        ("Qwen3-8B-Q8_0.gguf", None),
        ("Smtp-8B-Q8_0.gguf", None),
    ],
)
def test_a_name_may_say_which_kind_of_head_it_is(name: str, kind: str | None) -> None:
    assert named_kind(name) == kind
