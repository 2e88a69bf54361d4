"""Known values of the learner's equations, as `journeyman check learner` shows them."""

import pytest

from journeyman.training.vectors import TOLERANCE, Vector, vectors

FOUND = vectors()


@pytest.mark.parametrize("vector", FOUND, ids=lambda v: v.name)
def test_a_known_value_is_reproduced(vector: Vector) -> None:
    assert vector.holds, (vector.expected, vector.found)


def test_a_value_that_is_off_or_of_another_length_does_not_hold() -> None:
    one = FOUND[0]
    off = one.model_copy(update={"found": (one.found[0] + 2 * TOLERANCE, *one.found[1:])})
    assert one.holds
    assert not off.holds
    assert not one.model_copy(update={"found": (*one.found, 0.0)}).holds
