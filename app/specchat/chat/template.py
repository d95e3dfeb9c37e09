"""A model's own chat template, rendered in a sandbox: it is code from strangers."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NoReturn

import jinja2
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from specchat.errors import TemplateProblem

Turn = dict[str, str]
"""`role` and `content`."""


class ChatTemplate:
    """Renders a conversation as the text that the model was trained on.

    Args:
        source: Jinja as in the file's metadata; None for a model without one, which then simply
            writes on from the text of the conversation.
        bos: how the beginning-of-sequence token is written out.
        eos: how the end-of-sequence token is written out.
    """

    def __init__(self, source: str | None, *, bos: str, eos: str) -> None:
        self._names = {"bos_token": bos, "eos_token": eos}
        self._template = None if source is None else _compile(source)

    def render(self, turns: Sequence[Turn]) -> str:
        """The prompt, up to where the answer begins.

        A template that refuses a system turn gets its text in front of the first user turn.

        Raises:
            TemplateProblem: the template refuses this conversation.
        """
        if self._template is None:
            return "\n\n".join(turn["content"] for turn in turns)
        try:
            return self._render(turns)
        except jinja2.TemplateError as error:
            folded = _fold_system(turns)
            if folded is None:
                raise _refused(error) from error
        try:
            return self._render(folded)
        except jinja2.TemplateError as error:
            raise _refused(error) from error

    def _render(self, turns: Sequence[Turn]) -> str:
        assert self._template is not None
        try:
            return self._template.render(
                messages=[dict(turn) for turn in turns], add_generation_prompt=True, **self._names
            )
        except jinja2.TemplateError:
            raise
        except Exception as error:  # whatever a stranger's code brings about
            raise jinja2.TemplateError(str(error)) from error


def _compile(source: str) -> jinja2.Template:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    try:
        return environment.from_string(source)
    except Exception as error:  # as in rendering: constants are computed here
        raise _refused(error) from error


def _to_json(value: Any, ensure_ascii: bool = False, **options: Any) -> str:
    """The filter that models are trained with; Jinja's own writes `<` as an HTML escape."""
    return json.dumps(value, ensure_ascii=ensure_ascii, **options)


def _raise(message: Any) -> NoReturn:
    raise jinja2.TemplateError(str(message))


def _fold_system(turns: Sequence[Turn]) -> list[Turn] | None:
    """The same conversation with the system text in the first user turn; None if there is none."""
    if [turn["role"] for turn in turns[:2]] != ["system", "user"]:
        return None
    system, first, *rest = turns
    return [{**first, "content": f"{system['content']}\n\n{first['content']}"}, *rest]


def _refused(error: Exception) -> TemplateProblem:
    return TemplateProblem(
        "Tried to write the conversation in the model's own form.",
        f"Its chat template refused: {str(error).rstrip('.')}.",
        "Start a new chat, leave the system prompt out, or choose another model.",
    )
