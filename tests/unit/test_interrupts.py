"""Ctrl+C, once and twice."""

from specchat.tui.interrupts import AGAIN_S, Interrupts


def test_only_one_right_after_another_is_the_second() -> None:
    times = iter([100.0, 100.0 + AGAIN_S + 0.1, 102.5, 103.0])
    interrupts = Interrupts(lambda: next(times))

    assert [interrupts.again() for _ in range(4)] == [False, False, True, True]
