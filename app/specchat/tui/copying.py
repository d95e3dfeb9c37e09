"""What can be copied of an answer, and how a copy is told of."""

from specchat.chat.reasoning import Tags, split, spoken


def answer_text(text: str, opened: Tags | None = None) -> str:
    """An answer without its thinking.

    Args:
        opened: the tags that the prompt left open.
    """
    return spoken(text, opened).strip("\n")


def code_blocks(text: str, opened: Tags | None = None) -> list[str]:
    """The code blocks of an answer, without their fences."""
    spans = (span for span in split(text, opened) if span.kind == "code")
    return [_inside(text[span.start : span.end]) for span in spans]


def last_code(text: str, opened: Tags | None = None) -> str | None:
    """The last one; None where there is none."""
    blocks = code_blocks(text, opened)
    return blocks[-1] if blocks else None


def told(what: str, text: str) -> str:
    """What was copied, in words."""
    lines = text.count("\n") + 1
    size = f"{lines} lines" if lines > 1 else f"{len(text)} character{'s' * (len(text) != 1)}"
    return f"copied {what}, {size}" if what else f"copied {size}"


def _inside(block: str) -> str:
    """The lines of a code block, as far in as its fence is; an open one has no last line yet."""
    lines = block.split("\n")
    if not lines[-1]:
        lines.pop()
    first = lines[0]
    indent = len(first) - len(first.lstrip(" \t"))
    mark = first.strip()[0]
    bare = lines[-1].strip()
    closed = len(lines) > 1 and len(bare) >= 3 and bare == mark * len(bare)
    inner = lines[1:-1] if closed else lines[1:]
    return "\n".join(_outdent(line, indent) for line in inner)


def _outdent(line: str, indent: int) -> str:
    blank = len(line) - len(line.lstrip(" \t"))
    return line[min(indent, blank) :]
