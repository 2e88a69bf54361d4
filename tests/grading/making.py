"""Small tasks and sealed episodes, written by the same code that runs use."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from journeyman.grading.combine import Grader
from journeyman.records.base import canonical_json
from journeyman.records.episode import Episode, EpisodeSpec
from journeyman.records.outcome import FailureCause, StopReason
from journeyman.records.rubric import Check, Criterion, Judged, Rubric
from journeyman.records.task import Plan, PlanStep, Requirement, TaskMetadata, ToolCall
from journeyman.records.turn import ToolEvent
from journeyman.services.base import LedgerEntry
from journeyman.store.seal import seal
from journeyman.tasks.draft import PackageDraft, PackageFile
from journeyman.tasks.package import load_task, write_package


def check(kind: str, **args: Any) -> Check:
    return Check(kind=kind, args=args)


def criterion(name: str, weight: float, decide: Check | Judged, proposition: str = "") -> Criterion:
    return Criterion(
        id=name, proposition=proposition or f"about {name}", weight=weight, decide=decide, requirement="r1",
        evidence=("memo.txt",),
    )  # fmt: skip


RUBRIC = Rubric(
    criteria=(
        criterion("basis", 10, check("field_equals", path="out.txt", key="basis", value="v7")),
        criterion("ebitda", 5, check("number_near", path="out.txt", label="EBITDA", value=42.5, tolerance=0.05)),
        criterion("stale", -8, check("text_contains", path="out.txt", any=["11.7x"])),
    )
)


def draft(name: str = "tiny", rubric: Rubric = RUBRIC, **changes: Any) -> PackageDraft:
    fields: dict[str, Any] = {
        "metadata": TaskMetadata(
            name=f"journeyman/{name}",
            environment_type="finance.board_forecast",
            domain="finance",
            size="compact",
            split="train",
            seed=1,
            frozen_time="2025-03-03T09:00:00+00:00",
            deliverables=("out.txt",),
            trainable=True,
            lineage={"truth": "0" * 64},
        ),
        "instruction": "Read memo.txt and write out.txt with the approved basis and the EBITDA.",
        "requirements": (Requirement(id="r1", text="State the approved basis and the EBITDA."),),
        "files": {"memo.txt": PackageFile(b"basis: v7\nEBITDA: 42.5 million\n", as_of="2025-03-01")},
        "rubric": rubric,
        "reference": Plan(
            name="reference",
            kind="reference",
            steps=(
                PlanStep(calls=(ToolCall(tool="read", arguments={"file_path": "memo.txt"}),)),
                PlanStep(
                    calls=(
                        ToolCall(
                            tool="write",
                            arguments={"file_path": "out.txt", "content": "basis: v7\nEBITDA: 42.5 million\n"},
                        ),
                    )
                ),
                PlanStep(text="Done."),
            ),
        ),
        "negatives": (
            Plan(
                name="stale",
                kind="negative",
                steps=(
                    PlanStep(
                        calls=(
                            ToolCall(
                                tool="write",
                                arguments={"file_path": "out.txt", "content": "basis: v5\nmultiple: 11.7x"},
                            ),
                        )
                    ),
                    PlanStep(text="Done."),
                ),
            ),
        ),
    }
    return PackageDraft(**(fields | changes))


def make_task(root: Path, **changes: Any) -> Path:
    return write_package(draft(**changes), root)


def make_episode(
    directory: Path,
    task_dir: Path,
    *,
    written: dict[str, str | bytes] | None = None,
    deleted: Sequence[str] = (),
    grader: Grader | None = None,
    failure: FailureCause | None = None,
    state: dict[str, Any] | None = None,
    ledger: Sequence[LedgerEntry] = (),
    dispatch: Sequence[ToolEvent] = (),
    final_message: str = "",
    sealed: bool = True,
) -> Path:
    directory.mkdir(parents=True)
    task = load_task(task_dir)
    episode = Episode(
        spec=EpisodeSpec(job="job", policy="sft", task=task_dir.name, group="g0", attempt=0),
        task_digest=task.content_digest,
        grader_digest=(grader or Grader()).identity(task.rubric).digest(),
        harness_digest="h",
        engine={},
        sandbox={},
        stop=None if failure else StopReason.FINISHED,
        failure=failure,
        final_message=final_message,
    )
    (directory / "episode.json").write_bytes(episode.canonical())
    for path, content in (written or {}).items():
        target = directory / "workspace" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())
    if deleted:
        (directory / "deleted.json").write_bytes(canonical_json(list(deleted)))
    if state is not None:
        (directory / "services.json").write_bytes(canonical_json(state))
        (directory / "service_ledger.jsonl").write_bytes(b"".join(e.canonical() + b"\n" for e in ledger))
    if dispatch:
        (directory / "dispatch.jsonl").write_bytes(b"".join(e.canonical() + b"\n" for e in dispatch))
    if sealed:
        seal(directory)
    return directory
