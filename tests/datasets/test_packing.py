"""Best-fit decreasing packing: the vectors of the design, and its properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from journeyman.datasets.packing import pack
from journeyman.errors import UserError


def test_vector_v8_packs_best_fit_decreasing_and_drops_the_over_long_row() -> None:
    packing = pack([7, 5, 4, 3, 2, 2, 12], 10)
    assert packing.bins == [[0, 3], [1, 2], [4, 5]]
    assert packing.dropped == [6]


def test_best_fit_differs_from_first_fit() -> None:
    assert pack([8, 6, 6, 5, 3, 1], 10).bins == [[0], [1, 4, 5], [2], [3]]


def test_a_capacity_that_holds_nothing_is_refused_in_one_line() -> None:
    with pytest.raises(UserError, match="capacity 0"):
        pack([1], 0)


@given(st.lists(st.integers(1, 30), max_size=40), st.integers(1, 25))
def test_every_row_is_kept_once_or_dropped_and_no_bin_overflows(lengths: list[int], capacity: int) -> None:
    packing = pack(lengths, capacity)
    kept = [index for rows in packing.bins for index in rows]
    assert sorted(kept + packing.dropped) == list(range(len(lengths)))
    assert all(lengths[index] > capacity for index in packing.dropped)
    assert all(sum(lengths[index] for index in rows) <= capacity for rows in packing.bins)
    assert pack(lengths, capacity) == packing
