"""One training or merging process outside a recipe: config written, progress shown, its last line returned."""

import json
import tempfile
from pathlib import Path
from typing import Any

from journeyman.errors import UserError
from journeyman.pipeline.process import TrainingProcess
from journeyman.pipeline.progress import Progress
from journeyman.records.base import Record
from journeyman.records.sample import Update
from journeyman.store.atomic import write_atomic
from journeyman.store.dataset import MARKER, Dataset
from journeyman.store.reading import ANEW, read_records
from journeyman.training.config import LearnerConfig


def datasets_of(paths: tuple[Path, ...], kind: str) -> list[Path]:
    """Dataset directories, or those inside the given ones, in name order. Raises UserError where there is none.

    `kind`: sft or rl, for the remedy.
    """
    found: list[Path] = []
    for path in paths:
        here = [path] if (path / MARKER).exists() else sorted(p.parent for p in path.glob(f"*/{MARKER}"))
        if not here:
            raise UserError(
                f"{path} holds no finished dataset ({MARKER}): type journeyman data {kind} RUN --out {path}"
            )
        found += here
    return found


async def process(module: str, config: Record | dict[str, Any], out: Path, progress: Progress) -> dict[str, Any]:
    """Run `module` to its end. Returns its last line. Raises UserError and TrainingFailed as the process does."""
    text = config.model_dump_json(indent=1) if isinstance(config, Record) else json.dumps(config, indent=1, default=str)
    last: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="jm-train-") as directory:
        path, log = Path(directory) / "config.json", out.parent / f"{out.name}.log"
        write_atomic(path, text.encode())
        begun = log.exists()
        started = await TrainingProcess.start(module, path, log, 1)
        try:
            async for line in started.lines():
                last = line
                if line.get("event") == "progress":
                    progress.step(line["step"], line["total"], f"loss {line['loss']:.3f}" if "loss" in line else "")
        except UserError as error:
            if not begun and log.read_text(errors="replace").strip() == str(error):
                log.unlink()  # it says nothing else
            raise
        finally:
            await started.close()
    return last


def check_done(ledger: Path, batches: list[Path]) -> None:
    """Raise UserError where a step was taken on other attempts than those of the batch in its place."""
    for update, batch in zip(read_records(ledger, Update, ANEW), batches, strict=False):
        there = {group.id: {member.episode for member in group.members} for group in Dataset.open(batch).groups}
        used = {name: {member.episode for member in members} for name, members in update.groups.items()}
        if set(there) != {*used, *update.dropped} or any(not used[name] <= there[name] for name in used):
            raise UserError(
                f"{ledger.parent} took step {update.step} on another batch than {batch}: "
                "give the batches it was trained on first, or choose another --out"
            )


async def learn(config: LearnerConfig, batches: list[Path], out: Path, progress: Progress) -> dict[str, Any]:
    """One optimiser step a batch; goes on after those that were taken. Returns the last answer. Raises UserError."""
    answer: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="jm-train-") as directory:
        path = Path(directory) / "config.json"
        write_atomic(path, config.model_dump_json(indent=1).encode())
        learner = await TrainingProcess.start("journeyman.training.learner", path, out / "learner.log", 1)
        try:
            ready = await learner.next()
            first = int(ready["step"]) + 1
            check_done(config.ledger, batches[:first])
            for number, batch in enumerate(batches[first:], start=first):
                answer = await learner.ask({"step": number, "batch": str(batch)})
                if answer["event"] != "step":
                    raise UserError(str(answer.get("message", answer)))
                progress.step(number + 1, len(batches), f"version {answer['version']}")
        finally:
            await learner.close()
    return answer or ready
