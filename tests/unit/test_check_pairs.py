"""What a person reads about two files before either is loaded. The files are header-only, made
here, with the entries and tensors that such files have."""

from pathlib import Path

import pytest

from specchat.pairing.gguf_file import GgufFile, read_gguf
from specchat.pairing.verdict import Verdict, judge
from support.header_files import TEMPLATE, layers, texts, write_header_file

QWEN_TEXTS = 151_643
QWEN25_ADDED = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *(f"<|{n}|>" for n in range(19))]
QWEN3_ADDED = [*QWEN25_ADDED, "<tool_response>", "</tool_response>", "<think>", "</think>"]
LEAVE_OUT = "leave it out: n-grams of the conversation draft for any model."
N_VOCAB = 300


def holes(tokens: list[str], count: int) -> list[str]:
    """The tokens, filled up to so many rows as llama.cpp's converter does it."""
    return [*tokens, *(f"[PAD{index}]" for index in range(len(tokens), count))]


class Files:
    """Writes header-only files into a folder and reads them again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def dense(
        self,
        name: str,
        *,
        architecture: str = "qwen3",
        n_layers: int = 2,
        width: int = 64,
        tokens: list[str] | None = None,
        extra: dict[str, tuple[int, ...]] | None = None,
        own: dict[str, int] | None = None,
        entries: dict[str, str | int | bool] | None = None,
        tokenizer: str = "gpt2",
        n_ctx_train: int = 32768,
        template: str | None = TEMPLATE,
    ) -> GgufFile:
        """A model with layers of its own."""
        vocabulary = tokens or texts(N_VOCAB)
        extra = extra or {}
        heads = sum(name.endswith("nextn.eh_proj.weight") for name in extra)
        path = write_header_file(
            self.folder / name,
            architecture,
            tokens=vocabulary,
            shapes=layers(n_layers, width, len(vocabulary)) | extra,
            own={"block_count": n_layers + heads, "embedding_length": width} | (own or {}),
            entries=entries,
            tokenizer=tokenizer,
            n_ctx_train=n_ctx_train,
            template=template,
        )
        return read_gguf(path)

    def head(
        self,
        name: str,
        architecture: str,
        *,
        own: dict[str, int | list[int]],
        shapes: dict[str, tuple[int, ...]],
        entries: dict[str, str | int | bool] | None = None,
    ) -> GgufFile:
        """A drafter that is no model of its own."""
        path = write_header_file(
            self.folder / name,
            architecture,
            tokens=texts(N_VOCAB),
            shapes=shapes,
            own=own,
            entries=entries,
        )
        return read_gguf(path)

    def target(self) -> GgufFile:
        """A dense target of four layers."""
        return self.dense("target.gguf", n_layers=4, width=256)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


@pytest.fixture(scope="module")
def qwen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, GgufFile]:
    """Qwen models with vocabularies of their real size."""
    files = Files(tmp_path_factory.mktemp("qwen"))
    qwen25, qwen3 = (texts(QWEN_TEXTS) + added for added in (QWEN25_ADDED, QWEN3_ADDED))
    return {
        "2.5 7B": files.dense(
            "Qwen2.5-7B.gguf", architecture="qwen2", width=3584, tokens=holes(qwen25, 152_064)
        ),
        "2.5 0.5B": files.dense(
            "Qwen2.5-0.5B.gguf", architecture="qwen2", width=896, tokens=holes(qwen25, 151_936)
        ),
        "3 8B": files.dense("Qwen3-8B.gguf", width=4096, tokens=holes(qwen3, 151_936)),
    }


def finding(verdict: Verdict, topic: str) -> str:
    """The sentence on a subject."""
    [sentence] = [finding.sentence for finding in verdict.findings if finding.topic == topic]
    return sentence


def test_a_small_model_of_the_same_family_fits(files: Files) -> None:
    verdict = judge(files.target(), files.dense("draft.gguf"))

    assert (verdict.usable, verdict.kind, verdict.drafter) == (True, "fits", "model")
    assert verdict.sentence == "draft.gguf can draft for target.gguf."
    assert verdict.advice == "Start the chat with --target and --draft."
    assert [finding.level for finding in verdict.findings] == ["good"] * 9
    assert finding(verdict, "vocabulary") == (
        "Both have 300 tokens (byte-level BPE), with the same texts."
    )
    assert finding(verdict, "size") == "The draft has 4% of the target's bytes."


def test_qwen25_with_128_rows_less_fits_the_7b(qwen: dict[str, GgufFile]) -> None:
    verdict = judge(qwen["2.5 7B"], qwen["2.5 0.5B"])

    assert verdict.sentence == "Qwen2.5-0.5B.gguf can draft for Qwen2.5-7B.gguf."
    assert finding(verdict, "vocabulary") == (
        "The target has 152,064 tokens, the draft 151,936 (byte-level BPE), with the same texts."
    )
    assert finding(verdict, "llama.cpp") == "Its own rule takes these vocabularies."


def test_qwen25_drafts_for_qwen3_here_though_llama_cpp_refuses(qwen: dict[str, GgufFile]) -> None:
    verdict = judge(qwen["3 8B"], qwen["2.5 0.5B"])

    assert verdict.usable
    assert verdict.sentence == "Qwen2.5-0.5B.gguf can draft for Qwen3-8B.gguf."
    assert finding(verdict, "vocabulary") == (
        "Both have 151,936 tokens (byte-level BPE); for 4 ids only one side has a token."
    )
    assert finding(verdict, "llama.cpp") == (
        "Its own rule refuses them. Token 151,665 is '<tool_response>' for the target and "
        "'[PAD151665]' for the draft. 4 tokens differ."
    )


def test_a_vocabulary_that_is_129_tokens_larger_does_not_fit(files: Files) -> None:
    draft = files.dense("draft.gguf", tokens=texts(N_VOCAB + 129))

    verdict = judge(files.target(), draft)

    assert (verdict.usable, verdict.kind) == (False, "other_vocabulary")
    assert verdict.sentence == (
        "draft.gguf cannot draft for target.gguf. Its vocabulary has 429 tokens, the target's has "
        "300."
    )
    assert verdict.advice == f"Choose a draft of the same family, or {LEAVE_OUT}"


def test_more_than_128_rows_that_stand_for_nothing_do_no_harm(files: Files) -> None:
    draft = files.dense("draft.gguf", tokens=holes(texts(N_VOCAB), N_VOCAB + 200))

    verdict = judge(files.target(), draft)

    assert verdict.sentence == "draft.gguf can draft for target.gguf."
    assert finding(verdict, "llama.cpp") == (
        "Its own rule refuses them. Its vocabulary has 500 tokens, the target's has 300."
    )


def test_a_draft_that_begins_texts_in_another_way_does_not_fit(files: Files) -> None:
    entries: dict[str, str | int | bool] = {
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.add_bos_token": True,
    }
    target = files.dense("target.gguf", width=256, entries=entries)
    draft = files.dense("draft.gguf", entries=entries | {"tokenizer.ggml.add_bos_token": False})

    verdict = judge(target, draft)

    assert verdict.sentence == (
        "draft.gguf cannot draft for target.gguf. It begins a text with another token than the "
        "target."
    )
    assert verdict.advice == (
        "Look for a newer file of the draft, as this is often a publisher's mistake, or "
        f"{LEAVE_OUT}"
    )
    assert finding(verdict, "begin and end") == (
        "The target adds token 1 't1' at the beginning, the draft nothing."
    )


def test_gemma_4_begins_with_bos_whatever_its_file_says(files: Files) -> None:
    entries: dict[str, str | int | bool] = {"tokenizer.ggml.bos_token_id": 2}
    target = files.dense("new.gguf", width=256, tokenizer="gemma4", entries=entries)
    old = entries | {"tokenizer.ggml.add_bos_token": False}
    draft = files.dense("old.gguf", tokenizer="gemma4", entries=old)

    assert judge(target, draft).sentence == "old.gguf can draft for new.gguf."


def test_the_first_token_that_differs_is_named_with_both_texts(files: Files) -> None:
    draft = files.dense("draft.gguf", tokens=texts(N_VOCAB, (139, "<other>")))

    verdict = judge(files.target(), draft)

    assert verdict.sentence == (
        "draft.gguf cannot draft for target.gguf. Token 139 is 't139' for the target and "
        "'<other>' for the draft."
    )


def test_it_is_said_how_many_tokens_differ(files: Files) -> None:
    changed = [(index, f"\x1b[31m{index}") for index in range(100, 250)]
    draft = files.dense("draft.gguf", tokens=texts(N_VOCAB, *changed))

    verdict = judge(files.target(), draft)

    assert verdict.sentence == (
        "draft.gguf cannot draft for target.gguf. Token 100 is 't100' for the target and "
        r"'\x1b[31m100' for the draft. 150 tokens differ."
    )


def test_another_kind_of_tokenizer_does_not_fit(files: Files) -> None:
    draft = files.dense("draft.gguf", architecture="llama", tokenizer="llama")

    verdict = judge(files.target(), draft)

    assert verdict.sentence == (
        "draft.gguf cannot draft for target.gguf. It uses another kind of tokenizer than the "
        "target."
    )
    assert finding(verdict, "vocabulary") == (
        "The target's tokenizer is byte-level BPE, the draft's SentencePiece."
    )


def test_a_draft_as_large_as_its_target_saves_nothing(files: Files) -> None:
    draft = files.dense("draft.gguf", n_layers=4, width=256)

    verdict = judge(files.target(), draft)

    assert (verdict.usable, verdict.kind) == (True, "too_large")
    assert verdict.sentence == (
        "draft.gguf can draft for target.gguf, but it is too large to save time."
    )
    assert verdict.advice == f"Choose a draft of a tenth of the target's size, or {LEAVE_OUT}"


def test_special_tokens_template_and_context_may_differ_and_are_named(files: Files) -> None:
    draft = files.dense(
        "draft.gguf",
        entries={"tokenizer.ggml.eos_token_id": 7, "tokenizer.ggml.eot_token_id": 9},
        template="{{ messages }}",
        n_ctx_train=8192,
    )

    verdict = judge(files.target(), draft)

    assert verdict.sentence == "draft.gguf can draft for target.gguf."
    assert finding(verdict, "special tokens") == (
        "EOS is 11 for the target and 7 for the draft; EOT is none for the target and 9 for the "
        "draft. The target's are used."
    )
    assert finding(verdict, "chat template") == "They differ; the target's is used for both."
    assert finding(verdict, "context") == (
        "The target was trained for 32,768 tokens, the draft for 8,192: further on its guesses "
        "get worse."
    )


def test_sliding_windows_can_be_undone(files: Files) -> None:
    window = {"attention.sliding_window": 512}
    target = files.dense("target.gguf", architecture="gemma3", width=256, own=window)
    draft = files.dense("draft.gguf", architecture="gemma3", own=window)

    verdict = judge(target, draft)

    assert verdict.sentence == "draft.gguf can draft for target.gguf."
    assert finding(verdict, "memory") == "Both have a sliding window: guesses can be undone."


def test_mtp_heads_in_the_target_are_found_by_their_tensors(files: Files) -> None:
    target = files.dense("glm.gguf", architecture="glm4moe", extra=mtp_head(2))

    verdict = judge(target)

    assert (verdict.usable, verdict.drafter) == (True, "mtp")
    assert verdict.sentence == (
        "glm.gguf can answer. It has 1 MTP head built in, which drafts for it beside n-grams of "
        "the conversation."
    )
    assert verdict.advice == "Start the chat with --target."
    assert finding(verdict, "drafter") == "It has 1 MTP head built in."


def test_mtp_heads_that_llama_cpp_cannot_run_are_named_as_such(files: Files) -> None:
    target = files.dense("other.gguf", architecture="exaone4", extra=mtp_head(2))

    assert judge(target).sentence == (
        "other.gguf can answer. llama.cpp has no way to run its 1 MTP head; n-grams of the "
        "conversation draft for it."
    )


def test_mtp_heads_that_are_only_promised_are_told_apart(files: Files) -> None:
    target = files.dense("glm.gguf", architecture="glm4moe", own={"nextn_predict_layers": 1})

    verdict = judge(target)

    assert (verdict.usable, verdict.drafter) == (True, "model")
    assert verdict.sentence == (
        "glm.gguf can answer. Its header promises 1 MTP head, but the file has none; "
        "n-grams of the conversation draft for it."
    )


def mtp_head(layer: int, width: int = 64) -> dict[str, tuple[int, ...]]:
    """The tensors of an MTP head, as far as they tell."""
    return {
        f"blk.{layer}.attn_norm.weight": (width,),
        f"blk.{layer}.nextn.eh_proj.weight": (width, 2 * width),
    }


def sidecar(files: Files, width: int = 64) -> GgufFile:
    """The heads of a GLM model of that width, alone."""
    return files.head(
        "draft.gguf",
        "glm4moe",
        own={"block_count": 3, "embedding_length": width, "nextn_predict_layers": 1},
        shapes=mtp_head(2, width),
    )


def test_an_mtp_sidecar_is_known_by_its_tensors_and_drafts_for_its_target(files: Files) -> None:
    target = files.dense("glm.gguf", architecture="glm4moe", n_layers=2)

    verdict = judge(target, sidecar(files))

    assert (verdict.usable, verdict.kind, verdict.drafter) == (True, "fits", "mtp_sidecar")
    assert verdict.sentence == "draft.gguf, an MTP sidecar, can draft for glm.gguf."
    assert finding(verdict, "target") == "It was made for a target of width 64."
    assert {each.level for each in verdict.findings} == {"good"}


def test_heads_are_refused_for_a_target_whose_states_cannot_be_had(files: Files) -> None:
    verdict = judge(files.target(), sidecar(files, 256))

    assert (verdict.usable, verdict.kind) == (False, "other_target")
    assert verdict.sentence == (
        "draft.gguf, an MTP sidecar, cannot draft for target.gguf. llama.cpp does not give out the "
        "hidden states of qwen3."
    )
    assert verdict.advice == f"Choose a head that was made for this model, or {LEAVE_OUT}"


def test_a_gemma_4_assistant_is_an_mtp_sidecar_for_gemma_4_alone(files: Files) -> None:
    assistant = files.head(
        "mtp-gemma-4.gguf",
        "gemma4-assistant",
        own={"block_count": 4, "embedding_length": 64, "embedding_length_out": 256},
        shapes={"nextn.pre_projection.weight": (64, 512)},
    )
    gemma = files.dense("gemma.gguf", architecture="gemma4", n_layers=4, width=256)
    other = files.dense("other.gguf", architecture="glm4moe", n_layers=4, width=256)

    assert judge(gemma, assistant).sentence == (
        "mtp-gemma-4.gguf, an MTP sidecar, can draft for gemma.gguf."
    )
    assert judge(other, assistant).sentence == (
        "mtp-gemma-4.gguf, an MTP sidecar, cannot draft for other.gguf. It was made for gemma4, "
        "and the target is glm4moe."
    )


EAGLE3 = {"fc.weight": (64, 768), "d2t": (100,), "output.weight": (100, 64)}


def eagle3(files: Files, own: dict[str, int | list[int]] | None = None) -> GgufFile:
    """A head that knows 100 tokens, for the target of these tests."""
    made = own or {"target_hidden_size": 256, "target_layers": [1, 2, 3]}
    return files.head("eagle3.gguf", "eagle3", own=made, shapes=EAGLE3)


def test_an_eagle3_draft_with_few_tokens_drafts_for_its_target(files: Files) -> None:
    verdict = judge(files.target(), eagle3(files))

    assert (verdict.usable, verdict.kind, verdict.drafter) == (True, "fits", "eagle3")
    assert verdict.sentence == "eagle3.gguf, an EAGLE-3 draft, can draft for target.gguf."
    assert finding(verdict, "drafter") == "An EAGLE-3 draft. It guesses 100 of 300 tokens."
    assert finding(verdict, "target") == (
        "It was made for a target of width 256, and reads the layers 1, 2, 3 of 4."
    )


@pytest.mark.parametrize(
    ("own", "problem"),
    [
        (
            {"target_hidden_size": 4096, "target_layers": [1, 2, 3]},
            "It was made for a target of width 4,096, and this one has 256.",
        ),
        (
            {"target_hidden_size": 256, "target_layers": [2, 16, 29]},
            "It reads the layers 2, 16, 29 of its target, and this one has 4.",
        ),
        (
            {"target_hidden_size": 256, "target_layers": [1, 2]},
            "It reads 2 layers of its target, where EAGLE-3 reads 3.",
        ),
        ({"target_hidden_size": 256}, "It reads 0 layers of its target, where EAGLE-3 reads 3."),
    ],
)
def test_an_eagle3_draft_of_another_target_is_refused_with_the_difference(
    files: Files, own: dict[str, int | list[int]], problem: str
) -> None:
    verdict = judge(files.target(), eagle3(files, own))

    assert (verdict.usable, verdict.kind) == (False, "other_target")
    assert verdict.sentence == (
        f"eagle3.gguf, an EAGLE-3 draft, cannot draft for target.gguf. {problem}"
    )


def test_the_state_after_the_last_layer_is_read_where_llama_cpp_gives_it_out(files: Files) -> None:
    after: dict[str, int | list[int]] = {"target_hidden_size": 256, "target_layers": [1, 2, 4]}
    hybrid = files.dense("hybrid.gguf", architecture="qwen35", n_layers=4, width=256)

    assert judge(hybrid, eagle3(files, after)).usable
    assert not judge(files.target(), eagle3(files, after)).usable


def test_a_head_has_as_many_tokens_as_its_target(files: Files) -> None:
    """It may share the target's matrices; how its own texts would begin is of no matter."""
    begins: dict[str, str | int | bool] = {
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.add_bos_token": True,
    }
    target = files.dense("target.gguf", n_layers=4, width=256, entries=begins)
    larger = files.dense("larger.gguf", n_layers=4, width=256, tokens=texts(N_VOCAB + 8))

    assert judge(target, eagle3(files)).usable
    assert judge(larger, eagle3(files)).sentence == (
        "eagle3.gguf cannot draft for larger.gguf. Its vocabulary has 300 tokens, the target's has "
        "308."
    )


