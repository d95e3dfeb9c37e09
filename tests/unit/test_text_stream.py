"""Text as it becomes certain, however its bytes are cut into tokens and its tokens into rounds."""

import codecs
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from specchat.speculation.text import TextStream


@dataclass
class Cut:
    """A text in pieces: one piece a token, several tokens a round."""

    pieces: list[bytes]
    rounds: list[list[int]]

    @property
    def data(self) -> bytes:
        return b"".join(self.pieces)

    def stream(self, stop: list[str] | None = None) -> TextStream:
        return TextStream(self.pieces.__getitem__, stop or [])


def slices(length: int) -> st.SearchStrategy[list[slice]]:
    """A sequence cut anywhere, into empty pieces too."""
    return st.lists(st.integers(0, length), max_size=30).map(
        lambda places: [slice(*ends) for ends in pairwise([0, *sorted(places), length])]
    )


@st.composite
def cuts(draw: st.DrawFn, data: st.SearchStrategy[bytes]) -> Cut:
    """Tokens of any number of bytes, and rounds of any number of tokens."""
    whole = draw(data)
    pieces = [whole[part] for part in draw(slices(len(whole)))]
    tokens = list(range(len(pieces)))
    return Cut(pieces, [tokens[part] for part in draw(slices(len(tokens)))])


def encoded(text: st.SearchStrategy[str]) -> st.SearchStrategy[bytes]:
    return text.map(str.encode)


few_letters = st.text("aab", max_size=40)
"""Texts in which short stop strings come often."""

any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


def first_complete(text: str, stop: list[str]) -> int | None:
    """Where the stop string begins that is complete first, read letter by letter."""
    for end in range(1, len(text) + 1):
        starts = [end - len(s) for s in stop if s and text[:end].endswith(s)]
        if starts:
            return min(starts)
    return None


def in_pieces(*pieces: str) -> Cut:
    """One token a round."""
    return Cut([piece.encode() for piece in pieces], [[token] for token in range(len(pieces))])


def read(cut: Cut, stop: list[str] | None = None) -> TextStream:
    """The stream after all rounds."""
    stream = cut.stream(stop)
    for tokens in cut.rounds:
        stream.add(tokens)
    stream.finish()
    return stream


@given(cuts(encoded(any_text)))
def test_the_parts_are_the_text_however_it_is_cut(cut: Cut) -> None:
    stream = cut.stream()
    parts = [stream.add(tokens) for tokens in cut.rounds]
    parts.append(stream.finish())

    assert "".join(parts) == stream.text == cut.data.decode()
    assert stream.kept_tokens == len(cut.pieces)
    assert not stream.stopped


@given(cuts(st.binary(max_size=40)))
def test_bytes_that_are_no_text_come_as_in_one_piece(cut: Cut) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")

    assert read(cut).text == decoder.decode(cut.data)


@given(any_text, st.sampled_from("é€😀"), st.data())
def test_half_a_character_at_the_end_is_left_out(text: str, last: str, data: st.DataObject) -> None:
    half = last.encode()[: data.draw(st.integers(1, len(last.encode()) - 1))]
    cut = data.draw(cuts(st.just(text.encode() + half)))

    assert read(cut).text == text


@given(cuts(encoded(any_text)))
def test_without_stop_strings_every_whole_character_comes_at_once(cut: Cut) -> None:
    stream, arrived = cut.stream(), b""
    for tokens in cut.rounds:
        stream.add(tokens)
        arrived += b"".join(cut.pieces[token] for token in tokens)
        assert stream.text == arrived.decode(errors="ignore")


stop_strings = st.lists(st.text("ab", max_size=4), max_size=3)


@given(cuts(encoded(few_letters)), stop_strings)
@example(Cut([b"xabcd"], [[0]]), ["abcd", "bc"])
@example(Cut([b"x", b"ab", b"cd"], [[0, 1, 2]]), ["abcd", "bc"])
def test_the_text_ends_before_the_stop_string_that_is_complete_first(
    cut: Cut, stop: list[str]
) -> None:
    whole = cut.data.decode()
    end = first_complete(whole, stop)
    stream = read(cut, stop)

    assert stream.text == whole[:end]
    assert stream.stopped == (end is not None)


