"""An engine that follows a script: a real process that speaks the real protocol.

Run as `python scripted_engine.py SCENARIO`. It knows nothing of models; the text, the rounds and
the times are all written down here, so that every run looks the same.
"""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from specchat.engine.protocol import (
    Command,
    EngineFacts,
    Event,
    Failed,
    Finished,
    Generate,
    Load,
    Loaded,
    LoadProgress,
    ModelFacts,
    Notice,
    PromptProgress,
    Round,
    Shutdown,
    Stop,
    decode_command,
    encode_frame,
    read_frame,
)
from specchat.speculation.metrics import Figures

N_CTX = 8192

ANSWER = """\
Speculative decoding has a small **draft** guess and a large **target** check:

1. the draft proposes a few tokens,
2. the target reads them in *one* pass,
3. tokens that it agrees with are kept.

```python
def acceptance(accepted: int, tested: int) -> float:
    return accepted / tested
```

| drafter | best at |
| --- | --- |
| n-gram | text that repeats itself |
| draft model | everything else |

The text is exactly what the target alone would write.
"""

THOUGHT = "The person asks how it works.\n\nI keep it *short*, and say what is checked."
THINKING = f"{THOUGHT}\n</think>\n\n{ANSWER}"
"""What follows a prompt that leaves the tag open."""

OTHER_ANSWER = ANSWER.replace("a large **target** check", "a large **model** check it")
"""What is said instead, from a near tie on."""

KEPT = (3, 2, 3, 0, 3, 1)
"""How many of the drafted tokens each round keeps, over and over."""

LOAD_FAILURE = Failed(
    kind="not_a_model",
    title="Not a usable GGUF file",
    message="Tried to load target.gguf. It is cut short: 12 of 491 MB are there.",
    help="Download it again, or name another file with --target.",
)

NOTICE = Notice(
    kind="draft_mismatch",
    title="The draft is left out",
    message="Tried to pair draft.gguf with target.gguf. Their vocabularies differ at token 17.",
    help="Guesses come from the text itself instead. Choose a draft of the same family.",
)

ALARM = Notice(
    kind="busy_machine",
    title="Other programs are busy",
    message="They used 1.5 of 4 cores during this answer.",
    help="End them, or leave them a core with --threads.",
)

PROMPT_TOO_LONG = Failed(
    kind="prompt_too_long",
    title="The conversation is too long",
    message="Tried to read 9,000 tokens. The context holds 8,192.",
    help="Start a new chat with Ctrl+N, or shorten the message.",
)