MASK: dict[str, str | int | bool] = {"tokenizer.ggml.mask_token_id": 299}


@pytest.mark.parametrize(
    ("markov", "kind", "name"),
    [({}, "dflash", "a DFlash"), ({"markov_w1.weight": (N_VOCAB, 8)}, "dspark", "a DSpark")],
)
def test_a_markov_head_tells_dspark_from_dflash(
    files: Files, markov: dict[str, tuple[int, ...]], kind: str, name: str
) -> None:
    draft = block_draft(files, markov)

    verdict = judge(files.target(), draft)

    assert (verdict.usable, verdict.drafter) == (True, kind)
    assert verdict.sentence == f"draft.gguf, {name} draft, can draft for target.gguf."


def block_draft(
    files: Files,
    more: dict[str, tuple[int, ...]] | None = None,
    entries: dict[str, str | int | bool] | None = None,
) -> GgufFile:
    """A DFlash draft for the target of these tests."""
    return files.head(
        "draft.gguf",
        "dflash",
        own={"embedding_length": 256, "block_size": 8, "target_layers": [1, 3]},
        shapes={"fc.weight": (256, 512)} | (more or {}),
        entries=MASK if entries is None else entries,
    )


def test_a_block_draft_without_a_mask_or_of_a_second_kind_is_refused(files: Files) -> None:
    assert judge(files.target(), block_draft(files, entries={})).sentence == (
        "draft.gguf, a DFlash draft, cannot draft for target.gguf. Its file does not name the "
        "token that stands for a guess."
    )
    second = block_draft(files, {"selector_hidden.weight": (64, 256)})
    assert "DFlash 2" in judge(files.target(), second).sentence


