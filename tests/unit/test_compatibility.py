"""Whether a draft speaks the target's vocabulary."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.pairing.compatibility import (
    MAX_SIZE_DIFFERENCE,
    VocabularyFacts,
    compare,
    vocabulary_difference,
)

TARGET = VocabularyFacts(
    kind=2,
    adds_bos=True,
    bos=1,
    adds_eos=False,
    eos=2,
    texts=[f"token {index}".encode() for index in range(300)],
)


def with_size(size: int) -> VocabularyFacts:
    """The same tokens as far as they go, then more of them."""
    return replace(TARGET, texts=[f"token {index}".encode() for index in range(size)])


def with_texts(*changed: tuple[int, bytes]) -> VocabularyFacts:
    texts = list(TARGET.texts)
    for index, text in changed:
        texts[index] = text
    return replace(TARGET, texts=texts)


def test_the_same_vocabulary_is_compatible() -> None:
    assert vocabulary_difference(TARGET, replace(TARGET)) is None


@pytest.mark.parametrize(
    ("draft", "reason"),
    [
        (replace(TARGET, kind=1), "another kind of tokenizer"),
        (replace(TARGET, adds_bos=False), "begins a text with another token"),
        (replace(TARGET, bos=7), "begins a text with another token"),
        (replace(TARGET, adds_eos=True), "ends a text with another token"),
    ],
)
def test_a_difference_is_named(draft: VocabularyFacts, reason: str) -> None:
    found = vocabulary_difference(TARGET, draft)

    assert found is not None
    assert reason in found


def test_an_end_token_that_is_added_has_to_be_the_same() -> None:
    target = replace(TARGET, adds_eos=True)
    found = vocabulary_difference(target, replace(target, eos=9))

    assert found is not None
    assert "ends a text with another token" in found


def test_tokens_that_are_never_added_may_differ() -> None:
    target = replace(TARGET, adds_bos=False, adds_eos=False)

    assert vocabulary_difference(target, replace(target, bos=7, eos=9)) is None


@pytest.mark.parametrize("direction", [1, -1])
def test_sizes_may_differ_by_128_tokens_and_no_more(direction: int) -> None:
    at_most = with_size(300 + direction * MAX_SIZE_DIFFERENCE)
    too_many = with_size(300 + direction * (MAX_SIZE_DIFFERENCE + 1))
    found = vocabulary_difference(TARGET, too_many)

    assert MAX_SIZE_DIFFERENCE == 128
    assert vocabulary_difference(TARGET, at_most) is None
    assert found == f"Its vocabulary has {len(too_many.texts)} tokens, the target's has 300."


@pytest.mark.parametrize("index", [*range(7), 150, 299])
def test_another_text_counts_from_the_sixth_token_on(index: int) -> None:
    found = vocabulary_difference(TARGET, with_texts((index, b"other")))

    if index < 5:
        assert found is None
    else:
        assert (
            found == f"Token {index} is 'token {index}' for the target and 'other' for the draft."
        )


def test_the_first_of_several_differences_is_shown_even_if_it_is_no_text() -> None:
    found = vocabulary_difference(TARGET, with_texts((200, b"later"), (100, b"\xff\xfe")))

    assert found is not None
    assert found.startswith("Token 100 is")
    assert "\ufffd" in found


@given(st.integers(0, 600), st.integers(0, 600))
def test_compatibility_is_mutual(one: int, other: int) -> None:
    forth = vocabulary_difference(with_size(one), with_size(other))
    back = vocabulary_difference(with_size(other), with_size(one))

    assert (forth is None) == (back is None)


@pytest.mark.parametrize("index", [5, 150, 299])
def test_a_hole_on_either_side_is_no_difference_here_but_one_to_llama_cpp(index: int) -> None:
    holey = with_texts((index, b"[PAD%d]" % index))

    for one, other in ((TARGET, holey), (holey, TARGET)):
        comparison = compare(one, other)
        assert (comparison.ours, comparison.n_holes) == (None, 1)
        assert comparison.llama_cpp is not None
        assert f"Token {index} is" in comparison.llama_cpp.sentence


def test_a_text_that_looks_like_the_hole_of_another_id_is_a_token() -> None:
    assert vocabulary_difference(TARGET, with_texts((7, b"[PAD8]"))) is not None
    assert vocabulary_difference(TARGET, with_texts((7, b"[PAD7] "))) is not None


def test_a_real_difference_beside_holes_is_the_one_that_is_named() -> None:
    comparison = compare(TARGET, with_texts((10, b"[PAD10]"), (20, b"other"), (30, b"more")))

    assert comparison.ours is not None
    assert comparison.ours.sentence == (
        "Token 20 is 'token 20' for the target and 'other' for the draft. 2 tokens differ."
    )
    assert comparison.llama_cpp is not None
    assert comparison.llama_cpp.sentence == (
        "Token 10 is 'token 10' for the target and '[PAD10]' for the draft. 3 tokens differ."
    )


def test_more_rows_than_128_do_no_harm_if_all_of_them_are_holes() -> None:
    holes = [b"[PAD%d]" % index for index in range(300, 600)]
    longer = replace(TARGET, texts=[*TARGET.texts, *holes])
    with_one_token = replace(TARGET, texts=[*TARGET.texts, *holes[:-1], b"a token"])

    assert vocabulary_difference(TARGET, longer) is None
    assert vocabulary_difference(longer, TARGET) is None
    assert compare(TARGET, longer).llama_cpp is not None
    assert vocabulary_difference(TARGET, with_one_token) is not None


TOKENS = st.one_of(st.just("hole"), st.sampled_from([b"a", b"b"]))


def vocabulary(drawn: list[str | bytes]) -> VocabularyFacts:
    texts = [
        token if isinstance(token, bytes) else b"[PAD%d]" % index
        for index, token in enumerate(drawn)
    ]
    return replace(TARGET, texts=texts)


@given(st.lists(TOKENS, max_size=20), st.lists(TOKENS, max_size=20))
def test_what_llama_cpp_takes_we_take_and_both_are_mutual(
    one: list[str | bytes], other: list[str | bytes]
) -> None:
    forth = compare(vocabulary(one), vocabulary(other))
    back = compare(vocabulary(other), vocabulary(one))

    assert (forth.ours is None) == (back.ours is None)
    assert (forth.llama_cpp is None) == (back.llama_cpp is None)
    assert forth.ours is None or forth.llama_cpp is not None
