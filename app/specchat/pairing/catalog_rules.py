"""What a sound table of the catalog may still get wrong: numbers that cannot be, parts that do
not go together, names of models that are nowhere."""

from collections.abc import Collection, Iterator, Mapping

from specchat.nearest import did_you_mean
from specchat.pairing.catalog import CatalogDraft, CatalogModel, CatalogPair
from specchat.pairing.quants import bits_per_weight
from specchat.pairing.toml_lines import Place

SIZE_TOLERANCE = 2.0
"""How many times as large as parameters times bits a file may be, or as small: it mixes types of
weights, and the embeddings of a tiny model are most of it."""
LONGEST = {"dspark": 7, "dflash": 15}
"""Tokens of the block that such a head is trained for (llama.cpp, docs/speculative.md)."""

Finding = tuple[Place, str]
"""Where in the table, and what is wrong there."""


def model_findings(model: CatalogModel) -> Iterator[Finding]:
    """What is wrong with a model's facts."""
    if model.active_b is not None and model.active_b > model.params_b:
        yield ("active_b",), f"{model.active_b}B of {model.params_b}B parameters cannot be active."
    if model.mixture and model.active_b is None:
        yield ("mixture",), "A mixture needs active_b, the parameters that are read for a token."
    facts = (model.n_layer, model.n_head_kv, model.head_dim, model.kv_bytes_per_1024)
    if all(fact is not None for fact in facts):
        n_layer, n_head_kv, head_dim, kv_bytes = (fact or 0 for fact in facts)
        most = n_layer * n_head_kv * head_dim * 2 * 2 * 1024  # keys and values, two bytes each
        if kv_bytes > most:
            yield (
                ("kv_bytes_per_1024",),
                f"{kv_bytes:,} bytes are more than all layers can keep, {most:,}.",
            )


def pair_findings(
    pair: CatalogPair, models: Mapping[str, CatalogModel], names: Collection[str]
) -> Iterator[Finding]:
    """What is wrong with a pair.

    Args:
        models: those that it may refer to.
        names: of all models, the unsound ones too.
    """
    yield from _reference(("target", "model"), pair.target.model, names)
    if pair.draft.model is not None:
        yield from _reference(("draft", "model"), pair.draft.model, names)
    yield from _target_findings(pair, models.get(pair.target.model))
    draft_model = None if pair.draft.model is None else models.get(pair.draft.model)
    yield from _draft_findings(pair.draft)
    if draft_model is not None:
        yield from _size(
            ("draft", "size_gb"), pair.draft.size_gb, pair.draft.quant or "", draft_model
        )
    sizes = pair.target.size_gb, pair.draft.size_gb
    if sizes[0] is not None and sizes[1] is not None and sizes[1] >= sizes[0]:
        yield ("draft", "size_gb"), "The draft is no smaller than the target."
    for number, evidence in enumerate(pair.evidence):
        if evidence.speed_up is not None and evidence.speed_up[0] > evidence.speed_up[1]:
            yield ("evidence", number, "speed_up"), "The lowest ratio comes first."
        if evidence.address and not evidence.address.startswith(("https://", "http://")):
            yield ("evidence", number, "address"), "An address begins with https://."


def _target_findings(pair: CatalogPair, model: CatalogModel | None) -> Iterator[Finding]:
    target = pair.target
    if (target.repo is None) == (target.package is None):
        yield ("target",), "The target is in a repo or in a package: name one of the two."
    if target.package is not None and target.sha256 is None:
        yield ("target", "package"), "A packaged file needs its sha256."
    if model is None:
        return
    if model.released is None:
        yield ("target", "model"), f"{model.name} needs to say when it was released to be a target."
    if model.n_ctx_train is not None and pair.n_ctx > model.n_ctx_train:
        yield (
            ("n_ctx",),
            f"{pair.n_ctx:,} tokens are more than the {model.n_ctx_train:,} that {model.name} "
            f"was trained for.",
        )
    yield from _size(("target", "size_gb"), target.size_gb, target.quant, model)


def _draft_findings(draft: CatalogDraft) -> Iterator[Finding]:
    where: Place = ("draft", "type")
    file = (draft.repo, draft.file)
    if draft.type == "ngram" and any((*file, draft.model, draft.quant, draft.size_gb)):
        yield where, "N-grams need no model and no file."
    if draft.type == "model" and not (draft.model and all(file) and draft.quant):
        yield where, "A draft model needs model, repo, file and quant."
    if draft.type not in ("model", "ngram") and draft.model is not None:
        yield where, "A head has no model of its own; leave model out."
    if (draft.repo is None) != (draft.file is None):
        yield where, "Name both repo and file, or neither when it is inside the target's file."
    longest = LONGEST.get(draft.type)
    if longest is not None and draft.length is not None and draft.length > longest:
        yield ("draft", "length"), f"Such a head guesses at most {longest} tokens."


def _size(
    place: Place, size_gb: float | None, quant: str, model: CatalogModel
) -> Iterator[Finding]:
    bits = bits_per_weight(quant)
    if size_gb is None or bits is None:
        return
    expected = model.params_b * bits / 8
    if not 1 / SIZE_TOLERANCE < size_gb / expected < SIZE_TOLERANCE:
        yield place, f"{size_gb} GB is no size for {model.name} in {quant}: about {expected:.2f}."


def _reference(place: Place, name: str, names: Collection[str]) -> Iterator[Finding]:
    if name not in names:
        yield place, f"No [[model]] is called {name}.{did_you_mean(name, names)}"
