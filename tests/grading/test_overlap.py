"""Z-04: two criteria on one proposition are grouped and their effective weight is said; independent ones are not."""

from journeyman.grading.overlap import Overlap, overlaps
from journeyman.records.rubric import Rubric
from tests.grading.making import check, criterion

HOW = check("file_exists", path="out.txt")


def rubric(*rows: tuple[str, float, str]) -> Rubric:
    return Rubric(criteria=tuple(criterion(name, weight, HOW, text) for name, weight, text in rows))


PUBLISHED = rubric(
    ("c14", 10, "v7 is the sole basis for Board, fairness, and transaction-valuation work."),
    ("c24", 18, "Uses Management Forecast v7 as the forecast basis."),
    ("c11", -25, "Presents the stale v5 case as the current forecast."),
    ("c16", -25, "Bases the section on the stale v5 case."),
    ("c13", 18, "Separates what the board can approve now from what counsel must still clear."),
    ("c20", 8, "States that EBITDA for 2027 is 214 million."),
    ("c21", 8, "States that revenue for 2027 is 980 million."),
)


def test_the_published_pairs_are_grouped_with_their_effective_weight() -> None:
    assert overlaps(PUBLISHED) == (Overlap(("c14", "c24"), 28), Overlap(("c11", "c16"), -50))


def test_independent_criteria_are_not_grouped() -> None:
    assert overlaps(rubric(("a", 1, "The EBITDA of v7 is 42."), ("b", 1, "The EBITDA of v6 is 41."))) == ()
    assert overlaps(rubric(("a", 1, "Counsel cleared the lenders."), ("b", 1, "The board approved the budget."))) == ()


def test_a_positive_and_a_negative_on_one_fact_are_two_sides_not_a_double_count() -> None:
    assert overlaps(rubric(("a", 5, "The basis is v7."), ("b", -5, "The basis is not v7."))) == ()


def test_grouping_is_transitive() -> None:
    rows = [("a", 1.0, "The basis is v7."), ("b", 2.0, "The forecast basis: v7."), ("c", 4.0, "v7 is the basis.")]
    assert overlaps(rubric(*rows)) == (Overlap(("a", "b", "c"), 7.0),)
