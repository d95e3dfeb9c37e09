"""How an answer came about, as the store keeps it."""

from specchat.chat.records import AnswerRecord, State
from specchat.engine.protocol import Finished, Generate, Loaded
from specchat.tui.answer_log import AnswerLog

STATES: dict[str, State] = {"stop": "complete", "length": "length", "cancelled": "stopped"}
"""What became of an answer, by the engine's reason for ending it."""


def record_of(loaded: Loaded, request: Generate, event: Finished, log: AnswerLog) -> AnswerRecord:
    """The record of an answer that has ended.

    Args:
        loaded: the pair that answered.
        request: what the engine was told.
        event: the end.
        log: what was learnt meanwhile.
    """
    draft = loaded.draft
    return AnswerRecord(
        target=_file_name(loaded.target.path),
        draft=_file_name(draft.path) if draft else None,
        drafter=event.drafter,
        rule=event.rule,
        draft_length=event.draft_length,
        sampling=request.sampling,
        seed=event.seed,
        figures=event.figures,
        parts=log.parts,
        opened=log.opened,
    )


def _file_name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]