@given(cuts(encoded(few_letters)), stop_strings)
def test_nothing_that_may_belong_to_a_stop_string_is_given_out(cut: Cut, stop: list[str]) -> None:
    whole = cut.data.decode()
    final = whole[: first_complete(whole, stop)]
    stream = cut.stream(stop)
    for tokens in cut.rounds:
        stream.add(tokens)
        assert final.startswith(stream.text)


@given(cuts(encoded(few_letters)), stop_strings)
def test_nothing_is_held_back_but_the_beginning_of_a_stop_string(cut: Cut, stop: list[str]) -> None:
    stream, arrived = cut.stream(stop), ""
    for tokens in cut.rounds:
        stream.add(tokens)
        arrived += b"".join(cut.pieces[token] for token in tokens).decode()
        held = arrived[len(stream.text) :]
        assert stream.stopped or not held or any(text.startswith(held) for text in stop)


@given(cuts(encoded(few_letters)), stop_strings)
def test_the_tokens_kept_are_those_that_begin_before_the_end_of_the_text(
    cut: Cut, stop: list[str]
) -> None:
    stream = read(cut, stop)
    starts = [len(b"".join(cut.pieces[:token])) for token in range(len(cut.pieces))]

    if stream.stopped:
        assert stream.kept_tokens == sum(start < len(stream.text) for start in starts)
    else:
        assert stream.kept_tokens == len(cut.pieces)


@pytest.mark.parametrize(
    ("pieces", "stop", "text", "kept"),
    [
        (["x aa", "ab y"], ["aab"], "x a", 1),
        (["one\n", "\nUs", "er:"], ["User:"], "one\n\n", 2),
        (["one", "User:"], ["User:"], "one", 1),
        (["oneUser:two"], ["User:"], "one", 1),
        (["ab", "c"], ["abc", "ab"], "", 0),
        (["a", "b", "x"], ["abc"], "abx", 3),
        (["grüß", " dich"], ["ß d"], "grü", 1),
        (["a", "", "b"], [""], "ab", 3),
    ],
    ids=[
        "a stop string that begins like itself",
        "over two tokens",
        "a token of its own",
        "inside a token",
        "one the beginning of another",
        "only begun",
        "beyond ASCII",
        "an empty one is no stop string",
    ],
)
def test_stop_strings(pieces: list[str], stop: list[str], text: str, kept: int) -> None:
    stream = read(in_pieces(*pieces), stop)

    assert (stream.text, stream.kept_tokens) == (text, kept)


def test_after_the_stop_nothing_more_is_taken() -> None:
    stream = read(in_pieces("a", "STOP", "b", "c"), ["STOP"])

    assert stream.add([2, 3]) == ""
    assert (stream.text, stream.kept_tokens) == ("a", 1)


def test_what_was_held_back_comes_when_no_stop_follows() -> None:
    stream = in_pieces("a<", "/").stream(["</s>"])

    assert [stream.add([0]), stream.add([1]), stream.finish(), stream.finish()] == [
        "a",
        "",
        "</",
        "",
    ]


@given(cuts(st.binary(max_size=40)))
def test_the_sizes_of_tokens_make_up_the_text(cut: Cut) -> None:
    stream = read(cut)

    assert len(stream.sizes) == len(cut.pieces)
    assert sum(stream.sizes) == len(stream.text)


@given(cuts(encoded(any_text)))
def test_a_character_counts_for_the_token_that_completes_it(cut: Cut) -> None:
    stream, done = read(cut), b""
    for index, piece in enumerate(cut.pieces):
        done += piece

        assert sum(stream.sizes[: index + 1]) == len(done.decode(errors="ignore"))


@given(cuts(encoded(few_letters)), stop_strings)
def test_a_text_that_was_stopped_ends_within_the_sizes_of_the_tokens_kept(
    cut: Cut, stop: list[str]
) -> None:
    stream = read(cut, stop)
    kept = stream.kept_tokens

    assert sum(stream.sizes[:kept]) >= len(stream.text)
    assert sum(stream.sizes[: max(0, kept - 1)]) <= len(stream.text)
