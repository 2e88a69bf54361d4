"""The merge after RL: checkpoints of one lineage combined, then verified by a second code path."""

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from journeyman.errors import UserError
from journeyman.pipeline.process import TrainingProcess
from journeyman.pipeline.state import Run
from journeyman.store.atomic import write_atomic


def parents(run: Run) -> list[Path]:
    """The RL checkpoints the recipe names, counted back from the newest and rounded to kept ones; one where all are."""
    newest = Path((run.figures("rl") or {}).get("weights", ""))
    if not (newest / "config.json").exists():
        raise UserError(f"{run.job.root} has no RL checkpoint to merge: run the rl stage first")
    kept = {int(d.name[1:]): d for d in newest.parent.glob("v*") if d.name[1:].isdigit()} or {
        0: newest
    }  # no step was taken
    last = max(kept)
    chosen = dict.fromkeys(_nearest(kept, last - back) for back in run.recipe.merge.steps_back)
    return [kept[version] for version in chosen]


def _nearest(versions: Iterable[int], wanted: int) -> int:
    return min(versions, key=lambda version: abs(version - wanted))


async def merge(run: Run) -> dict[str, Any]:
    """Write and verify `weights/merged`, or say why there is nothing to merge. Returns the stage's figures."""
    started = time.monotonic()
    chosen = parents(run)
    if len(chosen) < 2:
        back = list(run.recipe.merge.steps_back)
        why = f"nothing: steps_back = {back} names checkpoint {chosen[0].name} only"
        run.progress.stage("merge", why)
        return {"parents": [chosen[0].name], "skipped": why}
    run.progress.stage("merge", f"{run.recipe.merge.method} of {', '.join(p.name for p in chosen)}")
    config = {
        "method": run.recipe.merge.method,
        "parents": [str(p) for p in chosen],
        "out": str(run.job.weights / "merged"),
    }
    path = run.job.ledger / "merge.json"
    write_atomic(path, json.dumps(config, indent=1).encode())
    process = await TrainingProcess.start("journeyman.merging", path, run.job.ledger / "merge.log", 1)
    done: dict[str, Any] = {}
    try:
        async for line in process.lines():
            if line.get("event") == "done":
                done = line
    finally:
        await process.close()
    run.spend("merge", started)
    return {"parents": [p.name for p in chosen], **{k: v for k, v in done.items() if k != "event"}}
