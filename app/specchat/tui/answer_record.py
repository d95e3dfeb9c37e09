"""How an answer came about, as the store keeps it."""

from specchat.chat.records import AnswerRecord, State
from specchat.engine.protocol import Finished, Generate, Loaded
from specchat.tui.answer_log import AnswerLog
from specchat.tui.drafting import drafter_of

STATES: dict[str, State] = {"stop": "complete", "length": "length", "cancelled": "stopped"}
"""What became of an answer, by the engine's reason for ending it."""


def record_of(
    loaded: Loaded,
    request: Generate,
    log: AnswerLog,
    finished: Finished | None = None,
    *,
    left_out: int = 0,
) -> AnswerRecord:
    """The record of an answer, as far as it has come.

    Args:
        loaded: the pair that answers.
        request: what the engine was told.
        log: what was learnt meanwhile.
        finished: its end, once the engine has told it.
        left_out: messages that its prompt had no room for.
    """
    draft, speculation, sampling = loaded.draft, request.speculation, request.sampling
    record = AnswerRecord(
        target=_file_name(loaded.target.path),
        draft=_file_name(draft.path) if draft else None,
        drafter=finished.drafter if finished else drafter_of(loaded, speculation),
        rule=finished.rule if finished else speculation.effective_rule(sampling),
        draft_length=finished.draft_length if finished else speculation.draft_length,
        sampling=sampling,
        seed=finished.seed if finished else sampling.seed,
        figures=log.figures,
        parts=log.parts,
        opened=log.opened,
        left_out=left_out,
    )
    return record.with_alarms(finished.alarms) if finished else record


def _file_name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]
