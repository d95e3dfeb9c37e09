"""What is said about a struct's fields: the docstrings below them, read from the source."""

import ast
import inspect
import textwrap
from itertools import pairwise


def explanations(struct: type) -> dict[str, str]:
    """The docstring of each field that has one; nothing where the source is not at hand."""
    try:
        source = inspect.getsource(struct)
    except (OSError, TypeError):
        return {}
    found = {}
    for definition in ast.parse(textwrap.dedent(source)).body:
        body = definition.body if isinstance(definition, ast.ClassDef) else []
        for statement, below in pairwise(body):
            match statement, below:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(words))),
                ):
                    found[name] = " ".join(words.split())
    return found
