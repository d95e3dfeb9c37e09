"""First the drafter that is free, when it is believed, else the model."""

from collections.abc import Sequence

from specchat.speculation.controller import LengthController
from specchat.speculation.drafters.base import Draft, ModelLikeDrafter
from specchat.speculation.drafters.ngram import NgramDrafter
from specchat.speculation.draws import Draws
from specchat.speculation.sampling import Sampler


class ChainDrafter:
    """Each round goes to the n-gram or to the model, whichever is expected to win more.

    Both are kept up to date; a model that was idle for some rounds reads what it missed in one
    call, which the controller counts as its cost.
    """

    def __init__(self, ngram: NgramDrafter, model: ModelLikeDrafter) -> None:
        self._ngram = ngram
        self._model = model

    def begin(
        self,
        ids: Sequence[int],
        sampler: Sampler,
        draws: Draws,
        controller: LengthController,
    ) -> None:
        """Get both ready."""
        self._ngram.begin(ids, sampler, draws, controller)
        self._model.begin(ids, sampler, draws, controller)

    def draft(self, ids: Sequence[int], limit: int, controller: LengthController) -> Draft:
        """The guesses of one of them, which the draft names."""
        if not controller.could_pay("model"):
            return self._ngram.draft(ids, limit, controller)
        found = self._ngram.match(ids)
        if found is not None:
            free = controller.gain("ngram", found[1], 1)
            dear = controller.gain("model", None, self._model.pending(ids))
            if free >= dear:
                return self._ngram.draft(ids, limit, controller)
        return self._model.draft(ids, limit, controller)

    def rollback(self, length: int) -> None:
        """Both forget."""
        self._ngram.rollback(length)
        self._model.rollback(length)

    def close(self) -> None:
        """Free the model's cache."""
        self._model.close()
