"""Which pair is loaded: named, used last, the best on this disk, or the built-in one."""

from pathlib import Path

import pytest

from specchat.choosing.answering import answering_models
from specchat.choosing.choice import Asked, Choice, choose
from specchat.choosing.last_pair import remember
from specchat.choosing.offers import find_offers
from specchat.errors import InvalidSetting, NoModel
from specchat.hub.builtin import BUILT_IN, built_in_model
from support.header_files import layers, texts, write_header_file
from support.person_disk import put_in_hub_cache, write_own_catalog

REPO, FILE = "maker/Large-GGUF", "large-f16.gguf"
DRAFT_REPO, DRAFT_FILE = "maker/Small-GGUF", "small-f16.gguf"


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Hugging Face's, as the tests' environment has it."""
    return tmp_path / "hub"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Some model."""
    return write_header_file(
        tmp_path / "made.gguf", "llama", tokens=texts(300), shapes=layers(4, 256, 300)
    )


@pytest.fixture
def catalog(specchat_home: Path) -> None:
    """A pair called `mine` in the person's own catalog."""
    write_own_catalog(
        specchat_home, "mine", REPO, FILE, draft_repo=DRAFT_REPO, draft_file=DRAFT_FILE
    )


@pytest.fixture
def pair(catalog: None, cache: Path, model: Path) -> tuple[Path, Path]:
    """The files of `mine`, on this disk."""
    target = put_in_hub_cache(cache, REPO, FILE, model)
    return target, put_in_hub_cache(cache, DRAFT_REPO, DRAFT_FILE, model)


def files(choice: Choice) -> tuple[str, str | None]:
    return choice.load.pair.target, choice.load.pair.draft


def test_where_nothing_else_is_here_the_built_in_model_is_chosen_and_it_is_a_first_run() -> None:
    choice = choose(Asked())

    assert (choice.origin, choice.name, choice.first_run) == ("built_in", BUILT_IN, True)
    assert files(choice) == (str(built_in_model()), None)


def test_a_named_pair_is_opened_with_both_its_files(pair: tuple[Path, Path]) -> None:
    choice = choose(Asked(pair="Mine"))

    assert (choice.origin, choice.name, choice.title) == ("named", "mine", "mine-large F16")
    assert files(choice) == tuple(map(str, pair))
    assert choice.load.plan.max_draft_length == 16
    assert choice.notices == ()


def test_with_ngrams_alone_the_draft_is_not_loaded_but_belongs_to_the_pair(
    pair: tuple[Path, Path],
) -> None:
    choice = choose(Asked(pair="mine", drafter="ngram"))

    assert files(choice) == (str(pair[0]), None)
    assert choice.files.draft == str(pair[1])


def test_the_name_of_no_pair_is_refused_with_the_nearest_ones() -> None:
    with pytest.raises(InvalidSetting, match=r"'qwen3-9b'.*Did you mean .*qwen3-8b") as refused:
        choose(Asked(pair="qwen3-9b"))
    assert "specchat pairs --all" in refused.value.next_step

    with pytest.raises(InvalidSetting) as refused:
        choose(Asked(pair="zzzzzz"))
    assert "Did you mean" not in refused.value.next_step


def test_a_pair_that_is_not_here_is_refused_with_its_size_and_how_to_get_it(
    catalog: None,
) -> None:
    with pytest.raises(NoModel, match=r"large-f16.gguf is not on this disk") as refused:
        choose(Asked(pair="mine"))

    assert refused.value.next_step == "Download it (14.5 GB) with: specchat pull mine"


def test_a_pair_without_its_draft_goes_on_without_and_says_how_to_get_it(
    catalog: None, cache: Path, model: Path
) -> None:
    target = put_in_hub_cache(cache, REPO, FILE, model)
    choice = choose(Asked(pair="mine"))

    assert files(choice) == (str(target), None)
    [notice] = choice.notices
    assert notice.kind == "draft_not_here"
    assert "specchat pull mine" in notice.help
    with pytest.raises(NoModel, match="small-f16"):
        choose(Asked(pair="mine", drafter="model"))


@pytest.mark.parametrize("file", [{"target": "a.gguf"}, {"draft": "a.gguf"}])
def test_a_pair_and_a_file_at_once_are_refused(file: dict[str, str]) -> None:
    with pytest.raises(InvalidSetting, match="Use --pair, or --target and --draft"):
        choose(Asked(pair="mine", **file))  # type: ignore[arg-type]


