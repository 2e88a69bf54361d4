"""Every kind of check, MET and UNMET, on what an agent could leave behind, honest or not."""

from pathlib import Path
from typing import Any

import pytest

from journeyman.errors import UserError
from journeyman.grading.checks import REGISTRY, children, decide, leaves, parse
from journeyman.grading.evidence import SealedEvidence
from journeyman.grading.finding import brief
from journeyman.grading.programs import ProgramGives
from journeyman.services.base import LedgerEntry
from tests.grading.making import check


def entry(seq: int, tool: str, outcome: str = "ok", committed: bool = False, **arguments: Any) -> LedgerEntry:
    return LedgerEntry(
        seq=seq, at="t", service="wms", actor="clerk", tool=tool, arguments=arguments,
        outcome=outcome, committed=committed,
    )  # type: ignore[arg-type]  # fmt: skip


@pytest.fixture
def evidence(tmp_path: Path) -> SealedEvidence:
    (tmp_path / "source.csv").write_text("a,b\n1,2\n")
    (tmp_path / "touched.txt").write_text("before")
    (tmp_path / "gone.txt").write_text("x")
    report = """# Board note
**Basis**: v7 (approved)
- EBITDA: USD 42.5 million
status: pending
Status: approved
| Item | Value |
| --- | --- |
| Net debt | 1,200 |

The leverage ratio for the covenant is
3.75x against a limit of 4.0x. Counsel has not cleared external wording.
"""
    answers = {ProgramGives.model_validate(SUM).key(): [{"value": 3}]}
    return SealedEvidence(
        answers=answers,
        episode="e",
        seal_digest="s",
        base=tmp_path,
        written={"out/report.md": report.encode(), "touched.txt": b"after", "empty.txt": b" \n", "bad.docx": b"PK no"},
        deleted=frozenset({"gone.txt"}),
        state={"wms": {"holds": [{"id": "H1", "order": "SO-1", "qty": 5}, {"id": "H2", "order": "SO-2", "qty": 7}]}},
        ledger=(
            entry(0, "get_order", order_id="SO-1"),
            entry(1, "create_hold", "timeout", True, order_id="SO-1"),
            entry(2, "get_order", order_id="SO-1"),
            entry(3, "release", "denied", order_id="SO-2"),
        ),
    )


R = "out/report.md"
SUM: dict[str, Any] = {"path": "touched.txt", "function": "sum", "cases": [{"args": [1, 2], "gives": 3}]}
MET = [
    check("program_gives", **SUM),
    check("file_exists", path=R),
    check("file_exists", path=f"/workspace/{R}"),
    check("field_equals", path=R, key="basis", value="V7"),
    check("field_equals", path=R, key="EBITDA", value=42_500_000),
    check("field_equals", path=R, key="ebitda", value="42.5"),
    check("field_equals", path=R, key="Net debt", value=1200),
    check("field_equals", path=R, key="net debt", value=["9", 1199.5], tolerance=0.5),
    check("text_contains", path=R, all=["board note", "counsel"], any=["nope", "not cleared external"], none=["11.7x"]),
    check("states", path=R, about=[["counsel"], ["external wording"]], holds=["cleared"], true=False),
    check("number_near", path=R, label="leverage ratio", value=3.75),
    check("number_near", path=R, label="Net debt", value=1201, tolerance=1),
    check("source_unchanged", path="source.csv"),
    check("service_rows", service="wms", table="holds", where={"order": "so-1"}, expect={"qty": 5}, max=1),
    check("service_rows", service="wms", table="holds", where={"order": "SO-9"}, min=0, max=0),
    check("ledger_count", service="wms", tool="create_hold", committed=True, min=1, max=1),
    check("ledger_count", service="wms", tool="release", outcome="denied"),
    check("ledger_count", service="wms", tool="create_hold", where={"order_id": "SO-2"}, max=0),
    check(
        "ledger_order",
        first={"service": "wms", "tool": "get_order", "where": {"order_id": "SO-1"}},
        then={"service": "wms", "tool": "create_hold"},
    ),
    check("all_of", checks=[check("file_exists", path=R), check("source_unchanged", path="source.csv")]),
    check("any_of", checks=[check("file_exists", path="no.md"), check("file_exists", path=R)]),
    check("not_", check=check("file_exists", path="no.md")),
]
UNMET = [
    check("program_gives", **(SUM | {"cases": [{"args": [1, 2], "gives": 4}]})),
    check("program_gives", **(SUM | {"path": "none.py"})),
    check("file_exists", path="no.md"),
    check("file_exists", path="empty.txt"),
    check("file_exists", path="gone.txt"),
    check("field_equals", path=R, key="status", value="approved"),  # hedged: pending and approved
    check("field_equals", path=R, key="basis", value="v5"),
    check("field_equals", path=R, key="missing", value="v5"),
    check("field_equals", path="no.md", key="basis", value="v7"),
    check("field_equals", path="bad.docx", key="basis", value="v7"),
    check("text_contains", path=R, none=["counsel"]),
    check("text_contains", path="no.md", none=["counsel"]),
    check("text_contains", path=R, all=["v7", "v8"]),
    check("states", path=R, about=[["counsel"]], holds=["cleared"]),
    check("states", path="no.md", about=[["counsel"]], holds=["cleared"]),
    check("number_near", path=R, label="leverage ratio", value=1200),
    check("number_near", path=R, label="Net debt", value=3.75),
    check("number_near", path="bad.docx", label="x", value=1),
    check("cell_equals", path=R, cell="B2", value=1),
    check("source_unchanged", path="touched.txt"),
    check("source_unchanged", path="gone.txt"),
    check("source_unchanged", path=R),
    check("service_rows", service="wms", table="holds", max=1),
    check("service_rows", service="wms", table="holds", expect={"qty": 5}),
    check("service_rows", service="crm", table="holds"),
    check("ledger_count", service="wms", tool="get_order", max=1),
    check("ledger_count", service="wms", tool="release", committed=True),
    check("ledger_order", first={"service": "wms", "tool": "release"}, then={"service": "wms", "tool": "get_order"}),
    check("ledger_order", first={"service": "wms", "tool": "nothing"}, then={"service": "wms", "tool": "nothing"}),
    check("all_of", checks=[]),
    check("any_of", checks=[]),
    check("not_", check=check("file_exists", path=R)),
]


