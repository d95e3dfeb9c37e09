"""The sampler against llama.cpp's own chain of samplers."""

import ctypes
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from specchat.llama.library import Library
from specchat.speculation.sampling import Sampler
from specchat.speculation.settings import SamplingSettings

N_VOCAB = 3000
CONTEXT = [*range(40), *range(20), 5, 5, 5]

SETTINGS = {
    "defaults": SamplingSettings(),
    "hot": SamplingSettings(temperature=1.8, top_k=200, top_p=0.99, min_p=0.01),
    "cold": SamplingSettings(temperature=0.2, top_k=20),
    "top-k alone": SamplingSettings(temperature=1.0, top_k=7, top_p=1.0, min_p=0.0),
    "top-p alone": SamplingSettings(temperature=0.9, top_k=0, top_p=0.8, min_p=0.0),
    "min-p alone": SamplingSettings(temperature=1.3, top_k=0, top_p=1.0, min_p=0.1),
    "everything": SamplingSettings(temperature=0.7, top_k=0, top_p=1.0, min_p=0.0),
    "penalties": SamplingSettings(
        repetition_penalty=1.3, presence_penalty=0.4, frequency_penalty=0.2, penalty_window=30
    ),
    "bias": SamplingSettings(top_k=0, logit_bias={3: 4.0, 1500: 6.0, 2999: -3.0}),
    "bias and penalties": SamplingSettings(
        temperature=1.0,
        top_k=0,
        top_p=1.0,
        min_p=0.0,
        repetition_penalty=1.5,
        presence_penalty=0.4,
        frequency_penalty=0.2,
        logit_bias={3: 9.0, 5: -9.0, 7: 6.0, 1500: 6.0, 2999: -math.inf},
    ),
}


def chain(api: Any, settings: SamplingSettings) -> Any:
    """The samplers of llama.cpp in the order of `common_sampler_init`, without one that selects."""
    stages = [
        api.llama_sampler_init_logit_bias(
            N_VOCAB,
            len(settings.logit_bias),
            (api.llama_logit_bias * len(settings.logit_bias))(*settings.logit_bias.items()),
        ),
        api.llama_sampler_init_penalties(
            N_VOCAB,
            settings.penalty_window,
            settings.repetition_penalty,
            settings.frequency_penalty,
            settings.presence_penalty,
        ),
        api.llama_sampler_init_top_k(settings.top_k),
        api.llama_sampler_init_top_p(settings.top_p, 0),
        api.llama_sampler_init_min_p(settings.min_p, 0),
        api.llama_sampler_init_temp(settings.temperature),
    ]
    whole = api.llama_sampler_chain_init(api.llama_sampler_chain_default_params())
    for stage in stages:
        api.llama_sampler_chain_add(whole, stage)
    return whole


def law_of_llama(
    api: Any, settings: SamplingSettings, logits: Sequence[float], context: Sequence[int]
) -> dict[int, float]:
    """What llama.cpp would draw the next token from."""
    entries = (api.llama_token_data * len(logits))(
        *((token, logit, 0.0) for token, logit in enumerate(logits))
    )
    candidates = api.llama_token_data_array(
        data=ctypes.cast(entries, ctypes.POINTER(api.llama_token_data)),
        size=len(logits),
        selected=-1,
        sorted=False,
    )
    samplers = chain(api, settings)
    try:
        for token in context:
            api.llama_sampler_accept(samplers, token)
        api.llama_sampler_apply(samplers, ctypes.byref(candidates))
    finally:
        api.llama_sampler_free(samplers)
    left = [candidates.data[index] for index in range(candidates.size)]
    weights = np.exp(np.array([entry.logit for entry in left]) - max(e.logit for e in left))
    shares = weights / weights.sum()
    return {int(entry.id): float(share) for entry, share in zip(left, shares, strict=True)}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", SETTINGS)
def test_the_law_is_that_of_llamas_samplers(library: Library, name: str, seed: int) -> None:
    settings = SETTINGS[name]
    logits = np.random.default_rng(seed).normal(0, 3, (1, N_VOCAB)).astype(np.float32)
    theirs = law_of_llama(library.api, settings, logits[0].tolist(), CONTEXT)
    (ours,) = Sampler(settings).distributions(logits, CONTEXT, [])

    assert len(theirs) > 1
    for token in {*theirs, *ours.ids.tolist()}:
        assert ours.probability(token) == pytest.approx(theirs.get(token, 0.0), abs=1e-5)


def test_the_settings_compared_leave_different_numbers_of_tokens(library: Library) -> None:
    logits = np.random.default_rng(0).normal(0, 3, N_VOCAB).tolist()
    sizes = {
        name: len(law_of_llama(library.api, settings, logits, CONTEXT))
        for name, settings in SETTINGS.items()
    }

    assert sizes["top-k alone"] == 7
    assert sizes["everything"] == N_VOCAB
    assert 7 < sizes["min-p alone"] < sizes["top-p alone"] < N_VOCAB
