"""The commands. Each imports what it needs when it runs, so that `--help` answers at once."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from specchat import __version__
from specchat.bench.options import BENCH_OPTIONS

if TYPE_CHECKING:
    from specchat.choosing.choice import Choice
    from specchat.settings import Choices, Settings

Command = TypeVar("Command", bound=Callable[..., Any])


def _text(value: str) -> str:
    """Text of the command line; bytes in it that are no UTF-8 are replaced, as in a pipe."""
    return os.fsencode(value).decode(errors="replace")


def _draft_length(value: str) -> int | str:
    """`auto`, or a number of tokens."""
    try:
        return value if value == "auto" else int(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither auto nor a whole number.") from None


RPC_OPTION = click.option(
    "--rpc",
    type=_text,
    multiple=True,
    metavar="HOST:PORT",
    help="Use the devices of a llama.cpp RPC server too; repeatable. Nothing is encrypted and "
    "nobody is asked for a password: for networks that you trust.",
)
PAIR_OPTION = click.option(
    "--pair",
    type=_text,
    metavar="NAME",
    help="A pair of the catalog that is on this disk; see: specchat pairs.",
)
MODEL_OPTIONS = [
    click.option("--target", type=_text, metavar="FILE", help="GGUF of the model that answers."),
    click.option(
        "--draft",
        type=_text,
        metavar="FILE",
        help="GGUF of a small model or a head that guesses ahead.",
    ),
    click.option("--ctx", type=int, metavar="N", help="Context in tokens."),
    click.option("--threads", type=int, metavar="N", help="CPU threads; default: physical cores."),
    click.option(
        "--gpu-layers",
        type=int,
        metavar="N",
        help="Layers on the GPU, whether they fit or not; -1: all; default: as many as fit.",
    ),
    click.option(
        "--experts-in-ram",
        is_flag=True,
        help="Keep the experts of a mixture in main memory, the rest on the GPU.",
    ),
    click.option(
        "--cache-type",
        type=click.Choice(["f16", "q8_0", "q4_0"]),
        help="Of the KV cache; quantised ones take less memory, at some cost in quality; default: "
        "what the catalog has for the pair, else f16.",
    ),
    click.option(
        "--draft-cache-type",
        type=click.Choice(["f16", "q8_0", "q4_0"]),
        default="f16",
        show_default=True,
        help="Of the draft's KV cache; a quantised one makes its guesses worse.",
    ),
    RPC_OPTION,
]
SPECULATION_OPTIONS = [
    click.option(
        "--drafter",
        type=click.Choice(["auto", "model", "ngram", "none"]),
        default="auto",
        help="Who guesses; auto: n-grams of the conversation, and the draft model or heads if any; "
        "model: these alone.",
    ),
    click.option(
        "--draft-length",
        type=_draft_length,
        default="auto",
        show_default=True,
        metavar="auto|N",
        help="Tokens guessed a round; auto: as far as it pays; 0 is plain decoding.",
    ),
    click.option(
        "--rule",
        type=click.Choice(["auto", "greedy", "token", "block", "coupled"]),
        default="auto",
        help="How guesses are kept; all rules are lossless.",
    ),
    click.option(
        "--reproducible",
        is_flag=True,
        help="The same seed gives the same text, with any draft or none: --rule coupled.",
    ),
]
PRESET_OPTION = click.option(
    "--preset", type=_text, metavar="NAME", help="Sampling and more, under a name in settings.toml."
)
SAMPLING_OPTIONS = [
    click.option(
        "--temperature", type=float, default=0.8, show_default=True, help="0 takes the likeliest."
    ),
    click.option("--top-k", type=int, default=40, show_default=True, help="0 keeps all."),
    click.option("--top-p", type=float, default=0.95, show_default=True, help="1 keeps all."),
    click.option("--min-p", type=float, default=0.05, show_default=True, help="0 keeps all."),
    click.option(
        "--seed",
        type=int,
        metavar="N",
        help="Of the draws; for the same text again add --reproducible.",
    ),
]
RESUME_OPTION = click.option(
    "--continue", is_flag=True, help="Open the conversation that was used last."
)
ANSWER_OPTIONS = [
    PRESET_OPTION,
    click.option("--system", type=_text, metavar="TEXT", help="System prompt."),
    click.option("--max-tokens", type=int, metavar="N", help="Longest answer."),
]


def _options(*groups: list[Callable[[Command], Command]]) -> Callable[[Command], Command]:
    def apply(command: Command) -> Command:
        for option in reversed([option for group in groups for option in group]):
            command = option(command)
        return command

    return apply


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="specchat", message="%(prog)s %(version)s")
@_options(
    [RESUME_OPTION, PAIR_OPTION],
    MODEL_OPTIONS,
    SPECULATION_OPTIONS,
    SAMPLING_OPTIONS,
    ANSWER_OPTIONS,
)
@click.pass_context
def cli(context: click.Context, /, **options: Any) -> None:
    """Chat with a model on this machine, and see what speculative decoding is worth.

    Without a model named, the pair that was used last is opened, else the best one on this disk,
    else the built-in model.
    """
    if context.invoked_subcommand is not None:
        _refuse_stray_options(context)
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError("The chat needs a terminal. In a pipe use: specchat run")
    settings, choices = _chosen(context)
    choice = _choice(options, choices, draft_required=False)

    from specchat.tui.start import run as run_screen

    resume = options["continue"]
    sys.exit(run_screen(choice, settings, _given(context), resume=resume))


@cli.command()
@click.option(
    "--prompt", type=_text, metavar="TEXT", help="What to answer; default: standard input."
)
@_options([PAIR_OPTION], MODEL_OPTIONS, SPECULATION_OPTIONS, SAMPLING_OPTIONS, ANSWER_OPTIONS)
@click.option(
    "--stop", type=_text, multiple=True, metavar="TEXT", help="End before this text; repeatable."
)
@click.option("--logprobs", is_flag=True, help="Log probability of every token, in the JSON.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object with all figures.")
@click.pass_context
def run(context: click.Context, /, **options: Any) -> None:
    """Answer one prompt on standard output and leave."""
    from specchat.engine.protocol import Generate, Message
    from specchat.headless import run as answer

    _, choices = _chosen(context)
    prompt = _prompt(options["prompt"])
    conversation = [Message("system", choices.system)] if choices.system else []
    request = Generate(
        id=1,
        conversation=(*conversation, Message("user", prompt)),
        sampling=choices.sampling,
        speculation=choices.speculation,
        max_tokens=choices.max_tokens,
        stop=options["stop"],
        log_probabilities=options["logprobs"],
    )
    choice = _choice(options, choices, draft_required=True)
    sys.exit(answer(choice, request, as_json=options["as_json"]))


@cli.command()
@_options(MODEL_OPTIONS, BENCH_OPTIONS)
@click.pass_context
def bench(context: click.Context, /, **options: Any) -> None:
    """Measure what speculation is worth with these files on this machine."""
    from specchat.bench.command import bench as measure

    sys.exit(measure(_for_the_bench(context)))


@cli.command()
@_options([RPC_OPTION])
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def doctor(**options: Any) -> None:
    """Show what this machine can run and what stands in the way; ready for a bug report."""
    from specchat.commands.doctor import doctor as examine

    sys.exit(examine(**options))


@cli.command()
@click.argument("target", type=_text)
@click.argument("draft", type=_text, required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def check(**options: Any) -> None:
    """Say whether DRAFT can guess for TARGET, and why not, before anything is loaded.

    Each is a GGUF file, or repo:file on the Hub. Without DRAFT, what TARGET brings itself.
    """
    from specchat.commands.check import check as compare

    sys.exit(compare(**options))


@cli.command()
@click.option("--vram", metavar="SIZE", help="Of a card, such as 8GiB; repeatable.", multiple=True)
@click.option("--ram", metavar="SIZE", help="Main memory, such as 32GiB.")
@click.option("--device", type=click.Choice(["cuda", "rocm", "vulkan", "metal", "cpu"]))
@click.option("--all", "show_all", is_flag=True, help="Those that do not fit too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def pairs(**options: Any) -> None:
    """List the pairs that suit this machine, or one described by the options, best first."""
    from specchat.commands.pairs import pairs as rank

    sys.exit(rank(**options))


@cli.group()
def catalog() -> None:
    """The catalog of pairs."""


@catalog.command("check")
@click.argument("files", nargs=-1, type=_text)
def catalog_check(**options: Any) -> None:
    """Read FILES, or ours and your own catalog, and say what is wrong in them."""
    from specchat.commands.catalog import check as validate

    sys.exit(validate(**options))


@cli.command()
@click.argument("name", type=_text, metavar="PAIR|REPO[:QUANT|:FILE]")
@click.option("--yes", is_flag=True, help="Do not ask before the download.")
@click.option("--no-head", is_flag=True, help="Leave out the trained head that drafts for it.")
def pull(**options: Any) -> None:
    """Download a pair of the catalog, or a model of the Hub with the head that drafts for it."""
    from specchat.commands.pull import pull as download

    sys.exit(download(**options))


@cli.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def models(context: click.Context, /, **options: Any) -> None:
    """List the models on this disk, and the pairs that can be made from them."""
    if context.invoked_subcommand is None:
        from specchat.commands.models import show

        sys.exit(show(**options))


@models.command("verify")
@click.argument("name", type=_text, required=False)
def models_verify(**options: Any) -> None:
    """Compare downloaded files with the Hub's checksums."""
    from specchat.commands.models import verify

    sys.exit(verify(**options))


