"""Trained heads that lie in the repository of their model: kept apart, pulled with it, found."""

from collections.abc import Iterator
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub import constants

from specchat.choosing.sidecars import sidecar_of
from specchat.errors import AccessNeeded
from specchat.hub.library import cache_folder
from specchat.hub.pairs import request_for
from specchat.hub.plan import DownloadPlan, plan_download
from specchat.hub.progress import Progress
from specchat.hub.transfer import download
from specchat.pairing.catalog import read_catalog
from specchat.pairing.gguf_file import read_gguf
from support.header_files import Shapes, layers, texts, write_header_file
from support.hub_person import Person
from support.local_hub import LocalHub, LocalRepository

REPO = "maker/Gemma-GGUF"
WIDTH, N_VOCAB = 256, 300
MODEL, HEAD = "gemma-Q8_0.gguf", "mtp-gemma-Q4_0.gguf"


class Files:
    """What files have in them; they are made by their headers alone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def model(self, *, own_head: bool = False) -> bytes:
        """A model of four layers, perhaps with an MTP head inside."""
        shapes = layers(4, WIDTH, N_VOCAB)
        if own_head:
            shapes["blk.4.nextn.eh_proj.weight"] = (WIDTH, 2 * WIDTH)
        return self._written(
            "glm4moe" if own_head else "gemma4",
            shapes,
            {"block_count": 4 + own_head, "embedding_length": WIDTH},
        )

    def head(self, width: int = WIDTH) -> bytes:
        """An MTP head for a Gemma 4 of this width."""
        return self._written(
            "gemma4-assistant",
            {"nextn.pre_projection.weight": (64, 512)},
            {"block_count": 4, "embedding_length": 64, "embedding_length_out": width},
        )

    def _written(self, architecture: str, shapes: Shapes, own: dict[str, int]) -> bytes:
        path = self._folder / "written.gguf"
        write_header_file(path, architecture, tokens=texts(N_VOCAB), shapes=shapes, own=own)
        return path.read_bytes()


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


@pytest.fixture
def hub(files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHub]:
    """The Hub of this process, with one model and its head, and an empty cache on this disk."""
    server = LocalHub()
    server.repositories[REPO] = LocalRepository({MODEL: files.model(), HEAD: files.head()})
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPECCHAT_HOME", str(tmp_path / "specchat"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    with server.serving():
        monkeypatch.setattr(constants, "ENDPOINT", server.address)
        template = server.address + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        yield server
    huggingface_hub.close_session()


class Silent:
    """Follows a download and says nothing."""

    def progress(self, progress: Progress) -> None:
        """Nothing."""

    def notice(self, sentence: str) -> None:
        """Nothing."""


def planned(name: str, *, with_head: bool = True) -> tuple[list[str], list[str]]:
    """The files that would be downloaded, and what is said of those that would not."""
    said: list[str] = []
    plan = plan_of(name, said, with_head=with_head)
    return [file.name for file in plan.files], said


def plan_of(name: str, said: list[str], *, with_head: bool = True) -> DownloadPlan:
    request = request_for(name, with_head=with_head)
    return plan_download(name, request.items, said.append, with_head=request.with_head)


def pulled(name: str, *, with_head: bool = True) -> list[Path]:
    plan = plan_of(name, [], with_head=with_head)
    return download(plan.files, cache_folder(), Silent(), name)


def test_a_model_is_pulled_with_its_head_which_is_then_found_beside_it(
    hub: LocalHub, tmp_path: Path
) -> None:
    person = Person.of(tmp_path / "person", hub)

    done = person.run("pull", REPO, "--yes")

    assert done.returncode == 0, done.stderr
    target, head = map(Path, done.stdout.splitlines())
    assert (target.name, head.name) == (MODEL, HEAD)
    assert (
        "mtp-gemma-Q4_0.gguf is an MTP sidecar that drafts for gemma-Q8_0.gguf.\n"
        "To leave it out use --no-head.\n"
    ) in done.stderr
    found = sidecar_of(read_gguf(target))
    assert found is not None
    assert found.path == str(head)
    agents = {asked.user_agent.partition("/")[0] for asked in hub.requests}
    assert agents == {"specchat"}, "those that read headers say who asks too"


def test_a_head_is_left_out_where_the_person_says_so(hub: LocalHub, tmp_path: Path) -> None:
    person = Person.of(tmp_path / "person", hub)

    refused = person.run("pull", REPO, "--no-head")
    done = person.run("pull", REPO, "--no-head", "--yes")

    assert f"Add --yes: specchat pull {REPO} --no-head --yes" in refused.stderr
    assert [Path(line).name for line in done.stdout.splitlines()] == [MODEL]
    assert not [asked for asked in hub.requests if HEAD in asked.path]


def test_a_head_that_came_with_another_commit_is_found_all_the_same(hub: LocalHub) -> None:
    [target] = pulled(REPO, with_head=False)
    hub.repositories[REPO].commit = "1" * 40
    [head] = pulled(f"{REPO}:{HEAD}")

    found = sidecar_of(read_gguf(target))

    assert head.parent != target.parent
    assert found is not None
    assert found.path == str(head)


def test_of_a_head_in_several_commits_the_one_beside_the_target_goes_first(
    hub: LocalHub, files: Files
) -> None:
    target, beside = pulled(REPO)
    hub.repositories[REPO].commit = "1" * 40
    hub.repositories[REPO].files[HEAD] = files.head() + bytes(32)
    [newer] = pulled(f"{REPO}:{HEAD}")
    found = sidecar_of(read_gguf(target))
    beside.unlink()
    then = sidecar_of(read_gguf(target))

    assert found is not None
    assert found.path == str(beside)
    assert then is not None
    assert then.path == str(newer)


def test_a_head_of_another_repository_is_not_beside_the_target(hub: LocalHub, files: Files) -> None:
    hub.repositories["maker/Other-GGUF"] = LocalRepository({HEAD: files.head()})
    [target] = pulled(REPO, with_head=False)
    pulled("maker/Other-GGUF")

    assert sidecar_of(read_gguf(target)) is None


@pytest.mark.parametrize(
    ("model", "heads", "taken"),
    [
        ("m-Q8_0.gguf", ["mtp-m-Q4_0.gguf", "mtp-m-Q8_0.gguf", "mtp-m-BF16.gguf"], 1),
        ("m-Q4_K_M.gguf", ["mtp-m-BF16.gguf", "mtp-m-Q4_0.gguf", "mtp-m-Q2_K.gguf"], 1),
        ("m-Q8_0.gguf", ["MTP/m-Q8_0-MTP.gguf", "mtp-m.gguf"], 1),
        ("m-Q8_0.gguf", ["dflash-m-Q8_0.gguf", "mtp-m-Q4_0.gguf"], 1),
    ],
)
def test_of_several_heads_the_one_that_suits_the_model_best_is_taken(
    hub: LocalHub, files: Files, model: str, heads: list[str], taken: int
) -> None:
    """Files of one kind have the size of their quantisation here too: more bits, more bytes."""
    padding = {"BF16": 4096, "Q8_0": 2048, "Q2_K": 0}
    sizes = [next((n for quant, n in padding.items() if quant in name), 1024) for name in heads]
    content = {name: files.head() + bytes(n) for name, n in zip(heads, sizes, strict=True)}
    hub.repositories[REPO] = LocalRepository({model: files.model(), **content})

    names, said = planned(REPO)

    assert names == [model, heads[taken]]
    assert said == []


def test_a_head_whose_name_leaves_it_open_is_told_from_a_model_by_its_header(
    hub: LocalHub, files: Files
) -> None:
    hub.repositories[REPO] = LocalRepository(
        {
            "gemma-Q4_0.gguf": files.model(),
            "gemma-assistant-Q4_0.gguf": files.head(),
            "without-a-word-Q4_0.gguf": files.head(),
        }
    )

    names, _ = planned(f"{REPO}:Q4_0", with_head=False)

    assert names == ["gemma-Q4_0.gguf"]


def test_a_model_with_a_head_inside_is_a_model_and_needs_none_beside_it(
    hub: LocalHub, files: Files
) -> None:
    hub.repositories[REPO] = LocalRepository(
        {"glm-MTP-Q4_0.gguf": files.model(own_head=True), HEAD: files.head()}
    )

    assert planned(f"{REPO}:q4_0") == (["glm-MTP-Q4_0.gguf"], [])


def test_a_head_that_does_not_fit_is_left_out_with_the_reason(hub: LocalHub, files: Files) -> None:
    hub.repositories[REPO].files[HEAD] = files.head(1024)

    names, said = planned(REPO)

    assert names == [MODEL]
    assert said == [
        f"No head is downloaded. {HEAD}, an MTP sidecar, cannot draft for {MODEL}. It was made for "
        "a target of width 1,024, and this one has 256."
    ]


@pytest.mark.parametrize("name", [MODEL, HEAD])
def test_a_header_that_cannot_be_read_leaves_the_model_to_be_pulled(
    hub: LocalHub, name: str
) -> None:
    hub.repositories[REPO].files[name] = b"GGUF" + hub.repositories[REPO].files[name][:3_000][::-1]
    hub.repositories[REPO].stated_sizes[MODEL] = 1_000_000

    names, said = planned(REPO)

    assert names == [MODEL]
    [sentence] = said
    assert f"Tried to read '{REPO}:{name}'" in sentence


def test_the_header_of_a_gated_model_is_not_asked_for_without_access(hub: LocalHub) -> None:
    hub.repositories[REPO].gated = "manual"

    with pytest.raises(AccessNeeded):
        planned(REPO)

    assert not [asked for asked in hub.requests if "/resolve/" in asked.path]


def test_the_head_of_a_pair_of_the_catalog_can_be_left_out() -> None:
    pair = next(
        pair
        for pair in read_catalog().pairs.values()
        if pair.draft.repo and pair.draft.type == "mtp"
    )

    assert [item.choice for item in request_for(pair.name).items] == [
        pair.target.file,
        pair.draft.file,
    ]
    without = request_for(pair.name, with_head=False)
    assert [item.choice for item in without.items] == [pair.target.file]
