"""Whether a run's report says what is sealed there: every arm and comparison again, from seals and grades alone.

A figure that does not follow is a fault, and so is an attempt that the recipe asks for and that is not here.
"""

from collections.abc import Iterator

from journeyman.errors import UserError
from journeyman.evaluation.build import build_report
from journeyman.evaluation.rows import read_rows
from journeyman.pipeline.progress import Silent
from journeyman.pipeline.recipe import load_recipe
from journeyman.pipeline.stages.report import CONFIG, config_digest, heldout_tasks, policies_of
from journeyman.pipeline.state import Run
from journeyman.records.base import first_fault
from journeyman.records.report import Arm, Report
from journeyman.records.task import Task
from journeyman.store.layout import Job

_DIGITS = 9  # figures are means of floats, and are the same in any order of adding to fewer digits than this


def report_faults(job: Job) -> Iterator[str]:
    """What the report of a run says and its sealed episodes do not. Nothing where there is no report."""
    path = job.report / "report.json"
    if not path.exists():
        return
    data = path.read_bytes()
    try:
        told = Report.parse(data)
    except ValueError as error:
        yield f"{path} is unreadable: {first_fault(error)}"
        return
    if told.check and not told.is_what(data):
        yield f"{path} changed after it was written"
        return
    try:
        run = Run(load_recipe(job.config), job, Silent())
        tasks = heldout_tasks(run)
    except UserError as error:
        yield f"{path} cannot be recomputed: {error}"
        return
    if told.facts.get(CONFIG, config_digest(job)) != config_digest(job):
        yield f"{job.config} changed after {path} was written"
    policies = policies_of(run)
    rows = read_rows(job, [d for policy in policies for d in job.sealed(policy)], tasks)
    found = build_report(run.recipe.name, rows, policies, k=run.recipe.evaluation.attempts)
    for label in dict.fromkeys(arm.label for arm in (*told.arms, *found.arms)):
        one, other = (next((a for a in report.arms if a.label == label), None) for report in (told, found))
        if one is None or other is None or _figures(one) != _figures(other):
            yield f"{path} says {_said(one)} of {label}; the sealed episodes and grades say {_said(other)}"
    if _compared(told) != _compared(found):
        yield f"{path} compares policies otherwise than the sealed episodes and grades do"
    if run.figures("evaluate") is not None:
        yield from _missing(run, found, tasks)


def _missing(run: Run, found: Report, tasks: dict[str, Task]) -> Iterator[str]:
    """Arms of a finished evaluation with fewer attempts than the recipe asks for."""
    evaluation = run.recipe.evaluation
    for policy in found.policies:
        for temperature in evaluation.temperatures:
            asked = len(tasks) * (evaluation.attempts if temperature else evaluation.greedy_attempts)
            arm = found.arm(policy, temperature)
            if (here := arm.attempted if arm else 0) != asked:
                yield f"{run.job.episodes / policy}: {here} of {asked} attempts at T = {temperature:g} are here"


def _said(arm: Arm | None) -> str:
    if arm is None or arm.reward is None:
        return "nothing"
    return f"reward {arm.reward.value:.4f} ({arm.graded} of {arm.attempted} graded)"


def _figures(arm: Arm) -> object:
    """All but what depends on a price list."""
    told = arm.model_dump(mode="json")
    told["effort"].pop("cost_usd", None)
    return _rounded(told)


def _compared(report: Report) -> object:
    return _rounded([comparison.model_dump(mode="json") for comparison in report.comparisons])


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return round(value, _DIGITS)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list) else value
