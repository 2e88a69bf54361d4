"""Worlds of a type differ in more than names and figures, and types differ in how the answer follows."""

import pytest

from journeyman.worlds.cases.derivation import Derivation, Step
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.first_types import FIRST_TYPES
from journeyman.worlds.registry import ENVIRONMENT_TYPES, environment_type, make_world
from journeyman.worlds.variety import masked, near_duplicates

CASES = sorted(name for name in ENVIRONMENT_TYPES if isinstance(environment_type(name), CaseType))


@pytest.mark.parametrize("name", CASES)
def test_of_500_draws_less_than_two_per_cent_are_near_duplicates(name: str) -> None:
    assert near_duplicates([make_world(name, seed, "train", "compact") for seed in range(500)]) < 10


def test_worlds_that_differ_in_names_and_figures_only_are_near_duplicates() -> None:
    draft = make_world("finance.fund_valuation", 0, "train", "compact")
    renamed = draft.model_copy(update={"instruction": draft.instruction.replace("2026", "2027")})
    assert masked(draft) == masked(renamed)
    assert near_duplicates([draft, renamed, make_world("finance.fund_valuation", 1, "train", "compact")]) == 1


def test_no_two_types_share_a_dependency_graph() -> None:
    graphs = {name: first.derivation for name, first in FIRST_TYPES.items()}
    for name in CASES:
        kind = environment_type(name)
        assert isinstance(kind, CaseType)
        graphs[name] = kind.derivation
    assert set(graphs) == set(ENVIRONMENT_TYPES)
    signatures: dict[str, str] = {}
    for name, graph in graphs.items():
        assert graph.signature() not in signatures, (name, signatures[graph.signature()])
        signatures[graph.signature()] = name


@pytest.mark.parametrize("name", sorted(FIRST_TYPES))
def test_the_first_types_follow_the_derivation_that_is_given_for_them(name: str) -> None:
    first = FIRST_TYPES[name]
    for seed in range(20):
        truth = environment_type(name).truth(seed, "heldout")
        values = first.derivation.solve(first.facts(truth))
        reference = make_world(name, seed, "heldout", "compact").reference
        calls = [call for step in reference.steps for call in step.calls]
        written = dict(
            line.split(": ", 1) for call in calls for line in str(call.arguments.get("content", "")).splitlines()
        ) | {key: value for call in calls for key, value in call.arguments.items()}
        for key, step in first.states.items():
            assert str(values[step]) == str(written[key]), (seed, key)


def test_a_signature_is_of_the_shape_and_not_of_the_names() -> None:
    def graph(a: str, b: str, last: str) -> Derivation:
        return Derivation(
            (a, b), Step("x", "sum", (a, b), lambda x, y: x + y), Step(last, "ratio", ("x", b), lambda x, y: x // y)
        )

    other = Derivation(
        ("a", "b"),
        Step("x", "sum", ("a", "b"), lambda x, y: x + y),
        Step("y", "product", ("x", "b"), lambda x, y: x * y),
    )
    assert graph("a", "b", "y").signature() == graph("p", "q", "r").signature()
    assert graph("a", "b", "y").signature() != other.signature()
    assert graph("a", "b", "y").solve({"a": 6, "b": 3}, {"x": 30})["y"] == 10


def test_a_derivation_that_names_what_it_has_not_is_refused() -> None:
    with pytest.raises(ValueError, match="step x needs c, which comes later or not at all"):
        Derivation(("a",), Step("x", "sum", ("a", "c"), lambda x, y: x + y))
    with pytest.raises(ValueError, match="a is named twice"):
        Derivation(("a",), Step("a", "sum", ("a",), lambda x: x))


@pytest.mark.parametrize("name", CASES)
def test_every_step_of_a_derivation_matters_for_a_field(name: str) -> None:
    kind = environment_type(name)
    assert isinstance(kind, CaseType)
    needed = {f.step for f in kind.fields}
    for step in reversed(kind.derivation.steps):
        assert step.name in needed, step.name
        needed.update(step.inputs)
    assert set(kind.derivation.facts) <= needed


@pytest.mark.parametrize("name", CASES)
def test_every_type_names_at_least_two_kinds_of_traps(name: str) -> None:
    kind = environment_type(name)
    assert isinstance(kind, CaseType)
    assert len({t.kind for t in kind.traps(kind.truth(0, "train"))}) >= 2
