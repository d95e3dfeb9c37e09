"""`specchat doctor`: what this machine can run, and what stands in the way."""

import io
import sys

import msgspec

from specchat.commands.doctor_report import examine
from specchat.commands.doctor_text import as_text
from specchat.engine.protocol import require_addresses


def doctor(*, rpc: tuple[str, ...], as_json: bool) -> int:
    """Print the report; returns 0 when the chat can run, else 1.

    Raises:
        InvalidSetting: what was given is no address of an RPC server.
    """
    require_addresses(rpc)
    report = examine(rpc)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # an old code page cannot write all of Unicode
    print(msgspec.json.encode(report).decode() if as_json else as_text(report))
    return 0 if report.can_chat else 1
