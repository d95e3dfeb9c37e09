"""The first line names what is loaded."""

import pytest
from textual.app import App, ComposeResult
from textual.widgets import Static

from specchat.engine.drafter_names import DrafterName
from specchat.engine.protocol import EngineFacts, Loaded, ModelFacts
from specchat.tui.widgets.top_line import TopLine

TARGET = ModelFacts(
    path="/models/big.gguf",
    name="Big",
    description="qwen35 9B Q4_K",
    architecture="qwen35",
    size_bytes=1,
    n_parameters=1,
    n_ctx_train=1,
)


class OneLine(App[None]):
    """Nothing but that line."""

    def compose(self) -> ComposeResult:
        yield TopLine()


@pytest.mark.parametrize(
    ("drafter", "names"), [("ngram+mtp", "big  <-  its MTP head"), ("ngram", "big")]
)
async def test_heads_in_the_targets_own_file_are_named_as_drafts_are(
    drafter: DrafterName, names: str
) -> None:
    loaded = Loaded(
        target=TARGET,
        draft=None,
        n_ctx=512,
        n_threads=1,
        drafter=drafter,
        engine=EngineFacts(specchat="0", llama_cpp_python="0", llama_cpp="0", backend="CPU"),
        notices=(),
        load_s=1.0,
    )
    async with OneLine().run_test() as pilot:
        line = pilot.app.query_one(TopLine)
        line.show_loaded(loaded, None, None)
        assert str(line.query_one("#names", Static).content) == names
