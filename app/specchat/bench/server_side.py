"""llama-server as one more contestant: the same prompt, token by token, and its own timings."""

from specchat.bench.engine_side import Measured
from specchat.bench.prompts import Prompt
from specchat.bench.server import Server
from specchat.chat.template import ChatTemplate
from specchat.speculation.settings import SamplingSettings


class ServerContestant:
    """Answers prompts through `/completion`.

    The prompt is rendered and tokenized as the engine does it, with the template and the
    vocabulary of the same file, and sent as tokens.
    """

    def __init__(self, name: str, server: Server, template: ChatTemplate, bos: int | None) -> None:
        self.name = name
        self._server = server
        self._template = template
        self._bos = bos

    @classmethod
    async def of(cls, name: str, server: Server) -> "ServerContestant":
        """The contestant of a running server.

        Raises:
            ServerProblem: it does not answer.
        """
        properties = await server.properties()
        template = ChatTemplate(
            properties.get("chat_template") or None,
            bos=properties.get("bos_token", ""),
            eos=properties.get("eos_token", ""),
        )
        special = await server.tokenize("", add_special=True)
        return cls(name, server, template, special[0] if special else None)

    async def answer(self, prompt: Prompt, sampling: SamplingSettings, max_tokens: int) -> Measured:
        """Answer a prompt.

        Raises:
            ServerProblem: it does not answer.
        """
        completion = await self._server.complete(
            {
                "prompt": await self._tokens(prompt),
                "n_predict": max_tokens,
                "temperature": sampling.temperature,
                "top_k": sampling.top_k,
                "top_p": sampling.top_p,
                "min_p": sampling.min_p,
                "seed": (sampling.seed or 0) % 2**32,
                "repeat_penalty": 1.0,
                "samplers": ["top_k", "top_p", "min_p", "temperature"],
                # Nothing before the prompt may help: no text that was cached or drafted from.
                "cache_prompt": False,
                "return_tokens": True,
                "stream": False,
            }
        )
        timings = completion.timings
        return Measured(
            text=completion.content,
            tokens=completion.tokens,
            finish_reason="length" if completion.stop_type == "limit" else "stop",
            prompt_tokens=completion.tokens_evaluated,
            emitted=timings.predicted_n,
            decode_s=timings.predicted_ms / 1000,
            tokens_per_second=timings.predicted_per_second or None,
            drafted=timings.draft_n,
            accepted=timings.draft_n_accepted,
        )

    async def _tokens(self, prompt: Prompt) -> list[int]:
        turns = [{"role": turn.role, "content": turn.content} for turn in prompt.conversation]
        ids = await self._server.tokenize(self._template.render(turns), add_special=False)
        if self._bos is not None and ids[:1] != [self._bos]:
            ids.insert(0, self._bos)
        return ids
