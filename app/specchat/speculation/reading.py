"""Bringing a context to a prompt, with what it remembers of the last one."""

from collections.abc import Iterator, Sequence

from specchat.llama.context import Context
from specchat.speculation.sequence import shared_prefix

TAIL = 16
"""Tokens before a prompt's end at which a state is saved. The end itself is often not part of the
next prompt: a template may open the answer with other tokens than it later shows it with."""


def read_prompt(context: Context, prompt: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Decode what a context does not hold of a prompt, without rows.

    Where tokens cannot just be dropped, states are saved on the way: one where the last turn
    ended, so that the message after it can be changed, and one near the end of the prompt, so that
    it can be answered again.

    Yields:
        (reused, done): tokens found in it, and tokens in it now; first before any work.

    Raises:
        Aborted: the abort flag was set; what was decoded stays for the next time.
    """
    reused = context.reuse(shared_prefix(context.tokens, prompt))
    yield reused, reused
    context.save()
    near_end = max(reused, len(prompt) - TAIL) if context.memory.keeps_state else reused
    for part in (prompt[reused:near_end], prompt[near_end:]):
        start = len(context.tokens)
        for done in context.prefill(part):
            yield reused, start + done
        context.save()
