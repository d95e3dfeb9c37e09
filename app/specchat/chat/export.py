"""A conversation as Markdown, to be read, and as JSON, to be read by programs."""

import datetime

import msgspec

from specchat.chat.exported import to_exported
from specchat.chat.reasoning import Splitter, tags_named
from specchat.chat.records import AnswerRecord, Message, Setup
from specchat.chat.tokens import Tokens
from specchat.chat.tree import Conversation

ENDED = {
    "writing": "still being written",
    "length": "ended at the limit of length",
    "stopped": "stopped",
    "interrupted": "cut off",
}


def to_json(conversation: Conversation, tokens: dict[int, Tokens]) -> bytes:
    """The whole tree; its schema is in docs/conversation.schema.json.

    Args:
        tokens: of its answers, by message.
    """
    data = msgspec.json.encode(to_exported(conversation, tokens))
    return msgspec.json.format(data, indent=2) + b"\n"


def to_markdown(conversation: Conversation) -> str:
    """The line of messages on screen, with the figures of each answer; thinking is folded."""
    summary = conversation.summary
    day = datetime.datetime.fromtimestamp(summary.created_at / 1000, datetime.UTC)
    parts = [f"# {summary.title or 'New chat'}", f"*{day:%Y-%m-%d}, specchat*"]
    parts += _setup(conversation.setup)
    for message in conversation.path:
        siblings = conversation.siblings(message.id)
        place = siblings.index(message.id) + 1
        version = f" ({place} of {len(siblings)})" if len(siblings) > 1 else ""
        if message.role == "user":
            parts += [f"## You{version}", _whole(message.text)]
        else:
            name = message.answer.target.removesuffix(".gguf") if message.answer else "Model"
            parts += [f"## {name}{version}", *_answer(message)]
    return "\n\n".join(parts) + "\n"


def figures_line(answer: AnswerRecord) -> str:
    """The figures of an answer in a line, by the names of docs/numbers.md."""
    figures, parts = answer.figures, []
    if figures.tokens_per_second is not None:
        parts.append(f"{figures.tokens_per_second:.1f} tok/s")
    if figures.speed_up is not None:
        parts.append(f"{figures.speed_up:.2f}x plain")
    if figures.acceptance is not None:
        parts.append(f"{figures.acceptance:.0%} accepted")
    if figures.drafted and figures.tokens_per_round is not None:
        parts.append(f"{figures.tokens_per_round:.1f} tokens a round")
    if figures.time_to_first_token_s is not None:
        parts.append(f"{figures.time_to_first_token_s:.1f} s to first token")
    parts.append(f"draft {answer.draft}" if answer.draft else f"drafter {answer.drafter}")
    parts.append(f"rule {answer.rule}")
    parts.append(f"temperature {answer.sampling.temperature:g}")
    parts.append(f"seed {answer.seed}")
    return ", ".join(parts)


def _setup(setup: Setup) -> list[str]:
    if not setup.system:
        return []
    return ["## System", _whole(setup.system)]


def _answer(message: Message) -> list[str]:
    answer = message.answer
    splitter = Splitter(tags_named(answer.opened) if answer else None)
    splitter.add(message.text)
    spans = splitter.finish()
    parts, said = [], ""
    for span in spans:
        text = message.text[span.start : span.end]
        if span.kind != "thinking":
            said += text
            continue
        parts += [_closed(said)] if said.strip() else []
        said = ""
        quoted = "\n".join(f"> {line}".rstrip() for line in text.strip().splitlines())
        parts.append(f"> **Thinking**\n>\n{quoted}")
    parts += [_closed(said)] if said.strip() else []
    notes = [ENDED[message.state]] if message.state in ENDED else []
    notes += [figures_line(answer)] if answer else []
    return [*parts, *(f"*{note}*" for note in notes)]


def _whole(text: str) -> str:
    """Text with its last code block closed, so that what comes after it is none."""
    return _closed(text) or "*(empty)*"


def _closed(text: str) -> str:
    splitter = Splitter()
    splitter.add(text)
    splitter.finish()
    text = text.strip("\n")
    return f"{text}\n{splitter.open_fence}" if splitter.open_fence else text
