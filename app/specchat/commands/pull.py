"""`specchat pull`: show what would be downloaded, ask, download."""

import sys

import click

from specchat.commands.download_line import DownloadLine
from specchat.commands.lines import wrapped
from specchat.errors import InvalidSetting
from specchat.hub.heads import RemoteHead
from specchat.hub.listing import RemoteFile
from specchat.hub.naming import base_name
from specchat.hub.plan import DownloadPlan, plan_download
from specchat.hub.transfer import download
from specchat.hub.wording import size_text
from specchat.pairing.drafter_type import DRAFTER_NAMES

INTERRUPTED_EXIT_CODE = 130


def pull(name: str, yes: bool, no_head: bool) -> int:
    """Download a pair of the catalog or a model of the Hub; returns the exit code.

    What is asked and how far it is goes to standard error, the paths to standard output.
    """
    from specchat.hub.pairs import request_for

    request = request_for(name, with_head=not no_head)
    again = f"specchat pull {name} --no-head" if no_head else f"specchat pull {name}"
    for path in request.packaged:
        _say(f"{path.name} comes with an installed package.")
        print(path)
    if not request.items:
        return 0
    line = DownloadLine()
    try:
        plan = plan_download(name, request.items, line.notice, with_head=request.with_head)
        _say(*plan_lines(plan))
        if plan.missing_bytes and not yes and not _agreed(plan, again):
            _say("Nothing was downloaded.")
            return 0
        paths = download(plan.files, plan.cache, line, plan.wanted)
    except KeyboardInterrupt:
        line.close()
        _say(f"Stopped. What came is kept; go on with: {again}")
        return INTERRUPTED_EXIT_CODE
    finally:
        line.close()
    print(*paths, sep="\n")
    return 0


def plan_lines(plan: DownloadPlan) -> list[str]:
    """What a person should know before a download."""
    width = max(len(file.name) for file in plan.files)
    lines = []
    for repository in plan.repositories:
        lines.append(f"{repository.repo} (licence {repository.licence or 'not stated'})")
        if repository.gated:
            lines.append("  gated: you have accepted its owner's conditions")
        lines += [
            f"  {file.name:<{width}}  {size_text(file.size_bytes):>8}"
            + ("  here already" if plan.is_here(file) else "")
            for file in plan.files
            if file.repo == repository.repo
        ]
    if plan.head is not None and not plan.is_here(plan.head.file):
        lines += _head_lines(plan.head, plan.files[0])
    if not plan.missing_bytes:
        return lines
    kept = plan.total_bytes - plan.missing_bytes
    amount = f"{size_text(plan.missing_bytes)} to download"
    if kept:
        amount += f" ({size_text(kept)} of {size_text(plan.total_bytes)} are here)"
    return [*lines, f"{amount}", f"{size_text(plan.free_bytes)} free in {plan.cache}"]


def _head_lines(head: RemoteHead, model: RemoteFile) -> list[str]:
    name, what = base_name(head.file.name), DRAFTER_NAMES[head.kind]
    sentence = f"{name} is {what} that drafts for {base_name(model.name)}."
    return [*wrapped(sentence, cut_long_words=False), "To leave it out use --no-head."]


def _agreed(plan: DownloadPlan, again: str) -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InvalidSetting(
            f"Tried to ask whether to download {size_text(plan.missing_bytes)}.",
            "There is no terminal to ask on.",
            f"Add --yes: {again} --yes",
        )
    try:
        return click.confirm("Download?", default=True, err=True)
    except click.Abort:
        _say("")  # the question's line is still open
        raise KeyboardInterrupt from None


def _say(*lines: str) -> None:
    print(*lines, sep="\n", file=sys.stderr, flush=True)
