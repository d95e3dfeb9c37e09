"""Drafted and accepted tokens of every type of heads, beside those of a llama-server.

The same tiny models, whose heads are often right, the same prompts as the same tokens, greedy, the
same draft length. Three runs of each: llama-server's; the session's; and the session's with three
habits of llama-server, which docs/methods.md explains. The first and the last have to be equal.

    PYTHONPATH=tests python tests/benchmarks/head_counts.py --server-binary ./llama-server
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np

from specchat.bench.server import Program, Server, ServerPlan, arguments
from specchat.engine.drafter_names import WITHOUT_NGRAMS
from specchat.engine.protocol import Message, Plan
from specchat.llama.context import Context
from specchat.llama.feature_heads import BlockContext
from specchat.llama.hidden import States
from specchat.llama.library import Library, open_library
from specchat.speculation.controller import FixedLength
from specchat.speculation.drafters.mtp import MtpDrafter
from specchat.speculation.settings import SpeculationSettings
from support.gguf_models import byte_ids
from support.head_recipes import TARGETS
from support.heads import (
    write_assistant,
    write_block,
    write_gemma,
    write_mtp,
    write_sidecar,
    write_without_heads,
)
from support.orderly_models import LETTERS, write_orderly
from support.pointed_heads import write_pointed_dflash, write_pointed_eagle3
from support.speaking import Speaker, said, speak

N_CTX = 1024
N_PROMPTS, TOKENS = 100, 24
"""Greedy text of models this small soon goes round in a circle, where every round is the same: many
short answers to different prompts have more to count than a few long ones."""
Write = Callable[[Library, Path], Path]


class Pair(NamedTuple):
    """How a pair's files are written."""

    target: Write
    head: Write | None = None
    """None: the heads are in the target's file."""


def prompts() -> list[str]:
    """Letters without order, the same ones every time."""
    random = np.random.default_rng(1)
    lengths = random.integers(4, 40, N_PROMPTS)
    return ["".join(random.choice(list(LETTERS), length)) for length in lengths]


PROMPTS = prompts()


def _mtp(kind: str) -> Write:
    return lambda library, path: write_mtp(library, path, kind)


def _dense(library: Library, path: Path) -> Path:
    return write_orderly(library, path, TARGETS["dense"])


def _block(kind: str) -> Write:
    return lambda library, path: write_block(library, path, kind)


PAIRS: dict[str, Pair] = {
    "`mtp`": Pair(_mtp("one head")),
    "`mtp`, hybrid target": Pair(_mtp("one head, hybrid")),
    "`mtp`, two heads": Pair(_mtp("two heads")),
    "`mtp`, a file of its own": Pair(
        lambda library, path: write_without_heads(library, path, "one head"),
        lambda library, path: write_sidecar(library, path, "one head"),
    ),
    "`mtp`, Gemma's assistant": Pair(write_gemma, write_assistant),
    "`eagle3`, all tokens": Pair(_dense, write_pointed_eagle3),
    "`eagle3`, some tokens": Pair(
        _dense, lambda library, path: write_pointed_eagle3(library, path, n_known=12)
    ),
    "`dflash`": Pair(_dense, write_pointed_dflash),
    "`dspark`": Pair(_dense, _block("dspark")),
    "`dspark`, first guess after the last token": Pair(_dense, _block("dspark, apart")),
}


class Counts(NamedTuple):
    """Sums over the prompts, and the texts they are of."""

    drafted: int
    accepted: int
    texts: tuple[tuple[int, ...], ...]

    @property
    def shown(self) -> str:
        """As in the table of docs/methods.md."""
        return f"{self.drafted} / {self.accepted}"


class AfterOneToken(FixedLength):
    """Drafts nothing in the first round: llama-server draws an answer's first token plainly."""

    def __init__(self, length: int) -> None:
        super().__init__(length)
        self._begun = False

    def begin(self, limit: int, pending: int = 0) -> bool:
        """Not before there is a token."""
        begun, self._begun = self._begun, True
        return begun and super().begin(limit, pending)


class GoingOn:
    """Between a target and its MTP heads: the first token of a text goes in with the state that the
    text before it ended with, as in llama-server, where `pending_h` outlives an answer."""

    def __init__(self, target: Context, drafter: MtpDrafter) -> None:
        self._target, self._drafter = target, drafter
        self._left: States | None = None
        self.reusable = drafter.reusable
        target.listener = self

    def decoded(self, start: int, tokens: Sequence[int]) -> None:
        """The drafter hears it, then has another first state."""
        self._drafter.decoded(start, tokens)
        if start == 0 and self._left is not None:
            self._drafter._kept.of(0, 1)[:] = self._left

    def end(self) -> None:
        """An answer is over: the next one is read from its first token on."""
        n_past = len(self._target.tokens)
        self._left = self._drafter._kept.of(n_past, n_past + 1).copy()