@models.command("rm")
@click.argument("name", type=_text)
@click.option("--yes", is_flag=True, help="Do not ask.")
def models_remove(**options: Any) -> None:
    """Delete a model that specchat downloaded."""
    from specchat.commands.models import remove

    sys.exit(remove(**options))


def main() -> None:
    """The `specchat` command: errors are sentences, and their exit code is 2."""
    from specchat.errors import SpecchatError

    try:
        sys.exit(cli.main(standalone_mode=False))
    except SpecchatError as error:
        click.echo(f"{error.title}: {error.message}\n{error.next_step}", err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:  # Ctrl+C
        sys.exit(130)


def _refuse_stray_options(context: click.Context) -> None:
    for name in context.params:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            option = "--" + name.replace("_", "-")
            raise click.UsageError(f"Put {option} after '{context.invoked_subcommand}'.")


def _given(context: click.Context) -> dict[str, Any]:
    """The options that are on the command line; a default of click's would hide the settings."""
    source = context.get_parameter_source
    return {
        name: value
        for name, value in context.params.items()
        if source(name) is click.core.ParameterSource.COMMANDLINE
    }


def _chosen(context: click.Context) -> tuple[Settings, Choices]:
    """The settings, and what they, a preset and the command line come to."""
    from specchat.settings import choose
    from specchat.settings_file import read_settings

    settings, given = read_settings(), _given(context)
    return settings, choose(settings, given, given.get("preset"))


def _choice(options: dict[str, Any], choices: Choices, *, draft_required: bool) -> Choice:
    from specchat.choosing.choice import Asked, choose

    return choose(
        Asked(
            pair=options["pair"],
            target=choices.target,
            draft=choices.draft,
            ctx=choices.context,
            threads=choices.threads,
            gpu_layers=choices.gpu_layers,
            rpc=options["rpc"],
            cache_type=options["cache_type"],
            draft_cache_type=options["draft_cache_type"],
            experts_in_ram=options["experts_in_ram"],
            drafter=choices.speculation.drafter,
            draft_length=choices.speculation.draft_length,
            draft_required=draft_required,
            keeps_draft=choices.speculation.drafter == "model",
        )
    )


def _for_the_bench(context: click.Context) -> dict[str, Any]:
    """The bench's options. It draws and drafts as they say; models and machine are the person's."""
    from specchat.settings import choose
    from specchat.settings_file import read_settings

    places = ("pair", "target", "draft", "threads", "gpu_layers")
    given = {name: value for name, value in _given(context).items() if name in places}
    choices = choose(read_settings(), given, preset="")
    return context.params | {
        "target": choices.target,
        "draft": choices.draft,
        "threads": choices.threads,
        "gpu_layers": choices.gpu_layers,
    }


def _prompt(given: str | None) -> str:
    from specchat.errors import InvalidSetting

    if given is None and sys.stdin.isatty():
        raise InvalidSetting(
            "Tried to answer a prompt.",
            "None was given.",
            "Use --prompt TEXT, or pipe text in: echo Hello | specchat run",
        )
    prompt = sys.stdin.buffer.read().decode(errors="replace") if given is None else given
    if not prompt.strip():
        raise InvalidSetting(
            "Tried to answer a prompt.", "It is empty.", "Give some text with --prompt."
        )
    return prompt
