"""A made-up run on disk, through the real records, store and seal: four policies of known skill, one broken try."""

import json
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from journeyman.records.base import canonical_json
from journeyman.records.episode import Episode, EpisodeSpec, Sampling, Usage
from journeyman.records.grade import OPTIMISED, REPORTED, Grade, GraderIdentity
from journeyman.records.outcome import FailureCause, StopReason
from journeyman.records.rubric import Check, Criterion, Rubric, Verdict
from journeyman.records.sample import Update
from journeyman.records.task import Requirement, Task, TaskMetadata
from journeyman.records.turn import AgentRun, Segment, ToolEvent, Turn
from journeyman.store.layout import Job
from journeyman.store.seal import seal, seal_digest
from journeyman.store.token_log import TokenLog
from journeyman.tokens.template import TemplateRenderer

TYPES = ("consulting.vendor_benchmark", "finance.board_forecast", "law.covenant_certificate", "operations.warehouse")
SKILL = {"base": 0.04, "sft": 0.52, "rl": 0.91, "merged": 0.93}
INVALID = {"base": 2.1, "sft": 0.6, "rl": 0.05, "merged": 0.04}
TOKENS = {"base": 420, "sft": 310, "rl": 262, "merged": 255}
INSTRUCTION = "Find the approved forecast. Write revenue and margin to answer.txt. Use the approved version only."


class MadeRun(NamedTuple):
    """A job directory, its tasks by slug, and the sealed directories."""

    job: Job
    tasks: dict[str, Task]
    directories: list[Path]


def made_task(kind: str, number: int) -> Task:
    """A task with three credits and one error criterion."""
    domain = kind.split(".")[0]
    criteria = [
        ("file_written", "The answer file exists.", 1.0),
        ("approved_figure", "Revenue is the approved 120.", 4.0),
        ("margin", "Margin is 14.", 3.0),
        ("stale_version_used", "A figure is taken from the withdrawn version.", -4.0),
    ]
    return Task(
        metadata=TaskMetadata(
            name=f"made/{kind.split('.')[1]}-{number}",
            environment_type=kind,
            domain=domain,  # type: ignore[arg-type]
            size="compact",
            split="heldout",
            seed=number,
            frozen_time="2025-03-04T09:00:00Z",
        ),
        instruction=INSTRUCTION,
        requirements=(Requirement(id="r1", text="Write the answer."),),
        files=(),
        rubric=Rubric(
            criteria=tuple(
                Criterion(id=i, proposition=p, weight=w, decide=Check(kind="file_exists"), requirement="r1")
                for i, p, w in criteria
            )
        ),
        content_digest="0" * 64,
    )


def grader_of(task: Task) -> GraderIdentity:
    """The official grader of a made task."""
    return GraderIdentity(name="official", checks_version="1", rubric_digest=task.rubric.digest())


def _grade(spec: EpisodeSpec, task: Task, digest: str, met: list[bool]) -> Grade:
    weights = [c.weight for c in task.rubric.criteria]
    raw = sum(w for w, m in zip(weights, met, strict=True) if m)
    share = raw / task.rubric.positive_weight
    said = ["answer.txt, 2 lines", "revenue: 120", "margin: 14", "no figure of version 6"]
    return Grade(
        episode=spec.id,
        seal_digest=digest,
        grader=grader_of(task),
        verdicts=tuple(
            Verdict(criterion=c.id, met=m, evidence=e, source="check")
            for c, m, e in zip(task.rubric.criteria, met, said, strict=True)
        ),
        raw=raw,
        rewards={REPORTED: min(max(share, 0.0), 1.0), OPTIMISED: min(max(share, -1.0), 1.0)},
    )


def _transcript(directory: Path, renderer: TemplateRenderer, generator: np.random.Generator) -> None:
    """Two turns: the policy reads, then writes; log-probs are drawn."""
    log = TokenLog(directory)
    system = {"role": "system", "content": "You work in /workspace. Use the tools."}
    asks = [[system, {"role": "user", "content": INSTRUCTION}]]
    asks.append(
        [
            {
                "role": "tool",
                "tool_call_id": "call_0",
                "content": "1\tapproved version: 7\n2\trevenue: 120\n3\tmargin: 14",
            }
        ]
    )
    calls = [
        {"name": "read", "arguments": {"file_path": "notes.txt"}},
        {"name": "write", "arguments": {"file_path": "answer.txt", "content": "revenue: 120\nmargin: 14"}},
    ]
    turns = []
    for index, (messages, call) in enumerate(zip(asks, calls, strict=True)):
        ids = renderer.start(messages, []) if index == 0 else renderer.extend(messages, [])
        context = log.append(ids)
        sampled_ids = renderer.assistant({"role": "assistant", "content": "", "tool_calls": [{"id": "call_0", **call}]})
        logprobs = -generator.exponential(0.25, len(sampled_ids)) * (generator.random(len(sampled_ids)) < 0.5)
        sampled = log.append(sampled_ids, logprobs=[float(x) for x in logprobs], versions=[3] * len(sampled_ids))
        turns.append(
            Turn(
                turn_id=f"t{index}",
                run=0,
                segment=0,
                index=index,
                context=context,
                sampled=sampled,
                prompt_tokens=sampled.start,
                finish_reason="tool_calls",
            )
        )
    log.flush()
    log.close()
    (directory / "turns.jsonl").write_bytes(b"".join(t.canonical() + b"\n" for t in turns))
    (directory / "segments.jsonl").write_bytes(Segment(run=0, index=0, opened_by="start").canonical() + b"\n")
    (directory / "runs.jsonl").write_bytes(AgentRun(run=0).canonical() + b"\n")


