"""The report of a run: held-out summaries, training curves, one episode token by token; a page and the same as JSON."""

import json
import platform
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import journeyman
from journeyman.admission.release import open_release
from journeyman.errors import UserError
from journeyman.evaluation.build import build_report, choose_episode, shown_episode
from journeyman.evaluation.cost import Priced
from journeyman.evaluation.report.write import write_report
from journeyman.evaluation.rows import EpisodeRow, read_rows
from journeyman.pipeline.explain import decode, ledger_lines, updates
from journeyman.pipeline.explain_text import tokenizer_of
from journeyman.pipeline.stages.evaluate import evaluated
from journeyman.pipeline.state import Run
from journeyman.records.base import sha256_hex
from journeyman.records.report import Report, ShownEpisode
from journeyman.records.sample import Update
from journeyman.records.task import Task
from journeyman.store.atomic import read_lines
from journeyman.store.layout import Job
from journeyman.tasks.package import load_task

CONFIG = "config.toml"  # the fact that names it


def _facts(run: Run, tasks: dict[str, Task]) -> dict[str, str]:
    spent = {str(line["stage"]): line for line in ledger_lines(run.job, "spent.jsonl")}
    facts = {
        "recipe": f"{run.recipe.name} {run.recipe.identity()[:16]}, seed {run.recipe.seed}",
        CONFIG: config_digest(run.job),
        "held-out tasks": f"{len(tasks)}, first seed {run.recipe.tasks.heldout_seed}",
        "held-out differ from training in": "entities, figures and sentence templates, not in the kind of task",
        "made with": f"journeyman {journeyman.__version__}, Python {platform.python_version()}",
        "machine": f"{platform.machine()}, {platform.system()}",
    }
    for stage, line in spent.items():
        seconds = float(str(line["seconds"]))
        facts[f"time: {stage}"] = f"{seconds:.0f} s"
        if told := "; ".join(_used(line)):
            facts[f"used: {stage}"] = told
        if "cpu_seconds_per_episode" in line:
            cpu = float(str(line["cpu_seconds_per_episode"]))
            facts[f"CPU outside the model: {stage}"] = f"{1000 * cpu:.1f} ms an episode"
    return facts


def _used(line: Mapping[str, object]) -> Iterator[str]:
    """Tokens, device time and money of one stage, as far as its ledger line has them."""
    for name, title in (("sampled_tokens", "tokens sampled"), ("prompt_tokens", "prompt tokens"), ("tokens", "tokens")):
        if name in line:
            yield f"{float(str(line[name])):,.0f} {title}"
    if seconds := float(str(line.get("device_seconds", 0))):
        yield f"{seconds:,.0f} device seconds"
        if "usd" in line:
            yield f"{float(str(line['usd'])):.4f} USD"


def _shown(run: Run, row: EpisodeRow | None, tasks: dict[str, Task]) -> ShownEpisode | None:
    tokenizer = tokenizer_of(run.job)
    if row is None:
        return None
    return shown_episode(run.job, row, tasks[row.spec.task], lambda ids: decode(tokenizer, list(ids)))


def _updates(run: Run) -> list[Update]:
    """The learner's updates with what the driver saw of each step."""
    told = (json.loads(line) for line in read_lines(run.job.ledger / "figures.jsonl"))
    seen = {line["step"]: line["figures"] for line in told if line["phase"] == "rl"}
    return [u.model_copy(update={"metrics": {**seen.get(u.step, {}), **u.metrics}}) for u in updates(run.job)]


def heldout_tasks(run: Run) -> dict[str, Task]:
    """The held-out tasks by slug. Raises UserError where the release is not here, or not what was made."""
    return {d.name: load_task(d, handlers=False) for d in open_release(run.release).task_dirs("heldout")}


def policies_of(run: Run) -> list[str]:
    """Labels of the evaluated policies, in the order they are told."""
    return [name.partition("=")[0] for name in evaluated(run)]


def config_digest(job: Job) -> str:
    """How a report names the recipe as it was written, whatever a later version's defaults are."""
    return sha256_hex(job.config.read_bytes())[:16]


def build(run: Run) -> Report:
    """The report record of what the run has sealed and graded so far."""
    tasks, policies = heldout_tasks(run), policies_of(run)
    directories = [d for policy in policies for d in run.job.sealed(policy)]
    if not directories:
        raise UserError(f"{run.job.root} has no held-out episode yet: type journeyman run RECIPE --resume first")
    done = 0

    def told(_row: EpisodeRow) -> None:
        nonlocal done
        done += 1
        run.progress.step(done, len(directories), "read")

    rows = read_rows(run.job, directories, tasks, told)
    shown = _shown(run, choose_episode(rows, policies), tasks)
    return build_report(
        run.recipe.name,
        rows,
        policies,
        updates=_updates(run),
        sample=shown,
        priced=Priced.of(),
        facts=_facts(run, tasks),
        k=run.recipe.evaluation.attempts,
    )


def lines(report: Report) -> list[str]:
    """The held-out result as a small table of text."""
    found = [
        f"{'policy':<18}{'reward':>8}{'95 % interval':>18}{'perfect':>10}{'invalid':>9}{'tokens':>8}{'graded':>12}"
    ]
    for arm in report.arms:
        reward = arm.reward
        value = "none" if reward is None else f"{reward.value:.3f}"
        span = "" if reward is None or reward.low is None else f"[{reward.low:.3f}, {reward.high:.3f}]"
        invalid, tokens = arm.effort.get("invalid_calls"), arm.effort.get("sampled_tokens")
        shown = "" if invalid is None else f"{invalid.value:.2f}"
        used = "" if tokens is None else f"{tokens.value:.0f}"
        counts = (
            f"{f'{arm.perfect.count}/{arm.perfect.of}':>10}{shown:>9}{used:>8}{f'{arm.graded}/{arm.attempted}':>12}"
        )
        found.append(f"{arm.label:<18}{value:>8}{span:>18}{counts}")
    return found


async def write(run: Run) -> dict[str, Any]:
    """Write report/index.html and report/report.json. Returns the stage's figures."""
    started = time.monotonic()
    run.progress.stage("report", f"held-out results of {', '.join(run.recipe.evaluation.policies)}")
    report = build(run)
    paths = write_report(report, run.job.report)
    for line in lines(report):
        run.progress.say(line)
    run.spend("report", started)
    return {"files": [Path(p).name for p in paths]}
