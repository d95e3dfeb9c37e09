"""How an answer came about, for tests of what is kept."""

from specchat.chat.parts import PartFigures
from specchat.chat.records import AnswerRecord
from specchat.speculation.metrics import Figures
from specchat.speculation.settings import SamplingSettings

RECORD = AnswerRecord(
    target="Target-7B-Q4_K_M.gguf",
    draft="Draft-0.5B-Q8_0.gguf",
    drafter="chain",
    rule="block",
    draft_length="auto",
    sampling=SamplingSettings(temperature=0.7),
    seed=42,
    figures=Figures(
        prompt_tokens=31,
        emitted=20,
        rounds=8,
        drafted=24,
        tested=16,
        accepted=12,
        accepted_histogram=(2, 2, 2, 2),
        tested_at=(8, 6, 2),
        accepted_ngram=4,
        time_to_first_token_s=0.25,
        decode_s=2.0,
        draft_s=0.5,
        verify_s=1.25,
        plain_tokens_per_second=8.0,
        plain_age_s=12.0,
    ),
    parts={"answer": PartFigures(rounds=8, emitted=20, drafted=24, tested=16, accepted=12)},
)
"""An answer that a draft made faster."""
