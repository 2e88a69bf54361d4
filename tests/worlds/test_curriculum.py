"""The curriculum is whole: counts, names, spaces, and what is live is what can be made."""

from collections import Counter
from itertools import product
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journeyman.services.definitions import SERVICES
from journeyman.worlds.base import Pair
from journeyman.worlds.cases.model import TrapKind
from journeyman.worlds.curriculum import AREAS, area_space, axes, entries, status
from journeyman.worlds.curriculum.entries import read_axes
from journeyman.worlds.curriculum.space import combinations
from journeyman.worlds.registry import DEFAULT_TYPES, ENVIRONMENT_TYPES, environment_type

PLANNED_SYSTEMS = {"crm", "grc", "mes", "property"}


def test_four_domains_nineteen_areas_and_eighty_eight_types() -> None:
    counts = Counter(area.domain for area in AREAS for _ in area.entries)
    assert counts == {"finance": 34, "law": 15, "consulting": 28, "operations": 11}
    assert len(AREAS) == 19
    assert len(entries()) == 88
    assert len({area.name for area in AREAS}) == 19


def test_every_live_type_is_in_the_curriculum_under_its_own_area() -> None:
    areas = {entry.name: area for area in AREAS for entry in area.entries}
    for name in ENVIRONMENT_TYPES:
        kind = environment_type(name)
        assert status(name) == "live"
        assert areas[name].name == kind.practice_area
        assert areas[name].domain == kind.domain
        assert not entries()[name].axes, f"{name} is live: its axes stand in its class"


def test_every_entry_says_what_it_needs() -> None:
    for area in AREAS:
        for entry in area.entries:
            assert entry.name.startswith(f"{area.domain}.")
            assert entry.title
            assert len(entry.deliverables) >= 1
            assert len(entry.complexity) == 3
            assert set(entry.complexity) <= set(get_args(TrapKind))
            assert set(entry.systems) <= {*SERVICES, *PLANNED_SYSTEMS}
            assert len(axes(area, entry)[0]) >= 8


@pytest.mark.parametrize("area", AREAS, ids=lambda area: area.name)
def test_a_practice_area_spans_ten_million_to_ten_billion_combinations(area: object) -> None:
    assert 10**7 <= area_space(area) <= 10**10  # type: ignore[arg-type]


NAMES = ("a", "b", "c", "d")
VALUES = ("x", "y", "z")
PAIRS = st.tuples(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(VALUES)),
    st.tuples(st.sampled_from(NAMES), st.sampled_from(VALUES)),
).filter(lambda p: p[0][0] != p[1][0])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(PAIRS, max_size=6))
def test_combinations_are_those_that_enumeration_finds(pairs: list[Pair]) -> None:
    sizes = {name: VALUES[: 2 + i % 2] for i, name in enumerate(NAMES)}
    drawn = [dict(zip(sizes, values, strict=True)) for values in product(*sizes.values())]
    allowed = [d for d in drawn if not any(d[a] == x and d[b] == y for (a, x), (b, y) in pairs)]
    assert combinations(sizes, tuple(pairs)) == len(allowed)


def test_an_axis_of_one_value_is_refused() -> None:
    with pytest.raises(ValueError, match="axis size needs at least two different values"):
        read_axes("sector: retail energy; size: small")


def test_a_recipe_without_types_makes_the_first_four() -> None:
    assert DEFAULT_TYPES == (
        "finance.board_forecast",
        "law.covenant_certificate",
        "consulting.vendor_benchmark",
        "operations.warehouse_exception",
    )
