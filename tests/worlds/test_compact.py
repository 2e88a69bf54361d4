"""Compact worlds: deterministic, disjoint by split, gradable from visible evidence, and their traps bite."""

import random
import subprocess
import sys
from collections import Counter
from functools import lru_cache
from typing import Any

import pytest

from journeyman.errors import UserError
from journeyman.grading.checks import leaves
from journeyman.records.rubric import Check
from journeyman.records.task import Split
from journeyman.worlds.base import WorldDraft
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.lexicon import companies, people
from journeyman.worlds.registry import DEFAULT_TYPES, ENVIRONMENT_TYPES, demonstrations, environment_type, make_world
from tests.worlds.play import NATIVE, play

TYPES = sorted(ENVIRONMENT_TYPES)
SPLITS: tuple[Split, ...] = ("train", "validation", "heldout")
SEEDS = range(50)


@lru_cache(maxsize=4096)
def world(name: str, seed: int, split: Split) -> WorldDraft:
    return make_world(name, seed, split, "compact")


def usual_seeds(name: str) -> range:
    """Types told as cases share all their code but a derivation and its papers: fewer worlds of each are enough."""
    return SEEDS if name in DEFAULT_TYPES else range(16)


def few_seeds(name: str) -> range:
    """Where every plan of a world is played."""
    return range(20) if name in DEFAULT_TYPES else range(12)


def drafts(name: str, split: Split = "train", seeds: range | None = None) -> list[WorldDraft]:
    return [world(name, seed, split) for seed in (usual_seeds(name) if seeds is None else seeds)]


@pytest.mark.parametrize("name", TYPES)
def test_the_same_seed_gives_the_same_world_in_another_process(name: str) -> None:
    program = (
        "from journeyman.worlds.registry import make_world\n"
        f"print(make_world({name!r}, 7, 'heldout', 'compact').digest())"
    )
    elsewhere = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"TZ": "Pacific/Auckland", "PYTHONHASHSEED": "3", "PATH": ""},
    )
    assert elsewhere.stdout.strip() == make_world(name, 7, "heldout", "compact").digest()


@pytest.mark.parametrize("name", TYPES)
def test_other_seeds_give_other_worlds(name: str) -> None:
    assert len({d.digest() for split in SPLITS for d in drafts(name, split)}) == 3 * len(usual_seeds(name))


def test_no_company_and_no_person_lives_in_two_splits() -> None:
    for owned in (companies, people):
        sets = [set(owned(split)) for split in SPLITS]
        assert len(set.union(*sets)) == sum(len(s) for s in sets)
        assert all(len(s) > 40 for s in sets)


@pytest.mark.parametrize("name", TYPES)
def test_figures_that_are_asked_for_belong_to_one_split(name: str) -> None:
    """Every value of two digits or more that a rubric expects is drawn in one split only."""
    seen: dict[str, set[str]] = {}
    for split in SPLITS:
        for draft in drafts(name, split):
            for value in expected_values(draft):
                digits = value.replace(".", "").lstrip("OT-")
                if digits.isdigit() and len(digits) > 1:
                    seen.setdefault(value, set()).add(split)
    assert seen
    assert all(len(owners) == 1 for owners in seen.values())


def expected_values(draft: WorldDraft) -> set[str]:
    values: set[str] = set()
    for criterion in draft.rubric.criteria:
        assert isinstance(criterion.decide, Check)
        for check, _ in leaves(criterion.decide):
            given = [check.args.get("value"), *check.args.get("where", {}).values()]
            for value in given:
                values |= {str(v) for v in (value if isinstance(value, list) else [value]) if v is not None}
    return values


@pytest.mark.parametrize("name", TYPES)
def test_phrasing_differs_by_split(name: str) -> None:
    """No sentence template of one split is one of another: with its values blanked, no instruction recurs."""
    shapes: dict[Split, set[str]] = {}
    for split in SPLITS:
        for draft in drafts(name, split):
            truth = environment_type(name).truth(draft.seed, split)
            first = draft.instruction.split(". ")[0]
            for value in sorted(texts(truth.model_dump(mode="json")), key=len, reverse=True):
                first = first.replace(value, "_")
            shapes.setdefault(split, set()).add(first)
    assert not shapes["train"] & shapes["heldout"]
    assert not shapes["train"] & shapes["validation"]
    assert not shapes["validation"] & shapes["heldout"]


