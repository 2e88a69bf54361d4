"""`journeyman verify`: it says what it checked, and a training row without its segment's certificate is a fault."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from journeyman.capture.by_hand import seal_by_hand
from journeyman.datasets.base import Attempt
from journeyman.datasets.rl import build_rl
from journeyman.pipeline.verification import verify_path
from journeyman.records.base import sha256_hex
from journeyman.records.outcome import Graded
from journeyman.records.sample import Sample
from journeyman.store.dataset import MARKER, Dataset

from ..capture.conftest import Opener, opened, renderer, seeded

__all__ = ["opened", "renderer", "seeded"]


@pytest.fixture
async def job(opened: Opener, seeded: Any) -> Path:
    """A job of one sealed episode and an RL batch made of it."""
    async with opened(seeded) as place:
        await place.ask()
        place.tell("more")
        await place.ask(max_tokens=5)
        captured = asdict(await place.slot.close())
        seal_by_hand(place.directory, place.spec, captured, {"kind": "seeded", "token_exact": True})
        root: Path = place.directory.parents[4]
        graded = Graded(reward=0.5, reward_name="signed.v1", grade_digest="d")
        build_rl({"g": [Attempt(place.spec.id, place.directory, graded)]}, root / "data" / "rl" / "00000")
    return root


def _change(dataset: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the first row's record and write a marker that agrees: what a careless tool would leave."""
    path = dataset / "samples.jsonl"
    row = json.loads(path.read_bytes())
    change(row)
    path.write_bytes(Sample.model_validate(row).canonical() + b"\n")
    _remark(dataset)


def _remark(dataset: Path) -> None:
    marker = json.loads((dataset / MARKER).read_bytes())
    marker["files"] = {name: sha256_hex((dataset / name).read_bytes()) for name in marker["files"]}
    (dataset / MARKER).write_text(json.dumps(marker))


async def test_an_episode_is_told_by_what_was_checked_of_it(job: Path) -> None:
    (episode,) = job.glob("episodes/*/*/*/*")
    checked = verify_path(episode)
    assert not checked.faults
    assert checked.counts["turns"] == 2
    assert checked.counts["segments with a certificate"] == 1
    assert checked.counts["sampled tokens"] == 29
    assert checked.counts["sealed files"] >= 7
    (said,) = checked.said
    assert said.startswith("segment 0.0: 2 turns, ")
    assert "29 sampled by policy version 0, certificate " in said


async def test_a_row_carries_the_certificate_of_its_segment(job: Path) -> None:
    checked = verify_path(job)
    assert not checked.faults
    assert (checked.counts["datasets"], checked.counts["training rows"]) == (1, 1)
    (episode,) = job.glob("episodes/*/*/*/*")
    ref = Dataset.open(job / "data" / "rl" / "00000").samples[0].ref
    assert ref.ids_sha256[:16] in verify_path(episode).said[0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ids_sha256": ""}, "carries no certificate"),
        ({"ids_sha256": "0" * 64}, "has other ids than the certificate it carries"),
        ({"seal_digest": "0" * 64}, "is of another seal than the episode has"),
        ({"episode": "job/p/t/g/9.0"}, "is of an episode that is not here"),
        ({"segment": 4}, "carries another certificate than its segment has"),
    ],
)
async def test_a_row_that_is_not_its_segment_is_a_fault(job: Path, change: dict[str, Any], said: str) -> None:
    dataset = job / "data" / "rl" / "00000"
    _change(dataset, lambda row: row["ref"].update(change))
    (fault,) = verify_path(job).faults
    assert said in fault
    assert "row 0 (job/p/t/g/" in fault


async def test_a_dataset_alone_is_checked_by_the_certificates_its_rows_carry(job: Path) -> None:
    dataset = job / "data" / "rl" / "00000"
    assert not verify_path(dataset).faults
    ids = np.fromfile(dataset / "tokens.i32", dtype="<i4")
    ids[3] += 1
    ids.tofile(dataset / "tokens.i32")
    _remark(dataset)
    (fault,) = verify_path(dataset).faults
    assert "has other ids than the certificate it carries" in fault
