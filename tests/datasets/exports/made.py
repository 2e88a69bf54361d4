"""A small RL batch and SFT dataset on disk, and what loads their exports elsewhere."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from journeyman.records.batch import DatasetManifest, Group, Member
from journeyman.records.outcome import StopReason
from journeyman.records.sample import Sample, SegmentRef
from journeyman.store.dataset import Dataset, RowTokens, write_dataset

ROOT = Path(__file__).parents[3]


def tokens(start: int, mask: list[int]) -> RowTokens:
    """Ids from `start` on; log-probs and versions only where the mask is 1."""
    m = np.array(mask, dtype=np.uint8)
    logprobs = np.where(m == 1, -0.25 - np.arange(len(m)) / 8, np.nan).astype(np.float32)
    versions = np.where(m == 1, 3 + np.arange(len(m)) // 6, -1).astype(np.int32)
    return RowTokens(np.arange(start, start + len(m), dtype=np.int32), m, logprobs, versions)


MASKS = {  # group -> members -> segments
    "g0": [[[0, 0, 1, 1, 0, 0, 1, 1]], [[0, 0, 0, 1, 1]], [[0, 1, 1]], [[0, 0, 1]]],
    "g1": [[[0, 1, 1, 0, 1]], [[0, 0, 1, 1], [0, 0, 1]], [[0, 1]], [[0, 1, 1]]],
}
REWARDS = {"g0": [1.0, 0.5, -0.25, 0.25], "g1": [0.0, 1.0, 0.5, -0.5]}


def rl_dataset(directory: Path, invalid: str = "") -> Dataset:
    """Two groups of four; the second member of g1 has two segments. `invalid`: an episode that is set aside."""
    samples: list[Sample] = []
    rows: list[RowTokens] = []
    groups: list[Group] = []
    offset = 0
    for group, members in MASKS.items():
        made = []
        for attempt, segments in enumerate(members):
            episode, indexes = f"job/rl/task-{group}/{group}/{attempt}.0", []
            if episode == invalid:
                made.append(Member(episode=episode, valid=False, cause="sandbox: gone"))
                continue
            for number, mask in enumerate(segments):
                row = tokens(10 * (attempt + 1) + number, mask)
                indexes.append(len(rows))
                samples.append(
                    Sample(
                        ref=SegmentRef(episode=episode, seal_digest="s", run=0, segment=number),
                        kind="rl",
                        offset=offset,
                        length=len(mask),
                        trained_tokens=sum(mask),
                        reward=REWARDS[group][attempt],
                        reward_name="signed.v1",
                        group=group,
                        stop=StopReason.TOKEN_BUDGET if attempt == 3 else StopReason.FINISHED,
                    )
                )
                rows.append(row)
                offset += len(mask)
            reward = REWARDS[group][attempt]
            made.append(Member(episode=episode, valid=True, reward=reward, turns=2, rows=tuple(indexes)))
        groups.append(Group(id=group, task=f"task-{group}", members=tuple(made)))
    manifest = DatasetManifest(
        kind="rl",
        rows=len(rows),
        tokens=offset,
        trained_tokens=sum(s.trained_tokens for s in samples),
        groups=len(groups),
        reward_name="signed.v1",
        temperature=0.7,
    )
    write_dataset(directory, manifest, samples, rows, groups=groups)
    return Dataset.open(directory)


def sft_dataset(directory: Path) -> Dataset:
    """Three rows."""
    masks = ([0, 0, 1, 1], [0, 1, 0, 1, 1], [0, 0, 0, 1])
    rows = [tokens(5 * n, m) for n, m in enumerate(masks, start=1)]
    samples, offset = [], 0
    for number, mask in enumerate(masks):
        ref = SegmentRef(episode=f"job/expert/t/g/{number}.0", seal_digest="s", run=0, segment=0)
        samples.append(Sample(ref=ref, kind="sft", offset=offset, length=len(mask), trained_tokens=sum(mask)))
        offset += len(mask)
    manifest = DatasetManifest(kind="sft", rows=3, tokens=offset, trained_tokens=6)
    write_dataset(directory, manifest, samples, rows)
    return Dataset.open(directory)


def python_with(package: str) -> str:
    """An interpreter that has a package which needs an environment of its own; skips, saying how to name one."""
    name = f"JOURNEYMAN_{package.upper()}_PYTHON"
    python = os.environ.get(name)
    if not python:
        pytest.skip(f"{package} is not installed here: set {name} to a Python that has it and journeyman")
    return python


def run_with(package: str, code: str, *arguments: Path) -> str:
    """What a script prints under that interpreter."""
    done = subprocess.run(
        [python_with(package), "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