def _seal_try(
    job: Job, spec: EpisodeSpec, task: Task, failure: FailureCause | None, drawn: np.random.Generator
) -> Path:
    directory = job.episode_dir(spec.key)
    directory.mkdir(parents=True)
    policy = spec.policy
    invalid = int(drawn.poisson(INVALID[policy]))
    tokens = int(drawn.normal(TOKENS[policy], 30))
    calls = 4 + invalid
    act = float(drawn.gamma(9, 0.2))
    episode = Episode(
        spec=spec,
        task_digest=task.content_digest,
        grader_digest=grader_of(task).digest(),
        harness_digest="h",
        engine={},
        sandbox={},
        stop=None
        if failure
        else (StopReason.MAX_TURNS if policy == "base" and drawn.random() < 0.6 else StopReason.FINISHED),
        failure=failure,
        usage=Usage(
            turns=calls + 1,
            prompt_tokens=900 * calls,
            cached_tokens=700 * calls,
            sampled_tokens=tokens,
            tool_calls=calls,
            invalid_calls=invalid,
            segments=1,
        ),
        timing={"total": act + 0.2, "act": act, "engine": act * 0.9, "cpu": 0.031},
    )
    (directory / "episode.json").write_bytes(canonical_json(json.loads(episode.model_dump_json())))
    events = [ToolEvent(call_id="call_0", tool="read", is_error=bool(drawn.random() < 0.1))]
    (directory / "dispatch.jsonl").write_bytes(b"".join(e.canonical() + b"\n" for e in events))
    return directory


def make_run(root: Path, renderer: TemplateRenderer, *, per_type: int = 4, attempts: int = 3, seed: int = 0) -> MadeRun:
    """Seal and grade `per_type` tasks of each type, `attempts` times, by four policies at two temperatures."""
    drawn = np.random.default_rng(seed)
    job = Job(root)
    tasks = {t.slug: t for kind in TYPES for n in range(per_type) if (t := made_task(kind, n))}
    ease = {slug: float(drawn.normal(0, 0.6)) for slug in tasks}
    directories = []
    for policy, skill in SKILL.items():
        for temperature in (1.0, 0.0):
            for slug, task in tasks.items():
                for attempt in range(attempts):
                    p = 1 / (
                        1 + math.exp(-(math.log(skill / (1 - skill)) + ease[slug] + (0.5 if temperature == 0 else 0)))
                    )
                    spec = EpisodeSpec(
                        job=job.name,
                        policy=policy,
                        task=slug,
                        group=f"heldout-{temperature:g}",
                        attempt=attempt,
                        sampling=Sampling(temperature=temperature),
                    )
                    broken = policy == "sft" and attempt == 0 and slug == next(iter(tasks))
                    if broken:
                        cause = FailureCause(layer="sandbox", cause="executor_lost")
                        directory = _seal_try(job, spec, task, cause, drawn)
                        seal(directory)
                        directories.append(directory)
                        if temperature == 0:
                            continue  # never restarted: stays without a grade
                        spec = spec.model_copy(update={"try_": 1})
                    directory = _seal_try(job, spec, task, None, drawn)
                    if policy == "rl":
                        _transcript(directory, renderer, drawn)
                    seal(directory)
                    met = [bool(drawn.random() < min(1, p + 0.3))]
                    met += [met[0] and bool(drawn.random() < p) for _ in range(2)]
                    met.append(met[0] and not met[1] and bool(drawn.random() < 0.5))
                    grade = _grade(spec, task, seal_digest(directory), met)
                    grades = job.grades_dir(spec.key)
                    grades.mkdir(parents=True)
                    (grades / f"{grade.grader.digest()}.json").write_bytes(grade.canonical())
                    directories.append(directory)
    return MadeRun(job, tasks, directories)


def made_updates(steps: int = 60, seed: int = 0) -> list[Update]:
    """A learner's ledger whose reward rises and whose entropy falls."""
    drawn = np.random.default_rng(seed)

    def noisy(level: float, spread: float) -> float:
        return level + float(drawn.normal(0, spread))

    made = []
    for step in range(steps):
        fade = math.exp(-step / 18)
        reward = noisy(0.92 - 0.42 * fade, 0.03)
        metrics = {
            "reward": reward,
            "shaped": reward - 0.02 * fade,
            "sampled_tokens": noisy(260 + 60 * fade, 4),
            "turns": noisy(5 + 2 * fade, 0.08),
            "invalid_calls": max(0.0, noisy(0.8 * fade, 0.03)),
            "entropy": noisy(0.05 + 0.42 * fade, 0.01),
            "ratio_mean": noisy(1.0, 0.003),
            "ratio_max": abs(noisy(2.2, 0.4)),
            "clip_fraction": abs(noisy(0.012, 0.004)),
            "ess": min(1.0, noisy(0.97, 0.01)),
            "staleness_mean": abs(noisy(1.1, 0.2)),
            "gradient_norm": abs(noisy(0.8, 0.2)),
            "a_metric_nobody_shows": 1.0,
        }
        if step == 3:
            del metrics["entropy"]  # no token was trained
        made.append(
            Update(
                step=step,
                objective="cispo",
                reward_name=OPTIMISED,
                version_before=step,
                version_after=step + 1,
                groups={},
                tokens=13_000,
                metrics=metrics,
            )
        )
    return made
