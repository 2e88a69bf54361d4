"""Drift of behaviour without movement of reward raises a flag; with it, or within noise, none."""

import numpy as np

from journeyman.training.drift import DriftConfig, inspect


def steps(reward: tuple[float, float], parallelism: tuple[float, float], noise: float = 0.01) -> list[dict[str, float]]:
    rng = np.random.default_rng(0)
    return [
        {
            "reward": reward[half] + rng.normal(0, noise),
            "parallelism": parallelism[half] + rng.normal(0, noise),
            "turns": 5 + rng.normal(0, 0.2),
        }
        for half in (0, 1)
        for _ in range(8)
    ]


def test_a_plateau_with_shifting_parallelism_asks_to_be_inspected() -> None:
    found = inspect(steps((0.5, 0.5), (1.0, 1.6)))
    assert list(found) == ["inspect_parallelism"]
    assert 0.3 < found["inspect_parallelism"] < 0.45


def test_where_reward_moves_behaviour_may() -> None:
    assert inspect(steps((0.3, 0.6), (1.0, 1.6))) == {}


def test_noise_and_short_histories_say_nothing() -> None:
    assert inspect(steps((0.5, 0.5), (1.0, 1.02))) == {}
    assert inspect(steps((0.5, 0.5), (1.0, 1.2), noise=0.5)) == {}
    assert inspect(steps((0.5, 0.5), (1.0, 1.6))[:12]) == {}
    assert inspect([{"turns": 1.0}] * 16) == {}


def test_only_the_newest_two_windows_count() -> None:
    old = steps((0.1, 0.2), (9.0, 9.0))
    assert inspect([*old, *steps((0.5, 0.5), (1.0, 1.6))], DriftConfig()) == inspect(steps((0.5, 0.5), (1.0, 1.6)))
