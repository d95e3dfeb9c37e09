"""What is to be measured, checked before anything is loaded."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from specchat.bench.prompts import PromptSet, Question, questions, read_prompt_sets
from specchat.bench.variants import Variant, chosen_variants, default_variants, longest_draft
from specchat.engine.protocol import Load, Pair, Plan
from specchat.errors import InvalidSetting
from specchat.pairing.drafter_type import DraftKind
from specchat.speculation.settings import SamplingSettings

N_CTX = 2048
ROOM_FOR_PROMPT = 1024
"""Tokens, a few times what the longest prompt of ours has."""


class Amounts(msgspec.Struct, frozen=True):
    """How much is measured."""

    prompts: int | None
    """Of each set; None: all."""
    repetitions: int
    max_tokens: int


USUAL = Amounts(None, 2, 128)
QUICK = Amounts(2, 1, 48)


class BenchPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A run that makes sense."""

    load: Load
    variants: tuple[Variant, ...]
    sets: tuple[PromptSet, ...]
    amounts: Amounts
    sampling: SamplingSettings
    server_binary: Path | None = None
    server_draft_length: int = 3
    server_arguments: tuple[str, ...] = ()

    @property
    def questions(self) -> list[Question]:
        """The prompts in the order in which they are asked."""
        return questions(self.sets, self.amounts.prompts)


def make_plan(
    options: Mapping[str, Any], target: str, draft: str | None, kind: DraftKind | None
) -> BenchPlan:
    """The plan that the command's options come to.

    Args:
        kind: what drafts beside n-grams; None: nothing.

    Raises:
        InvalidSetting: an option's value makes no sense.
    """
    sampling = SamplingSettings(
        temperature=options["temperature"],
        top_k=options["top_k"],
        top_p=options["top_p"],
        min_p=options["min_p"],
        seed=options["seed"],
    )
    if options["rpc"] and options["server_binary"]:
        raise InvalidSetting(
            "Tried to compare with llama-server over RPC.",
            "An RPC server serves one program at a time.",
            "Leave out --rpc or --server-binary.",
        )
    usual = QUICK if options["quick"] else USUAL
    amounts = Amounts(
        options["prompts"] or usual.prompts,
        options["repetitions"] or usual.repetitions,
        options["max_tokens"] or usual.max_tokens,
    )
    variants = _variants(options["variants"], kind, sampling, options["quick"])
    for variant in variants:  # a rule that does not go with the sampling is refused now
        variant.speculation.effective_rule(sampling)
    return BenchPlan(
        load=Load(
            pair=Pair(target, draft),
            plan=Plan(
                n_ctx=options["ctx"] or max(N_CTX, ROOM_FOR_PROMPT + amounts.max_tokens),
                n_threads=options["threads"],
                n_gpu_layers=-1 if options["gpu_layers"] is None else options["gpu_layers"],
                rpc=options["rpc"],
                cache_type=options["cache_type"] or "f16",
                draft_cache_type=options["draft_cache_type"],
                experts_in_ram=options["experts_in_ram"],
                max_draft_length=longest_draft(variants),
                draft_required=True,
            ),
        ),
        variants=tuple(variants),
        sets=tuple(read_prompt_sets(options["sets"])),
        amounts=amounts,
        sampling=sampling,
        server_binary=options["server_binary"],
        server_draft_length=options["server_draft_length"],
        server_arguments=tuple(options["server_arguments"]),
    )


def _variants(
    names: Sequence[str], kind: DraftKind | None, sampling: SamplingSettings, quick: bool
) -> list[Variant]:
    if names:
        return chosen_variants(names, kind)
    return default_variants(kind, sampling, quick=quick)
