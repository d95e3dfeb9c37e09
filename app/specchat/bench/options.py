"""The options of `specchat bench`. Only click is imported here, so that `--help` stays quick."""

from pathlib import Path

import click

FILE = click.Path(dir_okay=False, path_type=Path)

BENCH_OPTIONS = [
    click.option(
        "--pair",
        metavar="NAME",
        help="A pair of the catalog that is on this disk; realistic: one with realistic costs, "
        "which is built from the built-in model, once.",
    ),
    click.option(
        "--set", "sets", multiple=True, metavar="NAME", help="Prompt set; repeatable; default: all."
    ),
    click.option(
        "--prompts", type=click.IntRange(1), metavar="N", help="Prompts a set; default: all."
    ),
    click.option(
        "--repetitions",
        type=click.IntRange(1),
        metavar="N",
        help="Times each prompt is asked; default: 2.",
    ),
    click.option(
        "--variant",
        "variants",
        multiple=True,
        metavar="NAME",
        help="plain, auto, or drafter:length[:rule] such as model:3 or mtp:3; repeatable; "
        "default: many.",
    ),
    click.option("--quick", is_flag=True, help="2 prompts a set, once, 48 tokens, few variants."),
    click.option(
        "--max-tokens",
        type=click.IntRange(1),
        metavar="N",
        help="Longest answer; default: 128.",
    ),
    click.option(
        "--temperature",
        type=float,
        default=0.0,
        show_default=True,
        help="0 takes the likeliest, and texts are compared; above it rules are compared too.",
    ),
    click.option("--top-k", type=int, default=40, show_default=True, help="0 keeps all."),
    click.option("--top-p", type=float, default=0.95, show_default=True, help="1 keeps all."),
    click.option("--min-p", type=float, default=0.05, show_default=True, help="0 keeps all."),
    click.option(
        "--seed", type=int, default=1, show_default=True, metavar="N", help="Of the first turn."
    ),
    click.option("--json", "json_path", type=FILE, metavar="FILE", help="Keep the whole record."),
    click.option("--csv", "csv_path", type=FILE, metavar="FILE", help="Keep one line an answer."),
    click.option("--html", "html_path", type=FILE, metavar="FILE", help="Keep a page with charts."),
    click.option(
        "--even-if-busy",
        is_flag=True,
        help="Keep the result of a busy machine too, marked as such.",
    ),
    click.option(
        "--server-binary",
        type=FILE,
        metavar="FILE",
        help="A llama-server to measure beside it.",
    ),
    click.option(
        "--server-draft-length",
        type=click.IntRange(1),
        default=3,
        show_default=True,
        metavar="N",
        help="Tokens that llama-server drafts a round.",
    ),
    click.option(
        "--server-arg",
        "server_arguments",
        multiple=True,
        metavar="ARG",
        help="One more argument for llama-server; repeatable.",
    ),
]