def test_snapshots_undo_the_guesses_for_a_hybrid_target(files: Files) -> None:
    target = files.dense("qwen3.5.gguf", architecture="qwen35", width=256)

    alone, pair = judge(target), judge(target, files.dense("draft.gguf"))

    assert alone.usable
    assert alone.sentence == (
        "qwen3.5.gguf can answer. It brings no drafter of its own; n-grams of the conversation "
        "draft for it."
    )
    assert finding(alone, "memory") == (
        "KV cache and recurrent state: snapshots of it undo guesses, up to 8 at once."
    )
    assert pair.usable
    assert finding(pair, "memory") == (
        "The draft has a plain KV cache, the target a KV cache and recurrent state: snapshots of "
        "it undo guesses, up to 8 at once."
    )


def test_without_snapshots_what_was_right_is_decoded_once_more(files: Files) -> None:
    target = files.dense("mamba.gguf", architecture="mamba", width=256)

    verdict = judge(target)

    assert finding(verdict, "memory") == (
        "Recurrent state: after a wrong guess, what was right is decoded once more."
    )
    assert [each.level for each in verdict.findings if each.topic == "memory"] == ["note"]


def test_a_recurrent_model_drafts_like_any_other(files: Files) -> None:
    verdict = judge(files.target(), files.dense("mamba.gguf", architecture="mamba"))

    assert verdict.usable
    assert finding(verdict, "memory") == (
        "The draft has a recurrent state, the target a plain KV cache: guesses can be undone."
    )


def test_a_drafter_named_as_target_is_sent_to_its_target(files: Files) -> None:
    draft = files.head("eagle3.gguf", "eagle3", own={}, shapes=EAGLE3)

    verdict = judge(draft, files.target())

    assert (verdict.usable, verdict.kind) == (False, "no_target")
    assert verdict.sentence == (
        "eagle3.gguf is an EAGLE-3 draft: it guesses for its target and answers nobody."
    )
    assert verdict.advice == "Name the model that it was made for as TARGET."


@pytest.mark.parametrize(
    ("architecture", "entries", "reason"),
    [
        ("clip", {}, "Its architecture, clip, reads images for another model."),
        ("bert", {}, "Its architecture, bert, makes embeddings."),
        ("llama", {"general.type": "adapter"}, "It is an adapter for another model."),
    ],
)
def test_files_that_write_no_text_are_neither_target_nor_draft(
    files: Files, architecture: str, entries: dict[str, str | int | bool], reason: str
) -> None:
    other = files.dense("other.gguf", architecture=architecture, entries=entries)

    assert judge(other).sentence == f"other.gguf cannot answer. {reason}"
    assert judge(files.target(), other).sentence == (
        f"other.gguf cannot draft for target.gguf. {reason}"
    )
