"""Headers of models on the Hub, read from a server on loopback that speaks its protocol."""

from collections.abc import Iterator
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub import constants

from specchat.errors import ModelNotFound, NotAModel
from specchat.hub.remote_header import is_address, read_remote
from specchat.pairing.gguf_file import read_gguf
from support.header_files import layers, texts, write_header_file
from support.range_server import RangeServer, range_server

N_VOCAB = 60_000
ADDRESS = "owner/model-GGUF:model-Q4_0.gguf"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A header of 1.1 MB in front of 100 MB."""
    return write_header_file(
        tmp_path_factory.mktemp("hub") / "model-Q4_0.gguf",
        "qwen3",
        tokens=texts(N_VOCAB),
        shapes=layers(2, 768, N_VOCAB),
    )


@pytest.fixture
def hub(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RangeServer]:
    """A Hub with one model, and nothing in the cache on this disk."""
    (tmp_path / "cut.gguf").write_bytes(model.read_bytes()[:1000])
    files = {"owner/model-GGUF/model-Q4_0.gguf": model, "owner/cut/cut.gguf": tmp_path / "cut.gguf"}
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    with range_server(files) as server:
        monkeypatch.setattr(constants, "ENDPOINT", server.endpoint)
        template = server.endpoint + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        yield server
    huggingface_hub.close_session()


def refusal(address: str) -> ModelNotFound:
    """The words with which an address is refused."""
    with pytest.raises(ModelNotFound) as caught:
        read_remote(address)
    assert caught.value.tried == f"Tried to read '{address}' on the Hub."
    return caught.value


def test_a_remote_header_says_what_the_file_on_disk_says(hub: RangeServer, model: Path) -> None:
    remote, local = read_remote(ADDRESS), read_gguf(model)

    assert remote.path == ADDRESS
    assert remote.size_bytes == local.size_bytes
    assert (remote.metadata, remote.tokens) == (local.metadata, local.tokens)
    assert remote.tensors == local.tensors


def test_only_the_header_is_fetched(hub: RangeServer, model: Path) -> None:
    read_remote(ADDRESS)

    assert model.stat().st_size > 100_000_000
    assert hub.sent_bytes < 2_200_000
    assert all(wanted for method, _, wanted in hub.requests if method == "GET")


def test_a_header_that_was_fetched_once_is_asked_for_no_more(hub: RangeServer) -> None:
    first = read_remote(ADDRESS)
    hub.requests.clear()

    assert read_remote(ADDRESS) == first
    assert [method for method, *_ in hub.requests] == ["HEAD"]


def test_a_header_is_fetched_anew_when_the_publisher_changed_the_file(hub: RangeServer) -> None:
    read_remote(ADDRESS)
    hub.etag = "fedcba9876543210"
    hub.requests.clear()

    read_remote(ADDRESS)

    assert "GET" in [method for method, *_ in hub.requests]


def test_without_a_version_a_header_is_fetched_every_time(hub: RangeServer) -> None:
    hub.etag = None
    read_remote(ADDRESS)
    hub.requests.clear()

    read_remote(ADDRESS)

    assert "GET" in [method for method, *_ in hub.requests]


def test_a_file_in_the_cache_of_this_disk_is_read_there(
    hub: RangeServer, model: Path, tmp_path: Path
) -> None:
    repo = tmp_path / "hub" / "models--owner--model-GGUF"
    (repo / "refs").mkdir(parents=True)
    (repo / "refs" / "main").write_text("c" * 40)
    here = repo / "snapshots" / ("c" * 40) / model.name
    here.parent.mkdir(parents=True)
    here.symlink_to(model)

    assert read_remote(ADDRESS).path == str(here)
    assert hub.requests == []


def test_the_parts_of_a_split_model_are_fetched_one_by_one(
    hub: RangeServer, tmp_path: Path
) -> None:
    shapes = list(layers(1, 64, 300).items())
    for number in (1, 2):
        name = f"big-{number:05}-of-00002.gguf"
        hub.files[f"owner/big/q4/{name}"] = write_header_file(
            tmp_path / name,
            "qwen3",
            tokens=texts(300),
            shapes=dict(shapes[:2] if number == 1 else shapes[2:]),
            entries={"split.count": 2, "split.no": number - 1},
        )

    model = read_remote("owner/big:q4/big-00002-of-00002.gguf")

    assert model.path == "owner/big:q4/big-00001-of-00002.gguf"
    assert [tensor.name for tensor in model.tensors] == [name for name, _ in shapes]


@pytest.mark.parametrize("repository", ["nobody/nothing", "no--body/is..called", "-/-"])
def test_a_missing_repository_is_named(hub: RangeServer, repository: str) -> None:
    error = refusal(f"{repository}:model.gguf")

    assert error.happened == "There is no such repository, or it is private."
    assert error.next_step == (
        "Check the name for a typing error; for a private one run: hf auth login"
    )


def test_a_missing_file_is_named_with_the_page_of_its_repository(hub: RangeServer) -> None:
    error = refusal("owner/model-GGUF:model-Q9_9.gguf")

    assert error.happened == "The repository has no such file."
    assert error.next_step == f"Its files are at {hub.endpoint}/owner/model-GGUF/tree/main"


def test_a_gated_repository_says_where_its_terms_are(hub: RangeServer) -> None:
    hub.gated.add("owner/model-GGUF")

    error = refusal(ADDRESS)

    assert error.happened == "Its repository is open only to those who have accepted its terms."
    assert error.next_step == (
        f"Accept them at {hub.endpoint}/owner/model-GGUF, then run: hf auth login"
    )


def test_a_token_opens_a_gated_repository(
    hub: RangeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.gated.add("owner/model-GGUF")
    monkeypatch.setenv("HF_TOKEN", hub.token)

    assert read_remote(ADDRESS).architecture == "qwen3"
    assert not hub.leaked


def test_offline_nothing_is_asked(hub: RangeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)

    error = refusal(ADDRESS)

    assert error.happened == "HF_HUB_OFFLINE is set, and the file is not on this disk."
    assert hub.requests == []


def test_a_hub_that_cannot_be_reached_is_a_sentence(
    hub: RangeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = "http://127.0.0.1:9"
    monkeypatch.setattr(constants, "ENDPOINT", nowhere)
    template = nowhere + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)

    assert refusal(ADDRESS).happened == f"The Hub cannot be reached at {nowhere}."


def test_a_server_in_trouble_is_a_sentence(hub: RangeServer) -> None:
    hub.status = 503

    assert refusal(ADDRESS).happened == "The Hub answered with status 503."


def test_a_server_that_would_send_the_whole_file_is_left(hub: RangeServer) -> None:
    hub.whole_files_only = True

    assert refusal(ADDRESS).happened == "The server does not send parts of a file."


def test_a_damaged_remote_file_is_no_model(hub: RangeServer) -> None:
    with pytest.raises(NotAModel, match="cut short"):
        read_remote("owner/cut:cut.gguf")


def test_an_address_names_a_file(hub: RangeServer) -> None:
    assert refusal("owner/model-GGUF:Q4_0").happened == "That names no file."


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (ADDRESS, True),
        ("owner/repo:folder/file.gguf", True),
        ("model.gguf", False),
        ("owner/repo", False),
        ("folder/sub/model:1.gguf", False),
        (r"C:\models\model.gguf", False),
        ("C:/models/model.gguf", False),
    ],
)
def test_an_address_has_an_owner_a_repository_and_a_colon(name: str, expected: bool) -> None:
    assert is_address(name) == expected
