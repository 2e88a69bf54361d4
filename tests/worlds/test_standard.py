"""Standard worlds: 20-40 files from the same truth, every fact reachable, traps that bite, plans that really run."""

import time
from collections import Counter
from functools import lru_cache
from pathlib import Path

import pytest

from journeyman.grading.checks import leaves
from journeyman.grading.text import as_number, fold, has_phrase, numbers_in
from journeyman.office.render import render
from journeyman.records.rubric import Check
from journeyman.records.task import Split
from journeyman.worlds.base import WorldDraft
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.registry import DEFAULT_TYPES, ENVIRONMENT_TYPES, environment_type, make_world
from tests.worlds.standard_play import lay_out, play_standard

TYPES = sorted(ENVIRONMENT_TYPES)
SPLITS: tuple[Split, ...] = ("train", "validation", "heldout")
NATIVE = {"read", "write", "bash", "glob", "grep", "edit"}
OFFICE = {"docx", "xlsx", "pptx", "pdf", "eml", "csv", "md"}
DERIVED = {  # computed from facts, so they stand in no file
    "finance.board_forecast": {"change"},
    "law.covenant_certificate": {"headroom", "result", "waiver"},
    "consulting.vendor_benchmark": {"difference", "median", "rank", "cost", "lower"},
    "operations.warehouse_exception": {"report_left", "report_reservation", "report_reason"},
}
TRAPS = {
    "finance.board_forecast": ("stale_source", "withdrawn_version", "uncleared_release", "wrong_entity"),
    "law.covenant_certificate": ("other_document", "wrong_entity", "stale_source", "draft_amendment", "wrong_result"),
    "consulting.vendor_benchmark": ("wrong_entity", "after_cutoff", "sales_offer", "stale_source"),
    "operations.warehouse_exception": ("blind_retry", "wrong_kind", "claim_only", "stale_source"),
}


def derived(name: str) -> set[str]:
    """Criteria whose value is worked out: named above for the first four types, known of all others."""
    kind = environment_type(name)
    return set(kind.derived) if isinstance(kind, CaseType) else DERIVED[name]


def traps(name: str, draft: WorldDraft) -> tuple[str, ...]:
    """Negatives that answer from a decoy."""
    kind = environment_type(name)
    if not isinstance(kind, CaseType):
        return TRAPS[name]
    return tuple(t.name for t in kind.traps(kind.truth(draft.seed, draft.split)))


@lru_cache(maxsize=128)
def world(name: str, seed: int, split: Split) -> WorldDraft:
    return make_world(name, seed, split, "standard")


def drafts(name: str, split: Split = "train", seeds: range = range(2)) -> list[WorldDraft]:
    return [world(name, seed, split) for seed in seeds]


@pytest.mark.parametrize("name", TYPES)
def test_a_world_is_twenty_to_forty_files_of_many_kinds_with_source_and_day(name: str) -> None:
    for draft in drafts(name):
        assert 20 <= len(draft.files) <= 40
        kinds = Counter(path.rsplit(".", 1)[1] for path in draft.files)
        assert set(kinds) - {"py"} == OFFICE
        for path, file in draft.files.items():
            assert file.as_of, path
            assert file.as_of <= draft.frozen_time[:10], path
            assert file.provenance == "synthetic"


@pytest.mark.parametrize("name", TYPES)
def test_a_world_is_built_within_its_budget(name: str) -> None:
    world(name, 0, "train")
    costs = []
    for seed in range(1, 3):
        began = time.process_time()
        make_world(name, seed, "train", "standard")
        costs.append(time.process_time() - began)
    assert min(costs) <= 1.5


@pytest.mark.parametrize("name", TYPES)
def test_both_sizes_come_from_one_truth(name: str) -> None:
    for large in drafts(name, "heldout"):
        seed = large.seed
        small = make_world(name, seed, "heldout", "compact")
        assert small.truth_digest == large.truth_digest == environment_type(name).truth(seed, "heldout").digest()
        assert small.axes == large.axes


@pytest.mark.parametrize("name", TYPES)
def test_the_rubric_is_weighted_both_ways_and_rests_on_requirements_and_evidence(name: str) -> None:
    for draft in drafts(name):
        assert 10 <= len(draft.rubric.criteria) <= 24
        assert sum(c.weight < 0 for c in draft.rubric.criteria) >= 4
        requirements = {r.id for r in draft.requirements}
        assert {c.requirement for c in draft.rubric.criteria} == requirements
        records = {
            f"{service}.{table}.{next(iter(row.values()))}"
            for service, tables in draft.state.items()
            for table, rows in tables.items()
            for row in rows
        }
        for criterion in draft.rubric.criteria:
            assert criterion.evidence, criterion.id
            assert set(criterion.evidence) <= set(draft.files) | records, criterion.id