def of_session(speaker: Speaker, length: int) -> Counts:
    """As a person's question is answered."""
    drafted = accepted = 0
    texts = []
    for prompt in PROMPTS:
        answer = speaker.answer(
            Message("user", prompt),
            speculation=SpeculationSettings(drafter="model", draft_length=length),
            max_tokens=TOKENS,
        )
        assert answer.figures.prompt_tokens == len(byte_ids(prompt))
        drafted += answer.figures.drafted
        accepted += answer.figures.accepted
        texts.append(answer.tokens)
    return Counts(drafted, accepted, tuple(texts))


def of_session_like_server(speaker: Speaker, length: int) -> Counts:
    """The same target and drafter, with llama-server's first round, size of a block and state."""
    target, draft = speaker.session._context, speaker.session._draft
    assert target is not None
    assert draft is not None
    if isinstance(draft.context, BlockContext):
        draft.context._block_size = length + draft.context.first_row
    going_on = GoingOn(target, draft.drafter) if isinstance(draft.drafter, MtpDrafter) else None
    answers = []
    for prompt in PROMPTS:
        target.rollback(0)
        draft.drafter.rollback(0)
        controller = AfterOneToken(length)
        answers.append(
            speak(
                target,
                draft.drafter,
                byte_ids(prompt),
                tokens=TOKENS,
                draft_length=length,
                controller=controller,
            )
        )
        if going_on is not None:
            going_on.end()
    return Counts(
        sum(step.drafted for rounds in answers for step in rounds),
        sum(step.accepted for rounds in answers for step in rounds),
        tuple(tuple(said(rounds)) for rounds in answers),
    )


async def of_server(program: Program, plan: ServerPlan) -> Counts:
    """llama-server's own counts."""
    server = await Server.start(program.path, arguments(plan, program.help_text))
    try:
        answers = [
            await server.complete(
                {
                    "prompt": byte_ids(prompt),
                    "n_predict": TOKENS,
                    "temperature": 0,
                    "cache_prompt": False,
                    "return_tokens": True,
                }
            )
            for prompt in PROMPTS
        ]
    finally:
        await server.close()
    return Counts(
        sum(answer.timings.draft_n for answer in answers),
        sum(answer.timings.draft_n_accepted for answer in answers),
        tuple(answer.tokens for answer in answers),
    )


def compare(library: Library, folder: Path, pair: Pair, program: Program, length: int) -> str:
    """The cells of a pair's row, and a word about what must not be."""
    target = pair.target(library, folder / "target.gguf")
    head = None if pair.head is None else pair.head(library, folder / "head.gguf")
    speaker = Speaker(
        library,
        target,
        head,
        Plan(
            n_ctx=N_CTX,
            n_threads=1,
            max_draft_length=length,
            measure_costs=False,
            draft_required=True,
        ),
    )
    kind = WITHOUT_NGRAMS[speaker.session.loaded().drafter]
    ours, like_server = of_session(speaker, length), of_session_like_server(speaker, length)
    speaker.session.close()
    plan = ServerPlan(
        target=str(target),
        draft=None if head is None else str(head),
        n_ctx=N_CTX,
        n_threads=1,
        n_gpu_layers=0,
        draft_length=length,
        greedy=True,
        spec_type=f"draft-{kind}",
        built_in=head is None,
    )
    theirs = asyncio.run(of_server(program, plan))
    cells = f"{theirs.shown} | {ours.shown} | {like_server.shown} |"
    if theirs.texts != ours.texts:
        return f"{cells} the texts differ: {_parting(theirs.texts, ours.texts)}"
    return cells if theirs == like_server else f"{cells} unexplained"


def _parting(one: Sequence[Sequence[int]], other: Sequence[Sequence[int]]) -> str:
    """Where texts part that do."""
    places = []
    for prompt, (mine, theirs) in enumerate(zip(one, other, strict=True)):
        pairs = enumerate(zip(mine, theirs, strict=False))
        place = next((place for place, (a, b) in pairs if a != b), None)
        if tuple(mine) != tuple(theirs):
            places.append(f"prompt {prompt} at token {place}")
    return ", ".join(places)


@click.command()
@click.option(
    "--server-binary", type=click.Path(path_type=Path), required=True, help="A llama-server."
)
@click.option("--length", type=click.IntRange(1), default=3, show_default=True, help="Of a draft.")
@click.option("--only", default="", help="Part of the names of the pairs to compare.")
def main(server_binary: Path, length: int, only: str) -> None:
    """Print a row for each pair; the exit code is 1 where something is unexplained."""
    program, library = Program.read(server_binary), open_library()
    print(f"llama-server {program.version}; {N_PROMPTS} prompts, {TOKENS} tokens each")
    print("| head | llama-server: drafted / accepted | specchat | with its habits |")
    print("| --- | --- | --- | --- |")
    good = True
    for name, pair in PAIRS.items():
        if only in name:
            with tempfile.TemporaryDirectory() as folder:
                os.environ["SPECCHAT_HOME"] = folder
                cells = compare(library, Path(folder), pair, program, length)
            print(f"| {name} | {cells}", flush=True)
            good = good and cells.endswith("|")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
