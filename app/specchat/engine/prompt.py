"""From a conversation to the tokens of a prompt."""

import re
import secrets
from collections.abc import Sequence

from specchat.chat.template import ChatTemplate
from specchat.engine.begun import begun_tokens
from specchat.engine.protocol import Message
from specchat.llama.vocabulary import Vocabulary


def prompt_tokens(
    vocabulary: Vocabulary,
    template: ChatTemplate,
    conversation: Sequence[Message],
    begun: str = "",
) -> list[int]:
    """The prompt, with the beginning-of-sequence token where the model wants one.

    The template's control tokens count, those in what a person typed or pasted do not: a message
    with `<|im_end|>` in it is tokenized on its own, as plain text.

    Args:
        begun: what the answer begins with.

    Raises:
        TemplateProblem: the template refuses the conversation.
    """
    mark = secrets.token_hex(8)
    turns, spelled_out = [], []
    for message in conversation:
        content = message.content
        if _has_control_tokens(vocabulary, content):
            spelled_out.append(content)
            content = f"<{mark}:{len(spelled_out) - 1}>"
        turns.append({"role": message.role, "content": content})
    ids: list[int] = []
    for index, part in enumerate(re.split(f"<{mark}:(\\d+)>", template.render(turns))):
        if index % 2:
            ids += vocabulary.tokenize(spelled_out[int(part)], parse_special=False)
        else:
            ids += vocabulary.tokenize(part, parse_special=True)
    if (vocabulary.adds_bos or not ids) and vocabulary.bos >= 0 and ids[:1] != [vocabulary.bos]:
        ids.insert(0, vocabulary.bos)
    return ids + begun_tokens(vocabulary, begun)


def _has_control_tokens(vocabulary: Vocabulary, text: str) -> bool:
    return vocabulary.tokenize(text, parse_special=True) != vocabulary.tokenize(
        text, parse_special=False
    )
