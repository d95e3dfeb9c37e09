"""`specchat models`: what is here, the pairs that it makes, whether it is whole, and deleting."""

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
from huggingface_hub import hf_hub_download

from specchat.commands.models import ModelsReport, models_report, report_lines, report_schema
from specchat.hub.inventory import FoundModel, Inventory, take_inventory
from specchat.hub.made_pairs import made_pairs
from specchat.hub.shelves import Shelf
from support.head_headers import target
from support.header_files import layers, texts, write_header_file
from support.hub_person import Person
from support.local_hub import COMMIT, LocalHub, LocalRepository, sha256

SCHEMA = Path(__file__).parents[2] / "docs" / "models.schema.json"
UPDATE = (
    'python -c "from specchat.commands.models import report_schema; '
    'print(report_schema().decode())" > docs/models.schema.json'
)
REPO = "maker/Tiny-GGUF"


def write_model(
    path: Path,
    *,
    architecture: str = "qwen3",
    width: int = 64,
    changed: str = "t200",
    general_type: str = "model",
) -> Path:
    """A header-only model of 300 tokens, one of which may have another text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_header_file(
        path,
        architecture,
        tokens=texts(300, (200, changed)),
        shapes=layers(2, width, 300),
        own={"block_count": 2, "embedding_length": width},
        entries={"general.type": general_type},
    )


def taken(folder: Path) -> Inventory:
    return take_inventory([Shelf("folder", folder)])


def by_name(inventory: Inventory) -> dict[str, FoundModel]:
    return {model.name: model for model in inventory.models if model.owner != "built_in"}


def test_models_are_told_from_what_only_looks_like_one(tmp_path: Path) -> None:
    write_model(tmp_path / "chat-Q4_K_M.gguf")
    write_model(tmp_path / "eyes.gguf", architecture="clip")
    write_model(tmp_path / "patch.gguf", general_type="adapter")
    write_model(tmp_path / "head.gguf", architecture="eagle3")
    (tmp_path / "broken.gguf").write_bytes(b"GGUF\x03")
    (tmp_path / "torn-00001-of-00002.gguf").write_bytes(b"GGUF")

    found = by_name(taken(tmp_path))

    assert {name: (model.kind, model.note) for name, model in found.items()} == {
        "broken": ("unreadable", found["broken"].note),
        "chat-Q4_K_M": ("model", None),
        "eyes": ("other", "Its architecture, clip, reads images for another model"),
        "head": ("drafter", "an EAGLE-3 draft"),
        "patch": ("other", "an adapter"),
        "torn": ("incomplete", "1 of its parts are not there"),
    }
    assert found["chat-Q4_K_M"].architecture == "qwen3"
    assert found["chat-Q4_K_M"].quant == "Q4_K_M"


def test_a_file_that_two_programs_share_is_listed_once(tmp_path: Path) -> None:
    model = write_model(tmp_path / "lms/maker/Tiny-GGUF/tiny-Q8_0.gguf")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/link.gguf").symlink_to(model)

    inventory = take_inventory(
        [Shelf("folder", tmp_path / "mine"), Shelf("lm_studio", tmp_path / "lms")]
    )

    [found] = by_name(inventory).values()
    assert (found.name, found.owner) == ("link", "folder")
    assert found.also == ("lm_studio maker/Tiny-GGUF:Q8_0",)


def test_a_head_is_not_called_as_the_model_of_its_quantisation(tmp_path: Path) -> None:
    write_model(tmp_path / "maker/Tiny-GGUF/tiny-Q8_0.gguf")
    write_model(tmp_path / "maker/Tiny-GGUF/dflash-tiny-Q8_0.gguf", architecture="dflash")

    found = by_name(take_inventory([Shelf("lm_studio", tmp_path)]))

    assert {name: model.kind for name, model in found.items()} == {
        "maker/Tiny-GGUF:Q8_0": "model",
        "maker/Tiny-GGUF:dflash-tiny-Q8_0.gguf": "drafter",
    }


def test_a_link_that_leads_nowhere_is_noted(tmp_path: Path) -> None:
    (tmp_path / "gone.gguf").symlink_to(tmp_path / "nowhere")

    inventory = taken(tmp_path)

    assert by_name(inventory) == {}
    assert "gone.gguf cannot be read" in inventory.notes[0]


def test_pairs_come_with_the_verdict_and_those_that_fit_come_first(tmp_path: Path) -> None:
    write_model(tmp_path / "big.gguf", width=512)
    write_model(tmp_path / "small.gguf", width=64)
    write_model(tmp_path / "stranger.gguf", width=64, changed="other")
    write_model(tmp_path / "head.gguf", width=64, architecture="eagle3")

    pairs = [pair for pair in made_pairs(taken(tmp_path)) if pair.target == "big"]

    assert pairs[0].draft == "small"
    assert pairs[0].verdict.usable
    assert pairs[0].draft_share < 0.1
    reasons = {pair.draft: pair.verdict.sentence for pair in pairs[1:]}
    assert reasons.keys() == {"stranger", "head"}
    assert "Token 200 is 't200' for the target and 'other' for the draft." in reasons["stranger"]
    assert "EAGLE-3" in reasons["head"]


def test_a_model_that_brings_heads_is_not_said_to_lack_a_draft(tmp_path: Path) -> None:
    target(tmp_path, heads=True)
    write_model(tmp_path / "stranger.gguf", changed="other")
    inventory = taken(tmp_path)
    pairs = tuple(pair for pair in made_pairs(inventory) if pair.target == "target")

    lines = report_lines(
        ModelsReport(models=inventory.models, pairs=pairs, interrupted=(), folders=(), notes=())
    )

    assert [line for line in lines if line.startswith("  target  ") and "1 MTP head" in line]
    assert lines.count("    <- 1 MTP head in its own file") == 1
    assert not [line for line in lines if "no draft" in line]


def test_a_model_is_not_tried_as_the_draft_of_one_hardly_larger(tmp_path: Path) -> None:
    write_model(tmp_path / "a.gguf", width=512)
    write_model(tmp_path / "b.gguf", width=500)

    pairs = made_pairs(taken(tmp_path))

    assert not [pair for pair in pairs if {pair.target, pair.draft} == {"a", "b"}]


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[LocalHub]:
    server = LocalHub()
    q8 = write_model(tmp_path / "q8.gguf", width=256).read_bytes()
    q4 = write_model(tmp_path / "q4.gguf", width=64).read_bytes()
    server.repositories[REPO] = LocalRepository(
        {"tiny-Q8_0.gguf": q8, "tiny-Q4_K_M.gguf": q4, "README.md": b"# Tiny"}
    )
    with server.serving():
        yield server


@pytest.fixture
def person(hub: LocalHub, tmp_path: Path) -> Person:
    return Person.of(tmp_path / "person", hub)


def listed(person: Person) -> dict[str, dict[str, object]]:
    """The models of the report, by name."""
    done = person.run("models", "--json")
    assert done.returncode == 0, done.stderr
    return {model["name"]: model for model in json.loads(done.stdout)["models"]}


def test_the_published_schema_is_that_of_the_report() -> None:
    assert json.loads(SCHEMA.read_bytes()) == json.loads(report_schema()), UPDATE


def test_the_json_is_valid_and_asks_nothing_of_the_network(hub: LocalHub, person: Person) -> None:
    person.run("pull", f"{REPO}:Q8_0", "--yes")
    person.run("pull", f"{REPO}:Q4_K_M", "--yes")
    hub.requests.clear()

    done = person.with_(HF_HUB_OFFLINE="1").run("models", "--json")

    report = json.loads(done.stdout)
    jsonschema.validate(report, json.loads(SCHEMA.read_bytes()))
    [large, small] = [model for model in report["models"] if model["owner"] == "hugging_face"]
    assert {large["name"], small["name"]} == {f"{REPO}:Q8_0", f"{REPO}:Q4_K_M"}
    assert large["pulled"]
    assert small["pulled"]
    [pair] = [pair for pair in report["pairs"] if pair["verdict"]["usable"]]
    assert (pair["target"], pair["draft"]) == (f"{REPO}:Q8_0", f"{REPO}:Q4_K_M")
    assert not hub.requests


def test_the_list_says_whose_a_model_is_and_which_pairs_there_are(person: Person) -> None:
    write_model(person.home / ".lmstudio/models/maker/Big-GGUF/big-Q8_0.gguf", width=512)
    blob = write_model(person.home / "blob.gguf", width=64)
    digest = hashlib.sha256(blob.read_bytes()).hexdigest()
    ollama = person.home / ".ollama/models"
    (ollama / "blobs").mkdir(parents=True)
    blob.rename(ollama / "blobs" / f"sha256-{digest}")
    manifest = ollama / "manifests/registry.ollama.ai/library/little/1b"
    manifest.parent.mkdir(parents=True)
    layer = {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}"}
    manifest.write_text(json.dumps({"layers": [layer]}))

    done = person.run("models")

    assert "LM Studio\n  maker/Big-GGUF:Q8_0" in done.stdout
    assert "Ollama\n  little:1b" in done.stdout
    assert "  maker/Big-GGUF:Q8_0\n    <- little:1b" in done.stdout
    paths = [line for line in done.stdout.splitlines() if line.startswith("      ")]
    assert "      ~/.lmstudio/models/maker/Big-GGUF/big-Q8_0.gguf" in paths
    assert max(len(line) for line in done.stdout.splitlines() if line not in paths) <= 80


def test_a_disk_with_nothing_on_it_says_where_it_looked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "none"))

    assert "set SPECCHAT_MODELS" in " ".join(report_lines(models_report()))


def test_an_interrupted_download_is_listed_with_how_to_go_on(hub: LocalHub, person: Person) -> None:
    hub.faults.cut_after = [20_000]
    hub.faults.refuse_after_cut = [(404, {})]

    stopped = person.run("pull", f"{REPO}:Q8_0", "--yes")
    done = person.run("models")

    assert stopped.returncode == 2
    text = " ".join(done.stdout.split())
    assert "tiny-Q8_0.gguf is half here (20 kB of" in text
    assert f"go on with: specchat pull {REPO}:Q8_0" in text


def damage(path: Path) -> None:
    """Another byte in the middle, the same size and place."""
    with path.resolve().open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\xff")


def test_verify_finds_the_damaged_file_and_says_how_to_mend_it(person: Person) -> None:
    whole = person.run("pull", f"{REPO}:Q8_0", "--yes")
    broken = person.run("pull", f"{REPO}:Q4_K_M", "--yes")
    sound = person.run("models", "verify")
    damage(Path(broken.stdout.strip()))

    done = person.run("models", "verify")
    one = person.run("models", "verify", f"{REPO}:q8_0")

    assert whole.returncode == 0
    assert sound.returncode == 0
    assert done.returncode == 1
    assert f"whole     {REPO}:Q8_0" in done.stdout
    assert f"DAMAGED   {REPO}:Q4_K_M" in done.stdout
    assert f"specchat models rm {REPO}:Q4_K_M" in " ".join(done.stdout.split())
    assert (one.returncode, one.stdout) == (0, f"whole     {REPO}:Q8_0\n")


def test_verify_asks_the_hub_where_the_cache_has_no_links(hub: LocalHub, person: Person) -> None:
    """As on Windows: the file itself lies under its name, and no blob states a checksum."""
    folder = person.cache / "models--maker--Tiny-GGUF" / "snapshots" / COMMIT
    folder.mkdir(parents=True)
    (folder / "tiny-Q8_0.gguf").write_bytes(hub.repositories[REPO].files["tiny-Q8_0.gguf"])

    sound = person.run("models", "verify", REPO)
    damage(folder / "tiny-Q8_0.gguf")
    damaged = person.run("models", "verify", REPO)
    offline = person.with_(HF_HUB_OFFLINE="1").run("models", "verify", REPO)

    assert sound.stdout == f"whole     {REPO}:Q8_0\n"
    assert damaged.returncode == 1
    assert offline.stdout == f"not known {REPO}:Q8_0\n"


def test_verify_of_an_unknown_name_is_bad_input(person: Person) -> None:
    done = person.run("models", "verify", "nonsense")

    assert done.returncode == 2
    assert "There is nothing of this name" in done.stderr


def test_rm_deletes_what_was_pulled_and_leaves_what_lies_beside(
    hub: LocalHub, person: Person
) -> None:
    person.run("pull", f"{REPO}:Q8_0", "--yes")
    person.run("pull", f"{REPO}:Q4_K_M", "--yes")

    done = person.run("models", "rm", f"{REPO}:q8_0", "--yes")

    assert done.returncode == 0, done.stderr
    assert "Deleted;" in done.stderr
    assert list(person.blobs()) == [sha256(hub.repositories[REPO].files["tiny-Q4_K_M.gguf"])]
    assert f"{REPO}:Q4_K_M" in listed(person)


def test_rm_of_a_repository_takes_all_of_it_that_is_ours(hub: LocalHub, person: Person) -> None:
    person.run("pull", f"{REPO}:Q8_0", "--yes")
    person.run("pull", f"{REPO}:Q4_K_M", "--yes")

    person.run("models", "rm", REPO, "--yes")

    assert person.blobs() == {}
    assert not list(person.cache.glob("models--*"))


def test_rm_of_a_quantisation_leaves_a_head_that_was_pulled_by_its_name(
    hub: LocalHub, person: Person
) -> None:
    hub.repositories[REPO].files["mtp-tiny-Q8_0.gguf"] = b"GGUF head"
    person.run("pull", f"{REPO}:Q8_0", "--no-head", "--yes")
    head = person.run("pull", f"{REPO}:mtp-tiny-Q8_0.gguf", "--yes")

    done = person.run("models", "rm", f"{REPO}:Q8_0", "--yes")

    assert done.returncode == 0
    assert list(person.blobs()) == [sha256(b"GGUF head")]
    assert Path(head.stdout.strip()).is_file()


def test_rm_asks_first(hub: LocalHub, person: Person) -> None:
    person.run("pull", f"{REPO}:Q8_0", "--yes")

    done = person.run("models", "rm", f"{REPO}:Q8_0")

    assert done.returncode == 2
    assert "--yes" in done.stderr
    assert len(person.blobs()) == 1


def test_rm_refuses_what_another_program_downloaded_into_the_same_cache(
    hub: LocalHub, person: Person
) -> None:
    download_as_another_program(person)

    done = person.run("models", "rm", f"{REPO}:Q8_0", "--yes")

    assert done.returncode == 2
    assert "specchat deletes only what it downloaded" in done.stderr
    assert f"hf cache rm model/{REPO}" in done.stderr
    assert len(person.blobs()) == 1


def download_as_another_program(person: Person) -> None:
    """With huggingface-hub itself."""
    path = hf_hub_download(
        REPO, "tiny-Q8_0.gguf", cache_dir=person.cache, endpoint=person.environment["HF_ENDPOINT"]
    )
    assert Path(path).is_file()


def test_a_file_that_was_here_before_the_pull_is_not_ours(hub: LocalHub, person: Person) -> None:
    download_as_another_program(person)
    done = person.run("pull", f"{REPO}:Q8_0", "--yes")

    assert "here already" in done.stderr
    assert not listed(person)[f"{REPO}:Q8_0"]["pulled"]


def test_rm_of_an_ollama_model_names_the_command_of_ollama(person: Person) -> None:
    digest = "a" * 64
    ollama = person.home / ".ollama/models"
    write_model(ollama / "blobs" / f"sha256-{digest}")
    manifest = ollama / "manifests/registry.ollama.ai/library/little/1b"
    manifest.parent.mkdir(parents=True)
    layer = {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}"}
    manifest.write_text(json.dumps({"layers": [layer]}))

    done = person.run("models", "rm", "little:1b", "--yes")

    assert done.returncode == 2
    assert "ollama rm little:1b" in done.stderr
    assert (ollama / "blobs" / f"sha256-{digest}").is_file()


def test_rm_of_an_interrupted_download_deletes_what_came(hub: LocalHub, person: Person) -> None:
    hub.faults.cut_after = [20_000]
    hub.faults.refuse_after_cut = [(404, {})]
    person.run("pull", f"{REPO}:Q8_0", "--yes")
    kept = person.blobs()

    done = person.run("models", "rm", f"{REPO}:Q8_0", "--yes")

    assert list(kept.values()) == [20_000]
    assert done.returncode == 0
    assert person.blobs() == {}


def test_rm_of_an_unknown_name_is_bad_input(person: Person) -> None:
    done = person.run("models", "rm", "nonsense", "--yes")

    assert done.returncode == 2
    assert "There is no model of this name here" in done.stderr


def test_a_name_that_is_no_text_is_noted(tmp_path: Path) -> None:
    model = write_model(tmp_path / "good.gguf")
    (tmp_path / os.fsdecode(b"bad\xff.gguf")).symlink_to(model)

    inventory = taken(tmp_path)

    assert list(by_name(inventory)) == ["good"]
    assert inventory.notes == (f"{tmp_path}/bad\ufffd.gguf has a name that is no text.",)


def test_rm_leaves_the_link_of_another_program_to_the_same_bytes(person: Person) -> None:
    pulled = Path(person.run("pull", f"{REPO}:Q8_0", "--yes").stdout.strip())
    theirs = pulled.parents[1] / ("d" * 40) / pulled.name
    theirs.parent.mkdir()
    theirs.symlink_to(pulled.readlink())

    done = person.run("models", "rm", f"{REPO}:Q8_0", "--yes")

    assert "0 B are free again" in done.stderr
    assert not pulled.exists()
    assert theirs.is_file()


def test_rm_leaves_the_unfinished_download_of_another_program(person: Person) -> None:
    pulled = Path(person.run("pull", f"{REPO}:Q8_0", "--yes").stdout.strip())
    theirs = pulled.resolve().with_name("e" * 64 + ".incomplete")
    theirs.write_bytes(b"half")

    done = person.run("models", "rm", f"{REPO}:Q8_0", "--yes")

    assert done.returncode == 0
    assert not pulled.exists()
    assert theirs.read_bytes() == b"half"
