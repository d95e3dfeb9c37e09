"""Processes that no test leaves behind."""

import subprocess
from types import TracebackType
from typing import AnyStr


class Process(subprocess.Popen[AnyStr]):
    """`Popen` that kills at the end of its block what still runs.

    `Popen` itself waits there, and a test that has failed would wait with it for ever.
    """

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.kill()
        super().__exit__(kind, value, traceback)
