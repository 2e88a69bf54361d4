"""What `journeyman explain` is given, told apart: a run, a token, or a part of what was captured."""

from collections.abc import Iterator
from pathlib import Path

from journeyman.errors import UserError
from journeyman.pipeline import explain_capture
from journeyman.pipeline.explain import TokenRef, lineage, parse_ref, pick, task_directory, updates
from journeyman.pipeline.explain_text import lines as gradient_lines
from journeyman.store.layout import Job, exists
from journeyman.store.sealed import SealedEpisode
from journeyman.tasks.package import load_task


def explained(what: str, runs: Path) -> tuple[Iterator[str], str]:
    """Lines of the explanation, and the next command to type. Raises UserError for what is not there."""
    part = explain_capture.parse(what, runs)
    if part is None and exists(Path(what)) and Path(what).is_dir():
        job = Job(Path(what))
        part = None if updates(job) else _latest(job)
        if part is None:
            return _token(job, pick(job))
    if part is not None:
        where = part.directory
        return explain_capture.lines(part), f"journeyman verify {where}"
    ref = parse_ref(what)
    return _token(Job(runs / ref.episode.split("/", 1)[0]), ref)


def _latest(job: Job) -> explain_capture.Part | None:
    """The episode sealed last; None where there is none."""
    found = sorted(job.sealed(), key=lambda directory: directory.stat().st_mtime)
    return explain_capture.Part(found[-1], None) if found else None


def _token(job: Job, ref: TokenRef) -> tuple[Iterator[str], str]:
    directory = job.episode_dir(ref.episode.split("/", 1)[1])
    if not exists(directory):
        raise UserError(f"no episode {explain_capture.shorten(ref.episode)} below {job.episodes}")
    if not SealedEpisode.open(directory, verify=False).episode.task_digest:  # captured by hand: of no task
        return explain_capture.token_lines(directory, *ref[1:]), f"journeyman verify {directory}"
    task = task_directory(job, ref.episode.split("/")[2])
    found = lineage(job, ref, load_task(task, handlers=False))
    return gradient_lines(job, found, task), f"journeyman tasks show {task}"
