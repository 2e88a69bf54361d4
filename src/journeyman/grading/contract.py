"""The grading contract of a task package, as it is on disk now; a package that changed since it was made has none."""

from functools import lru_cache
from pathlib import Path

from journeyman.errors import GraderFailure, UserError
from journeyman.grading.base import Contract
from journeyman.tasks.package import load_task, public_workspace, stamp


def contract_of(task_dir: Path) -> Contract:
    """The grading contract of a task package; read again whenever its files change.

    Raises UserError where there is no package, GraderFailure where it is no longer what was made (T-07).
    """
    if not task_dir.is_dir():
        raise UserError(f"{task_dir}: no such task package")
    try:
        return _contract(task_dir, stamp(task_dir))
    except UserError as error:
        raise GraderFailure("task_changed", str(error)) from error


@lru_cache(maxsize=4096)
def _contract(task_dir: Path, _stamp: tuple[int, ...]) -> Contract:
    task = load_task(task_dir, handlers=False)
    return Contract(task_dir, task.rubric, public_workspace(task_dir), task.content_digest)