class Script:
    """One scenario, from the first command to the end of the pipe."""

    def __init__(self, scenario: str) -> None:
        self.scenario = scenario

    def run(self) -> None:
        """Obey commands until there are none."""
        while (command := self.receive()) is not None:
            match command:
                case Load():
                    self.load(command)
                case Generate():
                    self.generate(command)
                case Shutdown():
                    return

    def receive(self) -> Command | None:
        """The next command; None at the end of the pipe."""
        body = read_frame(sys.stdin.buffer)
        return None if body is None else decode_command(body)

    def send(self, event: Event) -> None:
        """Tell the screen."""
        sys.stdout.buffer.write(encode_frame(event))
        sys.stdout.buffer.flush()

    def load(self, command: Load) -> None:
        """Load as the scenario has it."""
        self.send(LoadProgress("target", 0.0))
        self.send(LoadProgress("target", 0.62))
        if self.scenario == "loading":
            return
        if self.scenario == "load-failure" and self.first_time():
            self.send(LOAD_FAILURE)
            return
        has_draft = command.pair.draft is not None and self.scenario != "notice"
        self.send(
            Loaded(
                target=_model("target", command.pair.target),
                draft=_model("draft", command.pair.draft or "") if has_draft else None,
                n_ctx=N_CTX,
                n_threads=4,
                drafter="chain" if has_draft else "ngram",
                stepping_back="checkpoints" if self.scenario == "checkpoints" else "cache",
                engine=EngineFacts(
                    specchat="0", llama_cpp_python="0", llama_cpp="0", backend="CPU"
                ),
                notices=(NOTICE,) if self.scenario == "notice" else (),
                load_s=1.5,
            )
        )

    def first_time(self) -> bool:
        """Whether no engine of this test was here before."""
        mark = Path(os.environ["SPECCHAT_HOME"], "was-here")
        try:
            mark.touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def generate(self, command: Generate) -> None:
        """Answer as the scenario has it."""
        questions = [m.content for m in command.conversation if m.role == "user"]
        first = len(questions) == 1
        match self.scenario:
            case "refuse" if first:
                self.send(_for_answer(PROMPT_TOO_LONG, command.id))
            case "fail-midway" if first:
                self.rounds(command, _pieces("Half of it"))
                self.send(_for_answer(PROMPT_TOO_LONG, command.id))
            case "prefill" | "go-on" if first and (command.begun or self.scenario == "prefill"):
                self.send(PromptProgress(id=command.id, done=512, total=2048, reused=0))
                self.finish(command, "", Figures(), self.wait_for_stop(command.id))
            case "hold" if first:
                text = "The first line.\n\nThe second line"
                figures = self.rounds(command, _pieces(text))
                self.finish(command, text, figures, self.wait_for_stop(command.id))
            case "garbage" if first:
                sys.stdout.buffer.write((3).to_bytes(4, "big") + b"\xc1\xc1\xc1")
                sys.stdout.buffer.flush()
            case "thinking" if first:
                self.open_thought(command)
                figures = self.rounds(command, _pieces(THOUGHT))
                self.finish(command, THOUGHT, figures, self.wait_for_stop(command.id))
            case "think":
                self.open_thought(command)
                begun = f"`{json.dumps(command.begun)}`" if command.begun else ""
                self.answer(command, begun or THINKING)
            case "echo":
                self.answer(command, questions[-1])
            case "recall":
                turns = [[m.role, m.content] for m in command.conversation]
                self.answer(command, "`" + json.dumps(turns) + "`")
            case "twice" | "parting" | "hold-drafted" | "crash-drafted":
                self.answer_one_of_two(command)
            case "left-out":
                self.send(PromptProgress(id=command.id, done=1, total=1, reused=0, left_out=6))
                self.answer(command, ANSWER)
            case "asked":
                asked = (command.sampling, command.speculation, command.max_tokens)
                self.answer(command, f"`{json.dumps(msgspec.to_builtins(asked))}`")
            case "plain":
                self.answer(command, ANSWER, drafted=0)
            case "crash":
                self.rounds(command, _pieces("Before the end"))
                sys.exit(3)
            case _:
                self.answer(command, ANSWER)

    def open_thought(self, command: Generate) -> None:
        """The prompt is read, and its last words open the thinking."""
        self.send(PromptProgress(id=command.id, done=9, total=9, reused=0, opened="think"))

    def answer(self, command: Generate, text: str, drafted: int = 3) -> None:
        """A whole answer, without waiting for anything."""
        figures = self.rounds(command, _pieces(text), drafted)
        self.finish(command, text, figures, "stop")

    def answer_one_of_two(self, command: Generate) -> None:
        """One of two answers that are compared: plain and drafted in tokens of four letters."""
        if command.speculation.rule != "coupled":
            self.answer(command, ANSWER)
            return
        drafted = 0 if command.speculation.drafter == "none" else 3
        text = OTHER_ANSWER if drafted and self.scenario == "parting" else ANSWER
        if drafted and self.scenario == "crash-drafted":
            sys.exit(3)
        if drafted and self.scenario == "hold-drafted":
            figures, tokens = self.spell(command, ANSWER[:120], drafted)
            reason = self.wait_for_stop(command.id)
            self.finish(command, ANSWER[:120], figures, reason, tokens)
            return
        figures, tokens = self.spell(command, text, drafted)
        self.finish(command, text, figures, "stop", tokens)

    def spell(self, command: Generate, text: str, drafted: int) -> tuple[Figures, tuple[int, ...]]:
        """Rounds of a text in tokens of four letters."""
        pieces = list(_pieces(text, 4))
        tokens = tuple(int.from_bytes(piece.encode()[:3]) for piece in pieces)
        figures = _before_any_round()
        while (at := figures.emitted) < len(pieces):
            accepted = min(drafted, KEPT[figures.rounds % len(KEPT)], len(pieces) - at - 1)
            figures = _after_round(figures, drafted, accepted, 0.06)
            self.send(
                Round(
                    id=command.id,
                    text="".join(pieces[at : figures.emitted]),
                    tokens=tokens[at : figures.emitted],
                    sizes=tuple(map(len, pieces[at : figures.emitted])),
                    drafted=drafted,
                    accepted=accepted,
                    source="model" if drafted else None,
                    reason="",
                    reason_kind="predictable" if drafted else "plain",
                    n_past=400 + figures.emitted,
                    figures=figures,
                )
            )
        return figures, tokens

    def rounds(self, command: Generate, pieces: Iterator[str], drafted: int = 3) -> Figures:
        """Rounds that carry these pieces; how many tokens each keeps goes round a fixed list."""
        reason = f"drafting {drafted}: text is predictable" if drafted else "plain decoding"
        figures = _before_any_round()
        for index, piece in enumerate(pieces):
            accepted = min(drafted, KEPT[index % len(KEPT)])
            figures = _after_round(figures, drafted, accepted, 0.06 + 0.02 * (index % 3))
            self.send(
                Round(
                    id=command.id,
                    text=piece,
                    tokens=tuple(range(accepted + 1)),
                    sizes=_sizes(piece, accepted + 1),
                    drafted=drafted,
                    accepted=accepted,
                    source=None if not drafted else "model" if index % 3 else "ngram",
                    reason=reason,
                    reason_kind="predictable" if drafted else "plain",
                    n_past=400 + figures.emitted,
                    figures=figures,
                )
            )
        return figures

    def finish(
        self,
        command: Generate,
        text: str,
        figures: Figures,
        reason: str,
        tokens: tuple[int, ...] = (),
    ) -> None:
        """The end of an answer."""
        assert reason in ("stop", "cancelled")
        self.send(
            Finished(
                id=command.id,
                finish_reason="stop" if reason == "stop" else "cancelled",
                text=text,
                tail="",
                tokens=tokens or tuple(range(figures.emitted)),
                n_past=400 + figures.emitted,
                seed=1,
                rule="token",
                drafter="chain",
                draft_length=3,
                log_probabilities=None,
                figures=figures,
                alarms=(ALARM,) if self.scenario == "alarm" else (),
                left_out=6 if self.scenario == "left-out" else 0,
            )
        )

    def wait_for_stop(self, id: int) -> str:
        """Be busy until the answer is stopped."""
        while (command := self.receive()) is not None:
            match command:
                case Stop(id=stopped) if stopped == id:
                    return "cancelled"
                case Shutdown():
                    break
        sys.exit(0)