def texts(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set().union(*(texts(v) for v in value.values())) if value else set()
    if isinstance(value, list):
        return set().union(*(texts(v) for v in value)) if value else set()
    return {value} if isinstance(value, str) and value else set()


@pytest.mark.parametrize("name", TYPES)
def test_every_axis_value_is_drawn_and_no_forbidden_pair(name: str) -> None:
    kind = environment_type(name)
    seen: dict[str, set[str]] = {axis: set() for axis in kind.axes}
    for seed in range(300):
        axes = kind.truth(seed, "train").axes
        for axis, value in axes.items():
            seen[axis].add(value)
        assert not any(axes[a] == x and axes[b] == y for (a, x), (b, y) in kind.forbidden)
    assert {axis: set(values) for axis, values in kind.axes.items()} == seen


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("split", SPLITS)
def test_the_reference_gets_full_marks_and_every_negative_less(name: str, split: Split) -> None:
    for draft in drafts(name, split, few_seeds(name)):
        done = play(draft, draft.reference)
        assert done.rewards == {"rubric.v1": 1.0, "signed.v1": 1.0}
        assert not done.missing_reads
        assert not done.invalid
        assert len(draft.negatives) >= 5
        for plan in draft.negatives:
            assert play(draft, plan).reward < 1, (draft.seed, plan.name)


@pytest.mark.parametrize("name", TYPES)
def test_doing_nothing_meets_no_criterion_at_all(name: str) -> None:
    for draft in drafts(name, "heldout", few_seeds(name)):
        idle = next(p for p in draft.negatives if p.name == "no_op")
        done = play(draft, idle)
        assert not any(done.met.values())
        assert done.rewards["signed.v1"] == 0


@pytest.mark.parametrize("name", TYPES)
def test_claiming_to_be_done_meets_no_positive_criterion(name: str) -> None:
    for draft in drafts(name, "heldout", few_seeds(name)):
        claim = next(p for p in draft.negatives if p.name == "claim_only")
        done = play(draft, claim)
        assert not any(done.met[c.id] for c in draft.rubric.criteria if c.weight > 0)


@pytest.mark.parametrize("name", TYPES)
def test_every_criterion_rests_on_a_requirement_and_on_visible_evidence(name: str) -> None:
    for draft in drafts(name, seeds=range(10)):
        requirements = {r.id for r in draft.requirements}
        assert {c.requirement for c in draft.rubric.criteria if c.weight > 0} == requirements
        records = {
            f"{service}.{table}.{next(iter(row.values()))}"
            for service, tables in draft.state.items()
            for table, rows in tables.items()
            for row in rows
        }
        for criterion in draft.rubric.criteria:
            assert criterion.requirement in requirements
            assert criterion.evidence
            assert set(criterion.evidence) <= set(draft.files) | records


@pytest.mark.parametrize("name", ["finance.board_forecast", "law.covenant_certificate", "consulting.vendor_benchmark"])
def test_every_expected_figure_stands_in_a_file(name: str) -> None:
    for draft in drafts(name, "heldout", few_seeds(name)):
        body = "\n".join(f.data.decode() for f in draft.files.values())
        for criterion in draft.rubric.criteria:
            assert isinstance(criterion.decide, Check)
            value = criterion.decide.args.get("value")
            accepted = value if isinstance(value, list) else [value]
            if criterion.weight > 0 and criterion.id not in ("result", "lower"):
                assert any(str(v) in body for v in accepted), criterion.id


TRAPS = {
    "finance.board_forecast": ("stale_source", "withdrawn_version", "uncleared_release"),
    "law.covenant_certificate": ("other_document", "wrong_entity", "wrong_period"),
    "consulting.vendor_benchmark": ("wrong_entity", "after_cutoff", "sales_offer"),
    "operations.warehouse_exception": ("blind_retry", "wrong_kind", "claim_only"),
}


def traps(name: str, draft: WorldDraft) -> tuple[str, ...]:
    """Negatives that answer from a decoy: named above for the first four types, declared by all others."""
    kind = environment_type(name)
    if not isinstance(kind, CaseType):
        return TRAPS[name]
    declared = kind.traps(kind.truth(draft.seed, draft.split))
    assert len(declared) >= 3
    assert kind.rumoured in {t.name for t in declared}
    return tuple(t.name for t in declared)


@pytest.mark.parametrize("name", TYPES)
def test_answering_from_a_decoy_costs_more_than_leaving_it_out(name: str) -> None:
    """The trap is present: each decoy plan meets a negative criterion and loses at least 30 % of the marks."""
    for draft in drafts(name, "heldout", few_seeds(name)):
        negative = {c.id for c in draft.rubric.criteria if c.weight < 0}
        for plan in draft.negatives:
            if plan.name in traps(name, draft):
                done = play(draft, plan)
                assert done.reward <= 0.7, plan.name
                assert any(done.met[i] for i in negative), plan.name


@pytest.mark.parametrize("name", TYPES)
def test_plans_use_public_tools_only(name: str) -> None:
    for draft in drafts(name, seeds=range(10)):
        granted = {f"{g.service}__{t}" for g in draft.services for t in g.tools}
        for plan in (draft.reference, *draft.negatives):
            assert {c.tool for s in plan.steps for c in s.calls} <= NATIVE | granted
            assert not plan.steps[-1].calls


@pytest.mark.parametrize("name", TYPES)
def test_demonstrations_are_imperfect_and_show_everything(name: str) -> None:
    rewards, met, possible, invalid, turns, count = 0.0, Counter[str](), Counter[str](), 0, 0, 0
    reference_turns = 0
    for draft in drafts(name, seeds=range(60)):
        reference_turns += len(draft.reference.steps)
        for plan in demonstrations(name, draft.seed, "train", 4):
            done = play(draft, plan)
            count += 1
            rewards += done.reward
            invalid += done.invalid
            turns += done.turns
            for criterion in draft.rubric.criteria:
                possible[criterion.id] += 1
                met[criterion.id] += done.met[criterion.id]
    assert 0.2 <= rewards / count <= 0.7
    assert 0.3 <= invalid / count <= 1.2
    assert turns / count > 0.8 * reference_turns / 60
    credit = [i for i in possible if not i.startswith("error_")]
    assert {i: met[i] / possible[i] for i in credit if met[i] / possible[i] < 0.15} == {}


@pytest.mark.parametrize("name", TYPES)
def test_demonstrations_depend_on_their_arguments_only(name: str) -> None:
    assert demonstrations(name, 3, "train", 5) == demonstrations(name, 3, "train", 5)
    assert demonstrations(name, 3, "train", 5) != demonstrations(name, 3, "train", 5, salt=1)


@pytest.mark.parametrize("name", TYPES)
def test_compact_conversations_are_short(name: str) -> None:
    """References take 6-8 turns, one call each; no demonstration says and sees more than 2,400 characters."""
    for draft in drafts(name, "heldout"):
        done = play(draft, draft.reference)
        assert 6 <= done.turns <= 8
        assert done.characters <= 1600
        assert all(len(f.data.decode().splitlines()) <= 12 for f in draft.files.values())
        for plan in demonstrations(name, draft.seed, "heldout", 2):
            assert play(draft, plan).characters <= 2400


def test_an_unknown_type_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(UserError, match=r"'finance\.board_forcast'.*did you mean 'finance\.board_forecast'"):
        environment_type("finance.board_forcast")


def test_forbidden_pairs_that_leave_nothing_are_refused() -> None:
    from journeyman.worlds.base import sample_axes

    with pytest.raises(ValueError, match="leave no combination"):
        sample_axes(random.Random(0), {"a": ("x",), "b": ("y",)}, ((("a", "x"), ("b", "y")),))
