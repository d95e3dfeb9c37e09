"""How good an answer to expect of a model: a rule of thumb for the order of a list, no benchmark.

The unit is billions of parameters of a dense model of January 2024 with all its bits:

- A dense model counts with its parameters. A mixture of experts lies between what it has and what
  it reads for a token, nearer to the former: two parts total, one part active (the geometric mean).
  Embeddings that are looked up, as in Gemma's E models, do not count.
- A year of progress is worth twice the parameters.
- Fewer bits keep less (`quants.kept`).
- A model that is known to be weaker than all that suggests counts with a part of it (`standing`).
"""

from specchat.pairing.catalog import CatalogModel
from specchat.pairing.quants import kept

SINCE = 2024
TOTAL_SHARE = 2 / 3


def quality(model: CatalogModel, quant: str) -> float:
    """What a quantised model is worth, in the unit above."""
    return dense_equivalent_b(model) * 2 ** _years(model.released) * kept(quant) * model.standing


def dense_equivalent_b(model: CatalogModel) -> float:
    """Billions of parameters of a dense model that knows as much."""
    if model.active_b is None:
        return model.params_b
    if not model.mixture:
        return model.active_b
    return float(model.params_b**TOTAL_SHARE * model.active_b ** (1 - TOTAL_SHARE))


def _years(released: str | None) -> float:
    if released is None:
        return 0.0
    year, month = map(int, released.split("-"))
    return year - SINCE + (month - 1) / 12
