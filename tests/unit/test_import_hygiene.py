"""What a module brings into its process: the screen stays free of llama.cpp, the engine of
the screen. The import contract looks at the code; this looks at what really happens."""

import pkgutil
import subprocess
import sys

import pytest

import specchat.chat
import specchat.hub
import specchat.pairing

NATIVE = {"llama_cpp", "numpy"}
SCREEN = {"textual"}


def loaded_by(module: str) -> set[str]:
    """The top-level names in `sys.modules` of a fresh Python that imported the module."""
    script = (
        f"import sys, {module}\n"
        "print('\\n'.join({name.partition('.')[0] for name in sys.modules}))"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    return set(result.stdout.split())


def modules_of_the_rooms_beside_the_engine() -> list[str]:
    packages = [specchat.chat, specchat.hub, specchat.pairing]
    return [
        name
        for package in packages
        for name in [
            package.__name__,
            *(
                info.name
                for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
            ),
        ]
    ]


def test_the_decoder_brings_in_no_screen() -> None:
    loaded = loaded_by("specchat.speculation.decoder")

    assert "specchat" in loaded
    assert not loaded & SCREEN


def test_the_engine_brings_in_no_screen() -> None:
    assert not loaded_by("specchat.engine.worker") & SCREEN


def test_the_client_of_the_engine_brings_in_neither_llama_nor_screen() -> None:
    loaded = loaded_by("specchat.engine.client")

    assert "specchat" in loaded
    assert not loaded & (NATIVE | SCREEN)


def test_the_screen_brings_in_no_llama() -> None:
    loaded = loaded_by("specchat.tui.app")

    assert "textual" in loaded
    assert not loaded & NATIVE


@pytest.mark.parametrize("module", modules_of_the_rooms_beside_the_engine())
def test_chat_hub_and_pairing_are_not_native(module: str) -> None:
    assert not loaded_by(module) & (NATIVE | SCREEN)
