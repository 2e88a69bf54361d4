"""Grading what is sealed: a whole run by one grader, skipping what that grader has graded."""

from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

from journeyman.engines.connection import address_of
from journeyman.errors import UserError
from journeyman.grading.base import OFFICIAL
from journeyman.grading.combine import Grader
from journeyman.grading.episode import grade_episode, grade_path
from journeyman.grading.judge import Judge
from journeyman.grading.programs import BoxPrograms, programs
from journeyman.models.openai_compatible import EndpointConfig, OpenAICompatible
from journeyman.pipeline.explain import task_directory
from journeyman.pipeline.workplace import ready_task, sandbox_provider
from journeyman.records.outcome import Graded
from journeyman.store.layout import Job

JUDGE_KEY = "JOURNEYMAN_JUDGE_KEY"


def _judge(model: str | None, url: str | None) -> Judge | None:
    if (model is None) != (url is None):
        raise UserError("--judge and --judge-url go together: the model's name and its endpoint, e.g. http://host/v1")
    if model is None or url is None:
        return None
    address_of(url)
    return Judge(OpenAICompatible(EndpointConfig(base_url=url, model=model, api_key_env=JUDGE_KEY)))


async def grade_run(
    root: Path, name: str = OFFICIAL, policy: str | None = None, judge: str | None = None, judge_url: str | None = None
) -> Counter[str]:
    """Grade every sealed episode that `name` has not graded. Returns how many ended how. Raises UserError for none."""
    job = Job(root)
    grader = Grader(judge=_judge(judge, judge_url), name=name)
    if not any(job.sealed(policy)):
        known = ", ".join(sorted(p.name for p in job.episodes.glob("*"))) or "none"
        asked = f" of policy {policy!r}" if policy else ""
        raise UserError(f"{root} has no sealed episode{asked} to grade: its policies are {known}")
    counts: Counter[str] = Counter()
    async with AsyncExitStack() as stack:
        for directory in job.sealed(policy):
            key = job.key_of(directory)
            ready = ready_task(task_directory(job, key.split("/")[1]))
            identity = grader.identity(ready.task.rubric)
            if grade_path(job.grades_dir(key), identity.digest()).exists():
                counts["graded before"] += 1
                continue
            if grader.programs is None and programs(ready.task.rubric):
                boxes = await stack.enter_async_context(sandbox_provider("bubblewrap"))
                grader = replace(grader, programs=BoxPrograms(boxes))
            outcome = await grade_episode(directory, ready.directory, job.grades_dir(key), grader)
            counts["graded" if isinstance(outcome, Graded) else f"quarantined: {outcome.layer}"] += 1
    return counts