def _before_any_round() -> Figures:
    return Figures(
        prompt_tokens=120, reused_tokens=96, accepted_histogram=(0,) * 17, tested_at=(0,) * 16
    )


def _after_round(before: Figures, drafted: int, accepted: int, seconds: float) -> Figures:
    """The totals one round later."""
    tested = accepted + (accepted < drafted)
    kept = [n + (i == accepted) for i, n in enumerate(before.accepted_histogram)]
    tested_at = [n + (i < tested) for i, n in enumerate(before.tested_at)]
    return Figures(
        prompt_tokens=before.prompt_tokens,
        reused_tokens=before.reused_tokens,
        emitted=before.emitted + accepted + 1,
        rounds=before.rounds + 1,
        drafted=before.drafted + drafted,
        tested=before.tested + tested,
        accepted=before.accepted + accepted,
        accepted_histogram=tuple(kept),
        tested_at=tuple(tested_at),
        time_to_first_token_s=0.42,
        decode_s=before.decode_s + seconds,
        draft_s=before.draft_s + (0.012 if drafted else 0.0),
        verify_s=before.verify_s + 0.04,
        step_back_s=before.step_back_s + (0.001 if drafted else 0.0),
        replayed=before.replayed + (accepted + 1 if accepted < drafted else 0),
        accepted_ngram=before.accepted_ngram + accepted // 2,
        plain_tokens_per_second=18.0,
        plain_age_s=24.0,
    )


def _sizes(piece: str, count: int) -> tuple[int, ...]:
    """The characters of a round dealt out to its tokens."""
    return tuple(len(piece[index::count]) for index in range(count))


def _pieces(text: str, size: int = 9) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))


def _for_answer(failed: Failed, id: int) -> Failed:
    return Failed(
        kind=failed.kind, title=failed.title, message=failed.message, help=failed.help, id=id
    )


def _model(name: str, path: str) -> ModelFacts:
    return ModelFacts(
        path=path,
        name=name,
        description="scripted",
        architecture="scripted",
        size_bytes=1,
        n_parameters=1,
        n_ctx_train=N_CTX,
    )


if __name__ == "__main__":
    Script(sys.argv[1]).run()
