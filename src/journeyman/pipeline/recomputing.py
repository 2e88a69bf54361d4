"""Whether a run's report says what is there: arms and comparisons from seals and grades, curves from the ledger.

A figure that does not follow is a fault, and so is a page that is not the report's.
"""

from collections.abc import Iterator
from pathlib import Path

from journeyman.errors import UserError
from journeyman.evaluation.report.write import PAGE
from journeyman.pipeline.progress import Silent
from journeyman.pipeline.recipe import load_recipe
from journeyman.pipeline.stages.report import CONFIG, build, config_digest
from journeyman.pipeline.state import Run
from journeyman.records.base import first_fault, sha256_hex
from journeyman.records.report import Arm, Report
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
        found = build(run)
    except UserError as error:
        yield f"{path} cannot be recomputed: {error}"
        return
    if told.facts.get(CONFIG, config_digest(job)) != config_digest(job):
        yield f"{job.config} changed after {path} was written"
    for label in dict.fromkeys(arm.label for arm in (*told.arms, *found.arms)):
        one, other = (next((a for a in report.arms if a.label == label), None) for report in (told, found))
        if one is None or other is None or _figures(one) != _figures(other):
            yield f"{path} says {_said(one)} of {label}; the sealed episodes and grades say {_said(other)}"
    if _compared(told) != _compared(found):
        yield f"{path} compares policies otherwise than the sealed episodes and grades do"
    yield from _drawn(path, told, found, job)


def _drawn(path: Path, told: Report, found: Report, job: Job) -> Iterator[str]:
    """Curves that are not the ledger's, and a page that is not the report's."""
    ledgers = {curve.name: (curve.steps, curve.values) for curve in found.curves}
    for curve in told.curves:
        if ledgers.get(curve.name) != (curve.steps, curve.values):
            yield f"{path} draws {curve.name} otherwise than {job.ledger / 'updates.jsonl'} and figures.jsonl have it"
            break
    page = job.report / PAGE
    if not page.is_file():
        yield f"{page} is missing: type journeyman report {job.root} to write it again"
    elif told.facts.get(PAGE, digest := sha256_hex(page.read_bytes())) != digest:
        yield f"{page} is not the page of {path}: type journeyman report {job.root} to write it again"


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
