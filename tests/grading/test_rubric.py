"""R-02, Z-01..Z-03 and vectors V11: what a verdict set is worth, and that a broken one is worth nothing."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from journeyman.errors import GraderFailure
from journeyman.grading.rubric import aggregate, faults, interval, rewards
from journeyman.records.grade import OPTIMISED, REPORTED
from journeyman.records.rubric import Rubric, Verdict
from tests.grading.making import check, criterion

# 31 criteria in six groups, eight negative, +247/-210: the shape of the published worked example.
GROUPS = {
    "factual": [12, 10, 10, 8, 8, -25],
    "analysis": [18, 15, 12, 10, -25, -50],
    "completeness": [14, 12, 10, 8, 8],
    "fidelity": [18, 10, 8, -25, -25],
    "communication": [12, 10, 8, 6],
    "instructions": [14, 6, -20, -20, -20],
}
WEIGHTS = [w for group in GROUPS.values() for w in group]


def rubric_of(weights: list[float]) -> Rubric:
    always = check("file_exists", path="out.txt")
    return Rubric(criteria=tuple(criterion(f"c{i}", w, always) for i, w in enumerate(weights)))


def verdicts_of(met: dict[str, bool]) -> list[Verdict]:
    return [Verdict(criterion=name, met=value, evidence="e", source="check") for name, value in met.items()]


def met_for(weights: list[float], raw: float) -> dict[str, bool]:
    """Some verdict set whose raw sum is `raw` (subset sum over positives, given which negatives are MET)."""
    reach: dict[float, tuple[int, ...]] = {0.0: ()}
    for i, w in enumerate(weights):
        reach |= {s + w: (*chosen, i) for s, chosen in list(reach.items()) if s + w not in reach}
    chosen = reach[raw]
    return {f"c{i}": i in chosen for i in range(len(weights))}


def test_the_worked_example_has_31_criteria_of_plus_247_and_minus_210() -> None:
    assert (len(WEIGHTS), len(GROUPS), sum(w < 0 for w in WEIGHTS)) == (31, 6, 8)
    assert sum(w for w in WEIGHTS if w > 0) == 247
    assert sum(w for w in WEIGHTS if w < 0) == -210


@pytest.mark.parametrize(("raw", "reported", "signed"), [(164, 164 / 247, 164 / 247), (-71, 0.0, -71 / 247)])
def test_golden_rewards(raw: float, reported: float, signed: float) -> None:
    rubric = rubric_of(WEIGHTS)
    result = aggregate(rubric, verdicts_of(met_for(WEIGHTS, raw)))
    assert result.raw == raw
    assert result.rewards[REPORTED] == pytest.approx(reported, abs=1e-12)
    assert result.rewards[OPTIMISED] == pytest.approx(signed, abs=1e-12)
    assert round(164 / 247, 3) == 0.664
    assert round(164 / 247, 6) == 0.663968


def test_v11_vectors() -> None:
    first = rubric_of([10, 5, -4, 3])
    result = aggregate(first, verdicts_of({"c0": True, "c1": False, "c2": True, "c3": False}))
    assert (result.raw, round(result.rewards[REPORTED], 6)) == (6, 0.333333)
    assert interval(first, {"c0": True, "c1": False, "c2": True}) == pytest.approx((1 / 3, 0.5))
    assert interval(rubric_of([10, -8]), {"c0": True}) == pytest.approx((0.2, 1.0))
    negative = aggregate(rubric_of([-3, -1]), verdicts_of({"c0": True, "c1": False}))
    assert negative.rewards[REPORTED] == 0.25


def test_dropping_any_one_of_31_verdicts_gives_no_score() -> None:
    rubric = rubric_of(WEIGHTS)
    verdicts = verdicts_of(met_for(WEIGHTS, 164))
    for i in range(31):
        with pytest.raises(GraderFailure, match="verdict_set_incomplete"):
            aggregate(rubric, verdicts[:i] + verdicts[i + 1 :])


def test_duplicate_and_foreign_verdicts_are_refused_and_named() -> None:
    rubric = rubric_of([10, -8])
    with pytest.raises(GraderFailure, match=r"duplicate c0; .*\[0.000000, 1.000000\]|duplicate c0"):
        aggregate(rubric, [*verdicts_of({"c0": True, "c1": False}), *verdicts_of({"c0": True})])
    with pytest.raises(GraderFailure, match=r"missing c0, c1; foreign x, y; reward in \[0\.000000, 1\.000000\]"):
        aggregate(rubric, verdicts_of({"x": True, "y": True}))


def test_the_refusal_says_the_exact_interval() -> None:
    with pytest.raises(GraderFailure, match=r"missing c1; reward in \[0\.200000, 1\.000000\]"):
        aggregate(rubric_of([10, -8]), verdicts_of({"c0": True}))


def test_bad_worse_and_empty_are_ordered_by_the_optimised_reward() -> None:
    rubric = rubric_of(WEIGHTS)
    values = [rewards(rubric, raw)[OPTIMISED] for raw in (-71, -10, 0)]
    assert values == sorted(set(values))
    assert all(-1 <= v <= 1 for v in values)
    assert rewards(rubric, -1000)[OPTIMISED] == -1.0


@pytest.mark.parametrize("weights", [[0.0, 0.0], [math.nan, 1.0], [math.inf]])
def test_weights_that_cannot_be_summed_give_no_reward(weights: list[float]) -> None:
    with pytest.raises(GraderFailure, match="rubric_has_no_weight"):
        rewards(rubric_of(weights), 0.0)


@given(st.lists(st.integers(-50, 50).filter(bool), min_size=1, max_size=12), st.data())
def test_a_reward_is_bounded_and_the_interval_holds_it(weights: list[float], data: st.DataObject) -> None:
    rubric = rubric_of(weights)
    met = {c.id: data.draw(st.booleans()) for c in rubric.criteria}
    result = aggregate(rubric, verdicts_of(met))
    assert 0 <= result.rewards[REPORTED] <= 1
    assert -1 <= result.rewards[OPTIMISED] <= 1
    known = {name: value for name, value in met.items() if data.draw(st.booleans())}
    low, high = interval(rubric, known)
    assert low - 1e-12 <= result.rewards[REPORTED] <= high + 1e-12


def test_faults_keep_the_order_of_the_rubric() -> None:
    assert faults(["a", "b", "c"], ["c", "c", "z"]) == (("a", "b"), ("c",), ("z",))
