"""A criterion that decides something else than it says is named."""

import pytest

from journeyman.grading.propositions import figure_faults
from journeyman.records.rubric import Check, Rubric
from tests.grading.making import check, criterion

SAID = "The base is 4321 users of 2026."


def value(*values: object) -> Check:
    return check("field_equals", path="out.txt", key="base", value=values[0] if len(values) == 1 else list(values))


def inside(kind: str, *inner: Check) -> Check:
    return check(kind, checks=[c.model_dump(mode="json") for c in inner])


@pytest.mark.parametrize(
    ("decide", "said"),
    [
        (value(1000), SAID),
        (value("1,000 users", "1000"), SAID),
        (value(4321, 1000), SAID),
        (value(1000, 1038, 1052, 1090), "The base is the number of users."),
        (value("2026-01-31"), "The notice counts on 2026-01-30."),
        (check("number_near", path="out.txt", label="base", value=1000, tolerance=1), SAID),
        (check("cell_equals", path="out.xlsx", cell="B2", value=1000), SAID),
        (check("text_contains", path="out.txt", any=["1000 users", "base of 1000"]), SAID),
        (check("text_contains", path="out.txt", all=["1000 users"]), SAID),
        (inside("any_of", value(1000)), SAID),
        (inside("all_of", value(1001), value(1000)), SAID),
    ],
)
def test_a_figure_that_is_accepted_and_not_said_is_named(decide: Check, said: str) -> None:
    (fault, *_) = figure_faults(Rubric(criteria=(criterion("base", 1, decide, said),)))
    assert fault.startswith("criterion base accepts ")
    assert said in fault


@pytest.mark.parametrize(
    ("decide", "said", "weight"),
    [
        (value("4,321", 4321), SAID, 1),
        (value("4321 (users)"), SAID, 1),
        (value(1000), "The base is right.", 1),
        (value("yes"), SAID, 1),
        (value("v7"), "Version 7 is taken.", 1),
        (value("2026-01-31", "31 January 2026"), "It ends on 31 January 2026.", 1),
        (value(1000, 1038), "A base of a year before 2026 is given.", -1),
        (check("number_near", path="out.txt", label="base", value=4.3, tolerance=0.05), "It is 4.32 in 2026.", 1),
        (check("number_near", path="out.txt", label="base", value=4_300_000), "It is 4.3 million.", 1),
        (check("not_", check=value(1000).model_dump(mode="json")), SAID, 1),
        (check("text_contains", path="out.txt", any=["four thousand", "4321 users"]), SAID, 1),
        (check("file_exists", path="out.txt"), SAID, 1),
        (inside("all_of", value(1000), value(1001)), "The years are those of the plan.", 1),
        (inside("all_of", value(4321), value(1001)), SAID, 1),
    ],
)
def test_what_a_proposition_says_or_leaves_open_is_no_fault(decide: Check, said: str, weight: float) -> None:
    assert figure_faults(Rubric(criteria=(criterion("base", weight, decide, said),))) == ()
