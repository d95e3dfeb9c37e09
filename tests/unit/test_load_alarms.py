"""What a load says about the traps that would make every answer slow."""

from dataclasses import replace

from specchat.engine.alarms import Loading, load_alarms

FINE = Loading(
    target="Large",
    offloaded_to=("CUDA0",),
    has_experts=True,
    experts_in_ram=True,
    draft="Small",
    draft_offloaded_to=("CUDA0",),
    draft_cache_type="f16",
)


def words(loading: Loading) -> list[str]:
    return [f"{alarm.title}: {alarm.message} {alarm.help}" for alarm in load_alarms(loading)]


def test_a_pair_that_lies_where_it_should_says_nothing() -> None:
    assert words(FINE) == []
    assert words(replace(FINE, offloaded_to=(), draft_offloaded_to=())) == []


def test_a_draft_on_the_cpu_beside_a_target_on_a_card_is_told() -> None:
    assert words(replace(FINE, draft_offloaded_to=())) == [
        "The draft is on the CPU: Large is on CUDA0, and Small, which has to be much "
        "quicker, is not. Make room for it on CUDA0 with a smaller --ctx or fewer --gpu-layers, "
        "or leave the draft out."
    ]


def test_a_quantised_cache_of_the_draft_is_told() -> None:
    assert words(replace(FINE, draft_cache_type="q4_0")) == [
        "The draft's KV cache is quantised: In q4_0 the guesses of Small are kept less often; the "
        "memory saved is small. Use --draft-cache-type f16."
    ]


def test_without_a_draft_nothing_is_said_of_one() -> None:
    assert words(replace(FINE, draft=None, draft_offloaded_to=(), draft_cache_type="q4_0")) == []


def test_experts_that_a_model_does_not_have_are_not_passed_over() -> None:
    assert words(replace(FINE, has_experts=False)) == [
        "No experts to keep in main memory: Large is no mixture of experts: --experts-in-ram "
        "changes nothing. To put less of it on the GPU use --gpu-layers."
    ]
    assert words(replace(FINE, has_experts=False, experts_in_ram=False)) == []
