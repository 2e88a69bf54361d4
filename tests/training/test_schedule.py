"""The learning rate of the text at its four points."""

import pytest

from journeyman.training.schedule import ScheduleConfig, factor


@pytest.mark.parametrize(("step", "lr"), [(25, 5e-6), (50, 1e-5), (525, 5.1e-6), (1000, 2e-7)])
def test_warm_up_then_cosine(step: int, lr: float) -> None:
    config = ScheduleConfig(kind="cosine", warmup_fraction=0.05, floor=0.02)
    assert 1e-5 * factor(step, 1000, config) == pytest.approx(lr)


def test_constant_is_constant() -> None:
    assert {factor(step, 10, ScheduleConfig()) for step in range(1, 11)} == {1.0}
