"""A person with a home of their own, who runs `specchat` against a local Hub."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from support.command_line import SPECCHAT
from support.local_hub import LocalHub
from support.processes import Process

DEADLINE_S = 60
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
OTHERS = ("OLLAMA_MODELS", "LLAMA_CACHE", "XDG_CACHE_HOME", "SPECCHAT_MODELS")


@dataclass
class Person:
    """Their environment; huggingface-hub reads it when a process begins."""

    home: Path
    environment: dict[str, str]

    @classmethod
    def of(cls, home: Path, hub: LocalHub) -> "Person":
        """Somebody who has nothing yet."""
        unset = {*PROXIES, *(name.lower() for name in PROXIES), *OTHERS}
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("HF_") and name not in unset
        }
        own = {
            "HOME": str(home),
            "HF_ENDPOINT": hub.address,
            "HF_HOME": str(home / "hf"),
            "SPECCHAT_HOME": str(home / "specchat"),
        }
        home.mkdir(exist_ok=True)
        return cls(home, kept | own)

    def with_(self, **more: str) -> "Person":
        """The same with these variables too."""
        return Person(self.home, self.environment | more)

    def run(
        self, *arguments: str, file_limit: int | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, without a terminal.

        Args:
            file_limit: blocks that a file may have; a write beyond fails as on a full disk.
        """
        shell = ("sh", "-c", f'ulimit -f {file_limit}; exec "$@"', "sh")
        limited = shell if file_limit is not None else ()
        return subprocess.run(
            [*limited, *SPECCHAT, *arguments],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
        )

    def start(self, *arguments: str) -> Process[str]:
        """A command that something will happen to."""
        return Process(
            [*SPECCHAT, *arguments],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def cache(self) -> Path:
        """Hugging Face's."""
        return Path(self.environment["HF_HOME"]) / "hub"

    def blobs(self) -> dict[str, int]:
        """What lies in the cache, by the name of its blob: the size."""
        return {path.name: path.stat().st_size for path in self.cache.glob("*/blobs/*")}