@pytest.mark.parametrize("one", MET, ids=str)
def test_met(one: Any, evidence: SealedEvidence) -> None:
    finding = decide(one, evidence)
    assert finding.met, finding.evidence
    assert "\n" not in finding.evidence


@pytest.mark.parametrize("one", UNMET, ids=str)
def test_unmet(one: Any, evidence: SealedEvidence) -> None:
    finding = decide(one, evidence)
    assert not finding.met, finding.evidence


def test_every_kind_is_tested_both_ways() -> None:
    assert {c.kind for c in MET} | {"cell_equals"} == set(REGISTRY) == {c.kind for c in UNMET}


@pytest.mark.parametrize(
    ("one", "says"),
    [
        (check("file_exist", path="x"), "unknown check kind 'file_exist'"),
        (check("file_exists"), "path"),
        (check("file_exists", path="x", extra=1), "extra"),
        (check("field_equals", path="x", key="k", value="v", tolerance=-1), "tolerance"),
        (check("not_", check={"kind": "file_exists"}, also=1), "also"),
    ],
)
def test_a_malformed_check_is_the_authors_mistake(one: Any, says: str, evidence: SealedEvidence) -> None:
    with pytest.raises(UserError, match=says):
        decide(one, evidence)


def test_paths_never_leave_the_workspace(evidence: SealedEvidence) -> None:
    for path in ("../secret", "/etc/passwd", "a/../../b"):
        with pytest.raises(UserError, match="outside /workspace"):
            decide(check("file_exists", path=path), evidence)


def test_the_same_evidence_gives_the_same_finding_100_times(evidence: SealedEvidence) -> None:
    for one in (*MET, *UNMET):
        assert len({decide(one, evidence) for _ in range(100)}) == 1


def test_composites_list_their_leaves() -> None:
    inner = check("not_", check=check("file_exists", path="a"))
    outer = check("all_of", checks=[inner, check("file_exists", path="b")])
    assert len(children(outer)) == 2
    assert [leaf.args["path"] for leaf, _ in leaves(outer)] == ["a", "b"]
    assert parse(outer)[0] is REGISTRY["all_of"]


def test_a_sheet_cell_is_read_as_shown_and_as_stored(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "Summary"
    book.active["A1"], book.active["B1"] = "Net debt", 1200.004
    book.active["B1"].number_format = "#,##0"
    book.create_sheet("Secret").sheet_state = "hidden"
    book["Secret"]["B1"] = 7
    book.save(tmp_path / "b.xlsx")
    evidence = SealedEvidence("e", "s", tmp_path)
    for args in ({"sheet": "Summary"}, {}):
        assert decide(
            check("cell_equals", path="b.xlsx", cell="$B$1", value=1200, tolerance=0.01, **args), evidence
        ).met
    assert not decide(check("cell_equals", path="b.xlsx", cell="B1", value=7), evidence).met
    assert decide(check("field_equals", path="b.xlsx", key="net debt", value=1200.004), evidence).met


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"status": "active", "dock": ["D2", "D4"]}, "status active, dock D2 or D4"),
        ({"resolved_by": None}, "resolved_by nothing"),
        ([3, 7], "3, 7"),
        ("two\nlines", "two lines"),
        ("x" * 90, "x" * 79 + "…"),
    ],
)
def test_evidence_is_told_in_plain_words(value: object, said: str) -> None:
    assert brief(value) == said
