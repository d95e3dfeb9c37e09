"""The list of pairs: of the catalog and of this disk, with headings between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from specchat.pairing.planned import PlannedFile, PlannedPair
from specchat.tui.memory_lines import legend_line
from specchat.tui.pair_entries import made_entry, model_entry, pair_title, planned_entry

if TYPE_CHECKING:
    from specchat.choosing.offers import Offers
    from specchat.hub.made_pairs import MadePair
    from specchat.tui.on_disk import OnDisk

OPTION_PADDING = 2
NARROWEST = 20
ROOMY = 24
"""Lines of a list in which entries have a blank line between them."""
BUILT_IN = "built-in"
AT_ONCE = "The built-in model, to try at once"
NOTHING_FOUND = "No pair has all of these words."


@dataclass(frozen=True)
class Pick:
    """What a person chose: a pair of the catalog, or files. Neither: the built-in model."""

    pair: str | None = None
    target: str | None = None
    draft: str | None = None


class PairList(OptionList):
    """Entries of several lines. What cannot be chosen is listed too, with its reason.

    Args:
        first_run: nothing is loaded yet; the built-in model can be chosen at once.
        in_use: the catalog's name of the pair that is loaded.
    """

    HELP = (
        "Each entry: the model that answers, and who guesses for it; what there is to download; "
        "for every device the memory that it takes, of what is free; the speed to expect, and "
        "where that figure is from; the context, the licence, and the name for `specchat --pair`; "
        "why it is here. What does not fit this machine, and a draft that does not suit its "
        "target, say why. What you type leaves those that have all the words in a title, a name, a "
        "licence or a path."
    )

    def __init__(self, *, first_run: bool, in_use: str | None) -> None:
        super().__init__(markup=False)
        self._first_run = first_run
        self._in_use = in_use
        self._offers: Offers | None = None
        self._disk: OnDisk | None = None
        self._picks: dict[str, Pick] = {}
        self._planned: dict[str, PlannedPair] = {}
        self._words: tuple[str, ...] = ()
        """What all entries have in them."""

    def on_mount(self) -> None:
        """Show what is known at once."""
        first = "Choose a model, or type to filter"
        self.border_title = first if self._first_run else "pairs: type to filter"
        self.border_subtitle = legend_line()
        self._fill()

    def on_resize(self) -> None:
        """Bars are as long as there is room."""
        self._fill()

    def show(self, offers: Offers, disk: OnDisk | None = None) -> None:
        """More is known now."""
        self._offers, self._disk = offers, disk
        self._fill()

    def filter(self, text: str) -> None:
        """Show what has all of these words."""
        self._words = tuple(text.lower().split())
        self.highlighted = None
        self._fill()

    def pick(self, option: Option) -> Pick:
        """What an entry stands for."""
        return self._picks[option.id or ""]

    def to_download(self, option: Option) -> str | None:
        """The name of an entry's pair if its files are not here yet."""
        planned = self._planned.get(option.id or "")
        return planned.name if planned is not None and not planned.on_disk else None

    def _fill(self) -> None:
        """Draw all entries; the one that the person went to stays highlighted."""
        options = list(self._entries(self._offers))
        ids = [option.id for option in options]
        at = self.highlighted
        before = None if at is None else self.get_option_at_index(at).id
        only_entry = self.option_count == 1
        if not options and self._words:
            options = [Option(Content(NOTHING_FOUND), disabled=True)]
        self.set_options(options)
        if before is not None and before in ids and not only_entry:
            self.highlighted = ids.index(before)
        else:
            self.action_first()

    def _entries(self, offers: Offers | None) -> Iterator[Option]:
        self._picks.clear()
        self._planned.clear()
        if offers is None:
            if self._first_run:
                yield self._entry(BUILT_IN, Content(AT_ONCE), Pick())
        elif self._first_run and not self._words:
            yield from self._of_catalog(offers, offers.best)
            yield from _headed("On this disk", self._of_disk(offers))
            yield from _headed("Here already, to try at once", self._built_in(offers))
        else:
            yield from self._of_all(offers)
        if offers is not None:
            yield from _headed("Drafts that do not suit", self._unsuitable(offers))

    def _of_all(self, offers: Offers) -> Iterator[Option]:
        """Everything that there is."""
        from specchat.pairing.planner import best_of_each_model

        fitting = [pair for pair in offers.catalog if pair.fits]
        best = best_of_each_model(fitting)
        here = [pair for pair in fitting if pair.on_disk]
        away = [pair for pair in best if not pair.on_disk]
        rest = [pair for pair in fitting if not pair.on_disk and pair not in best]
        on_disk = (
            *self._of_catalog(offers, here),
            *self._of_disk(offers),
            *self._built_in(offers),
        )
        yield from _headed("On this disk", on_disk)
        yield from _headed("To download, the best first", self._of_catalog(offers, away))
        yield from _headed("The same models in other ways", self._of_catalog(offers, rest))
        too_large = [pair for pair in offers.catalog if not pair.fits]
        yield from _headed("What does not fit", self._that_do_not_fit(offers, too_large))

    def _that_do_not_fit(self, offers: Offers, pairs: Iterable[PlannedPair]) -> Iterator[Option]:
        for pair in self._matching(pairs):
            yield self._make_option(planned_entry(pair, offers.machine, self._entry_width))

    def _matching(self, pairs: Iterable[PlannedPair]) -> Iterator[PlannedPair]:
        return (pair for pair in pairs if self._has(pair_title(pair), pair.name, pair.licence))

    def _has(self, *texts: str) -> bool:
        """Whether all words are in these texts."""
        text = " ".join(texts).lower()
        return all(word in text for word in self._words)

    def _of_catalog(self, offers: Offers, pairs: Iterable[PlannedPair]) -> Iterator[Option]:
        for pair in self._matching(pairs):
            content = planned_entry(pair, offers.machine, self._entry_width)
            if pair.name == self._in_use:
                content = content + "\n" + Content.styled("● loaded now", "$text-success")
            key = BUILT_IN if pair is offers.built_in else f"pair {pair.name}"
            self._planned[key] = pair
            yield self._entry(key, content, Pick(pair=pair.name))

    def _built_in(self, offers: Offers) -> Iterator[Option]:
        built_in = offers.built_in
        return self._of_catalog(offers, [built_in] if built_in and built_in.on_disk else [])

    def _of_disk(self, offers: Offers) -> Iterator[Option]:
        """Models of the person's, with a draft and alone, unless the catalog has them above."""
        if self._disk is None:
            return
        known = [pair for pair in (*offers.best, *offers.catalog) if pair.on_disk]
        for made in self._disk.pairs:
            if not self._has(made.target, made.draft, made.target_path, made.draft_path):
                continue
            if made.verdict.usable and not any(_same_pair(made, each) for each in known):
                plan = self._disk.plans.get((made.target_path, made.draft_path))
                pick = Pick(target=made.target_path, draft=made.draft_path)
                content = made_entry(made, plan, offers.machine, self._entry_width)
                yield self._entry(f"made {pick}", content, pick)
        for model in self._disk.models:
            if not any(_has(each, model.path) for each in known) and self._has(
                model.name, model.path
            ):
                alone = self._disk.alone[model.path]
                content = model_entry(model, alone, offers.machine, self._entry_width)
                yield self._entry(f"file {model.path}", content, Pick(target=model.path))

    def _unsuitable(self, offers: Offers) -> Iterator[Option]:
        for made in self._disk.pairs if self._disk is not None else ():
            if not made.verdict.usable and self._has(made.target, made.draft):
                yield self._make_option(made_entry(made, None, offers.machine, self._entry_width))

    @property
    def _entry_width(self) -> int:
        return max(NARROWEST, self.scrollable_content_region.width - OPTION_PADDING)

    def _entry(self, id: str, content: Content, pick: Pick) -> Option:
        self._picks[id] = pick
        return self._make_option(content, id)

    def _make_option(self, content: Content, id: str | None = None) -> Option:
        """One without an id cannot be chosen."""
        spaced = content + "\n" if self.size.height >= ROOMY else content
        return Option(spaced, id=id, disabled=id is None)


def _headed(text: str, options: Iterable[Option]) -> Iterator[Option]:
    """A heading, if there is anything to head."""
    below = list(options)
    if below:
        yield _heading(text)
    yield from below


def _heading(text: str) -> Option:
    return Option(Content.styled(text, "bold underline"), disabled=True)


def _same_pair(made: MadePair, planned: PlannedPair) -> bool:
    draft = planned.draft
    same_target = _is(made.target_path, planned.target)
    return same_target and draft is not None and _is(made.draft_path, draft)


def _has(planned: PlannedPair, path: str) -> bool:
    return any(_is(path, file) for file in (planned.target, planned.draft) if file is not None)


def _is(path: str, file: PlannedFile) -> bool:
    """The catalog names a file, or a pattern of it."""
    return file.file is not None and fnmatchcase(Path(path).name, file.file.rpartition("/")[2])
