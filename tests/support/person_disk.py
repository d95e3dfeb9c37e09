"""Files where a person's programs would have put them, and a catalog of their own."""

from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def put_in_hub_cache(cache: Path, repo: str, name: str, source: Path) -> Path:
    """A file of a repository, as huggingface-hub keeps it; returns where it lies by name."""
    folder = cache / f"models--{repo.replace('/', '--')}"
    blob = folder / "blobs" / ("0" * 40)
    blob.parent.mkdir(parents=True, exist_ok=True)
    place = folder / "snapshots" / COMMIT / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(source)
    return place


def write_own_catalog(
    home: Path,
    name: str,
    repo: str,
    file: str,
    *,
    draft_repo: str = "",
    draft_file: str = "",
    params_b: float = 7.0,
    n_ctx: int = 16384,
) -> None:
    """A pair in the person's catalog: with a draft model, or without one for n-grams.

    Args:
        home: `SPECCHAT_HOME`.
    """
    folder = home / "config" / "catalog"
    folder.mkdir(parents=True, exist_ok=True)
    draft = 'type = "ngram"'
    if draft_file:
        draft = (
            f'type = "model"\nlength = 4\nmodel = "{name}-small"\nrepo = "{draft_repo}"\n'
            f'file = "{draft_file}"\nquant = "F16"\nsize_gb = 0.5'
        )
    (folder / f"{name}.toml").write_text(
        f"""family = "{name}"
{_model(f"{name}-large", params_b)}
{_model(f"{name}-small", 0.5)}
[[pair]]
name = "{name}"
n_ctx = {n_ctx}
confidence = "verified"

[pair.target]
model = "{name}-large"
repo = "{repo}"
file = "{file}"
quant = "F16"
size_gb = {params_b * 2}

[pair.draft]
{draft}
"""
    )


def _model(name: str, params_b: float) -> str:
    return f"""
[[model]]
name = "{name}"
title = "{name}"
licence = "Apache-2.0"
released = "2026-01"
params_b = {params_b}
architecture = "llama"
n_layer = 4
n_head_kv = 4
head_dim = 64
n_embd = 256
n_vocab = 300
n_ctx_train = 32768
source = "made up"
confidence = "verified"
"""
