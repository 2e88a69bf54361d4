"""Small sealed episodes written with the real store, from a list of turns."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from journeyman.datasets.base import Attempt
from journeyman.records.episode import Episode, EpisodeSpec, Sampling, Usage
from journeyman.records.outcome import Graded, StopReason
from journeyman.records.turn import AgentRun, Segment, Turn
from journeyman.store.seal import seal
from journeyman.store.token_log import TokenLog


@dataclass
class T:
    """One turn: context ids, sampled ids, and whatever differs from a plain policy turn."""

    context: Sequence[int]
    sampled: Sequence[int]
    closing: Sequence[int] = ()
    segment: int = 0
    run: int = 0
    logprob: float = -0.5
    version: int = 3
    fields: dict[str, Any] = field(default_factory=dict)


FULL_SUPPORT = Sampling()
EpisodeMaker = Callable[..., Attempt]


@pytest.fixture
def make_episode(tmp_path: Path) -> EpisodeMaker:
    def make(
        turns: Sequence[T],
        *,
        reward: float = 0.5,
        reward_name: str = "signed.v1",
        task: str = "task",
        group: str = "g0",
        attempt: int = 0,
        segments: Sequence[Segment] = (Segment(run=0, index=0, opened_by="start"),),
        runs: Sequence[AgentRun] = (AgentRun(run=0),),
        sampling: Sampling = FULL_SUPPORT,
        token_exact: bool = True,
        invalid_calls: int = 0,
        tokenizer: str = "tok",
    ) -> Attempt:
        spec = EpisodeSpec(job="job", policy="rl", task=task, group=group, attempt=attempt, sampling=sampling)
        directory = tmp_path / "episodes" / spec.key
        log = TokenLog(directory)
        records = []
        held: Counter[tuple[int, int]] = Counter()  # ids of each segment so far
        for index, turn in enumerate(turns):
            spans: dict[str, Any] = {"context": log.append(turn.context)}
            n = len(turn.sampled)
            spans["sampled"] = log.append(turn.sampled, [turn.logprob] * n, [turn.version] * n)
            if turn.closing:
                spans["closing"] = log.append(turn.closing)
            values: dict[str, Any] = {
                "turn_id": f"t{index}",
                "run": turn.run,
                "segment": turn.segment,
                "index": index,
                "prompt_tokens": held[turn.run, turn.segment] + len(turn.context),
                "finish_reason": "stop",
                **spans,
                **turn.fields,
            }
            records.append(Turn(**values))
            if not records[-1].orphan:
                held[turn.run, turn.segment] += len(turn.context) + n + len(turn.closing)
        log.close()
        episode = Episode(
            spec=spec,
            task_digest="t",
            grader_digest="g",
            harness_digest="h",
            engine={"kind": "embedded", "model": "m", "token_exact": token_exact, "tokenizer_digest": tokenizer},
            sandbox={"kind": "local"},
            stop=StopReason.FINISHED,
            usage=Usage(turns=len(turns), invalid_calls=invalid_calls),
        )
        (directory / "episode.json").write_bytes(episode.canonical())
        for name, lines in (("turns", records), ("segments", segments), ("runs", runs)):
            (directory / f"{name}.jsonl").write_bytes(b"".join(r.canonical() + b"\n" for r in lines))
        seal(directory)
        outcome = Graded(reward=reward, reward_name=reward_name, grade_digest="d")
        return Attempt(episode=spec.id, directory=directory, outcome=outcome)

    return make