def test_a_file_that_is_named_is_taken_as_it_is(pair: tuple[Path, Path]) -> None:
    choice = choose(Asked(target="some.gguf", draft="other.gguf", ctx=777, gpu_layers=3))

    assert (choice.origin, choice.name, choice.title) == ("files", None, "some")
    assert files(choice) == ("some.gguf", "other.gguf")
    assert (choice.load.plan.n_ctx, choice.load.plan.n_gpu_layers) == (777, 3)


def test_the_best_pair_on_this_disk_is_opened_where_none_was_used_last(
    pair: tuple[Path, Path], specchat_home: Path, cache: Path, model: Path
) -> None:
    write_own_catalog(specchat_home, "mine", REPO, FILE, params_b=0.3)
    write_own_catalog(specchat_home, "worse", "maker/Worse-GGUF", FILE, params_b=0.1)
    put_in_hub_cache(cache, "maker/Worse-GGUF", FILE, model)
    choice = choose(Asked())

    assert (choice.origin, choice.name, choice.first_run) == ("best", "mine", False)
    assert choice.load.pair.target == str(pair[0])


def test_a_pair_that_does_not_fit_is_not_opened_by_itself(
    specchat_home: Path, cache: Path, model: Path
) -> None:
    write_own_catalog(specchat_home, "huge", REPO, FILE, params_b=20_000.0)
    put_in_hub_cache(cache, REPO, FILE, model)

    assert choose(Asked()).name == BUILT_IN


def test_the_pair_that_was_used_last_is_opened_again(pair: tuple[Path, Path]) -> None:
    remember(choose(Asked(pair="mine", drafter="ngram")))
    choice = choose(Asked())

    assert (choice.origin, choice.name, choice.title) == ("last", "mine", "mine-large F16")
    assert files(choice) == tuple(map(str, pair))
    assert choice.pair is not None


def test_a_draft_that_came_since_the_last_time_is_used(
    catalog: None, cache: Path, model: Path
) -> None:
    put_in_hub_cache(cache, REPO, FILE, model)
    remember(choose(Asked(pair="mine")))
    assert [notice.kind for notice in choose(Asked()).notices] == ["draft_not_here"]

    draft = put_in_hub_cache(cache, DRAFT_REPO, DRAFT_FILE, model)
    choice = choose(Asked())
    assert (choice.origin, choice.notices) == ("last", ())
    assert choice.load.pair.draft == str(draft)


def test_files_that_were_used_last_are_opened_again_from_any_folder(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    remember(choose(Asked(target=model.name)))
    monkeypatch.chdir("/")
    choice = choose(Asked())

    assert (choice.origin, choice.title) == ("last", "made")
    assert files(choice) == (str(model), None)


def test_a_pair_that_was_used_last_and_is_gone_is_forgotten(model: Path) -> None:
    remember(choose(Asked(target=str(model))))
    model.unlink()

    assert choose(Asked()).origin == "built_in"


def test_the_built_in_model_is_only_remembered_if_it_was_named(pair: tuple[Path, Path]) -> None:
    remember(choose(Asked(draft="some.gguf")))
    assert choose(Asked()).name == "mine"

    remember(choose(Asked(pair=BUILT_IN)))
    assert choose(Asked()).name == BUILT_IN


def test_a_note_of_the_last_pair_that_makes_no_sense_is_no_obstacle(specchat_home: Path) -> None:
    folder = specchat_home / "data"
    folder.mkdir(parents=True)
    (folder / "last-pair.json").write_bytes(b'{"target": 5}')

    assert choose(Asked()).origin == "built_in"


def test_offers_are_the_best_pairs_of_different_models_and_what_is_here(
    pair: tuple[Path, Path],
) -> None:
    offers = find_offers(3)

    assert len(offers.best) == len({each.target.title for each in offers.best}) == 3
    assert all(each.fits and each.name != BUILT_IN for each in offers.best)
    assert offers.built_in is not None
    assert offers.built_in.on_disk
    here = [model for model in answering_models() if model.owner != "built_in"]
    assert [found.path for found in here] == [str(pair[0])]  # both are the same bytes
