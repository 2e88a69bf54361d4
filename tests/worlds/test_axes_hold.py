"""What an axis promises, the derivation yields: of law and consulting types, for any seed and split."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journeyman.records.task import Split
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.registry import environment_type

SEEDS = st.integers(0, 10**6)
SPLITS: st.SearchStrategy[Split] = st.sampled_from(("train", "validation", "heldout"))
quick = settings(max_examples=40, deadline=None, derandomize=True)
PROMISES = (  # type, axis, step whose value it names
    ("law.contract_renewal", "governing", "governing"),
    ("law.contract_renewal", "verdict", "verdict"),
    ("law.limitation_date", "trigger", "trigger"),
    ("law.limitation_date", "verdict", "verdict"),
    ("law.breach_notice", "verdict", "verdict"),
    ("law.breach_notice", "duty", "duty"),
    ("law.diligence_findings", "advice", "advice"),
    ("law.sanctions_screening", "verdict", "verdict"),
    ("consulting.market_sizing", "holds", "study"),
    ("consulting.entry_decision", "funds", "funds"),
    ("consulting.headcount_plan", "verdict", "verdict"),
    ("consulting.survey_reading", "reading", "reading"),
    ("consulting.customer_concentration", "verdict", "verdict"),
)


def solved(name: str, seed: int, split: Split) -> tuple[Any, dict[str, Any]]:
    """A truth and its solution."""
    kind = environment_type(name)
    assert isinstance(kind, CaseType)
    truth = kind.truth(seed, split)
    return truth, kind.right(truth)


@pytest.mark.parametrize(("name", "axis", "step"), PROMISES)
@quick
@given(SEEDS, SPLITS)
def test_an_axis_names_the_outcome(name: str, axis: str, step: str, seed: int, split: Split) -> None:
    truth, values = solved(name, seed, split)
    assert values[step] == truth.axes[axis]


@quick
@given(SEEDS, SPLITS)
def test_a_cap_binds_where_the_axis_says_so(seed: int, split: Split) -> None:
    truth, values = solved("law.damages_schedule", seed, split)
    assert values["award"] == min(values["loss"], values["cap"])
    assert values["award"] == values[truth.axes["binding"]]


@quick
@given(SEEDS, SPLITS)
def test_nothing_of_a_notice_lies_in_the_future(seed: int, split: Split) -> None:
    truth, _ = solved("law.contract_renewal", seed, split)
    assert truth.c.sent < truth.c.received < truth.frozen_time
    assert max(truth.c.dated.values()) < truth.c.received


@quick
@given(SEEDS, SPLITS)
def test_every_wrong_reading_of_a_room_changes_the_revenue(seed: int, split: Split) -> None:
    kind = environment_type("law.diligence_findings")
    assert isinstance(kind, CaseType)
    truth = kind.truth(seed, split)
    read = [kind.derivation.solve(kind.facts(truth), {t.step: t.value})["revenue"] for t in kind.traps(truth)]
    assert len({*read, kind.right(truth)["revenue"]}) == len(read) + 1


@quick
@given(SEEDS, SPLITS)
def test_a_baseline_is_twelve_whole_months(seed: int, split: Split) -> None:
    truth, values = solved("consulting.cost_baseline", seed, split)
    assert values["clean"] == values["month"] * truth.b.months
    assert values["baseline"] == 12 * values["month"]
    assert all(amount > 0 for amount in truth.b.booked.values())


@quick
@given(SEEDS, SPLITS)
def test_leads_above_either_guideline_are_few(seed: int, split: Split) -> None:
    truth, values = solved("consulting.spans_layers", seed, split)
    assert 2 <= values["surplus"] <= 9
    assert values["layers"] == (4 if truth.axes["flat_grade"] == "none" else 3)
    assert all(truth.d.titled[g] >= truth.d.alone[g] >= 0 for g in truth.d.titled)


@quick
@given(SEEDS, SPLITS)
def test_a_country_that_may_not_be_entered_would_pay_back_first(seed: int, split: Split) -> None:
    truth, values = solved("consulting.entry_decision", seed, split)
    months = values["paybacks"]
    assert values["choice"] == truth.e.choice
    assert months[truth.e.closed] < months[truth.e.choice]
    assert months[truth.e.asked] < months[truth.e.choice]


@quick
@given(SEEDS, SPLITS)
def test_a_group_leads_by_its_sum_and_not_by_an_account(seed: int, split: Split) -> None:
    truth, values = solved("consulting.customer_concentration", seed, split)
    assert values["largest"] == truth.a.group
    assert truth.a.owners[max(truth.a.revenue, key=lambda n: truth.a.revenue[n])] != truth.a.group
    assert truth.a.total > truth.a.internal + sum(truth.a.revenue.values())