@pytest.mark.parametrize("name", TYPES)
def test_every_fact_of_the_rubric_is_reachable_in_a_visible_file_or_record(name: str) -> None:
    for draft in drafts(name, "heldout"):
        plain = {path: fold(render(path, file.data).plain) for path, file in draft.files.items()}
        records = fold(str(draft.state))
        for criterion in draft.rubric.criteria:
            assert isinstance(criterion.decide, Check)
            if criterion.weight < 0 or criterion.id in derived(name):
                continue
            for check, _ in leaves(criterion.decide):
                values = check.args.get("value")
                if check.kind != "field_equals":
                    continue
                options = [str(v) for v in (values if isinstance(values, list) else [values])]
                evidence = " ".join(plain[path] for path in criterion.evidence if path in plain) or records
                assert any(_says(evidence, v) or _says(records, v) for v in options), (criterion.id, options)


def _says(text: str, value: str) -> bool:
    number = as_number(value)
    if number is not None:
        return any(found.value == number.value for found in numbers_in(text))
    return has_phrase(text, value)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("split", SPLITS)
def test_the_reference_gets_full_marks_and_every_negative_less(name: str, split: Split, tmp_path: Path) -> None:
    (draft,) = drafts(name, split, range(1))
    base = lay_out(draft, tmp_path)
    assert len(draft.negatives) >= 6
    negative = {c.id for c in draft.rubric.criteria if c.weight < 0}
    credit = {c.id for c in draft.rubric.criteria if c.weight > 0}
    for plan in (draft.reference, *draft.negatives):
        work = tmp_path / plan.name
        work.mkdir()
        done = play_standard(draft, plan, base, work)
        assert not done.missing_reads, plan.name
        assert not done.invalid, plan.name
        if plan is draft.reference:
            assert done.rewards == {"rubric.v1": 1.0, "signed.v1": 1.0}
        elif plan.name == "no_op":
            assert not any(done.met.values())
        else:
            assert done.reward < 1, plan.name
        if plan.name == "source_tampering":
            assert {i for i in negative if done.met[i]} == {"error_tampering"}
            assert all(done.met[i] for i in credit)
        if plan.name in traps(name, draft):
            assert any(done.met[i] for i in negative), plan.name
            assert done.reward <= 0.85, plan.name


@pytest.mark.slow
@pytest.mark.parametrize("name", TYPES)
def test_many_seeds_keep_the_order_of_reference_and_negatives(name: str, tmp_path: Path) -> None:
    seeds = 25 if name in DEFAULT_TYPES else 4  # a case's negatives are solutions of its one derivation
    for split in ("train", "heldout"):
        for draft in drafts(name, split, range(seeds)):
            root = tmp_path / f"{split}{draft.seed}"
            base = lay_out(draft, root)
            for plan in (draft.reference, *draft.negatives):
                work = root / plan.name
                work.mkdir()
                reward = play_standard(draft, plan, base, work).reward
                assert (reward == 1) == (plan is draft.reference), (split, draft.seed, plan.name)


@pytest.mark.parametrize("name", TYPES)
def test_plans_use_public_tools_only_and_end_with_words(name: str) -> None:
    for draft in drafts(name):
        granted = {f"{g.service}__{t}" for g in draft.services for t in g.tools}
        for plan in (draft.reference, *draft.negatives):
            assert {c.tool for s in plan.steps for c in s.calls} <= NATIVE | granted
            assert not plan.steps[-1].calls


@pytest.mark.parametrize("name", TYPES)
def test_the_request_names_the_deliverable_and_every_label_it_is_graded_by(name: str) -> None:
    for split in SPLITS:
        for draft in drafts(name, split):
            assert all(path in draft.instruction for path in draft.deliverables)
            for criterion in draft.rubric.criteria:
                assert isinstance(criterion.decide, Check)
                for check, _ in leaves(criterion.decide):
                    if check.kind == "field_equals":
                        assert f"- {check.args['key']}\n" in draft.instruction + "\n", criterion.id


@pytest.mark.parametrize("name", TYPES)
def test_requests_of_two_splits_never_open_alike(name: str) -> None:
    shapes: dict[Split, set[str]] = {}
    for split in SPLITS:
        for draft in drafts(name, split):
            words = [w for w in draft.instruction.split("\n")[0].split(". ")[0].split() if w.islower()]
            shapes.setdefault(split, set()).add(" ".join(words))
    assert not shapes["train"] & shapes["heldout"]
    assert not shapes["train"] & shapes["validation"]
