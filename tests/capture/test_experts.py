"""Which experts were used is on record by position: nothing twice, nothing left out, and a hole is found."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from journeyman.capture.verify import verify_episode
from journeyman.engines.base import SampleChunk, SampleRequest
from journeyman.engines.fakes.policy import expected_routes
from journeyman.engines.routes import ExpertShape, routes_from
from journeyman.engines.scripted import SeededEngine
from journeyman.store.seal import seal
from journeyman.store.sealed import SealedEpisode

from .conftest import Opener, Place

SHAPE = ExpertShape(layers=3, top_k=4, experts=64)


class MixtureEngine(SeededEngine):
    """A seeded engine whose router's choice is a function of position and id; `late` rows are left out at the start."""

    def __init__(self, shape: ExpertShape = SHAPE, late: int = 0) -> None:
        super().__init__(vocabulary=400, tokens=12)
        self.identity = self.identity.model_copy(update={"experts": shape})
        self._shape, self._late = shape, late

    async def sample(self, request: SampleRequest) -> AsyncIterator[SampleChunk]:
        ids = list(request.prompt_ids)
        async for chunk in super().sample(request):
            ids += chunk.ids
            if chunk.finish_reason is None:
                yield chunk
                continue
            start = (request.routes_from or 0) + self._late
            made = expected_routes(np.array(ids[:-1]), self._shape.layers, self._shape.top_k, self._shape.experts)
            routes = routes_from(made[start:], start, len(ids), self._shape)
            yield chunk.model_copy(update={"routes": routes})


async def _talked(place: Place) -> SealedEpisode:
    """A length cut, an append, a declared branch, and a child."""
    await place.ask(max_tokens=5)
    place.tell("go on")
    first = list(place.messages)
    await place.ask()
    place.tell("and on")
    await place.ask()
    await place.ask([*first[:-1], {"role": "user", "content": "or so"}], headers={"X-Journeyman-Event": "branch"})
    await place.ask([{"role": "user", "content": "find"}], headers={"X-Journeyman-Run": "child"})
    return await place.sealed()


@pytest.mark.parametrize("experts", [64, 512])
async def test_every_position_that_was_fed_has_its_experts(opened: Opener, experts: int) -> None:
    shape = SHAPE.model_copy(update={"experts": experts})
    async with opened(MixtureEngine(shape)) as place:
        episode = await _talked(place)
    assert [p.name for p in place.directory.glob("experts*")] == [f"experts.3x4.u{8 if experts == 64 else 16}"]
    for segment in episode.segments:
        tokens = episode.segment_tokens(segment.run, segment.index)
        held = episode.segment_experts(segment.run, segment.index)
        assert held is not None
        want = expected_routes(tokens.ids[: len(held)].astype(np.int64), 3, 4, experts)
        assert np.array_equal(held, want)
    assert verify_episode(place.directory) is None


async def test_rows_that_leave_a_hole_fail_the_call_and_are_not_recorded(opened: Opener) -> None:
    async with opened(MixtureEngine(late=2)) as place:
        with pytest.raises(Exception, match=r"capture: experts: rows from position 2"):
            await place.ask()
        assert (await place.slot.close()).turns == 0


async def test_a_hole_in_the_record_is_named(opened: Opener) -> None:
    async with opened(MixtureEngine()) as place:
        await _talked(place)
    _spoil(place.directory)
    fault = verify_episode(place.directory)
    assert fault is not None
    assert fault.name == "experts"


def _spoil(directory: Path) -> None:
    path = directory / "turns.jsonl"
    turns = [json.loads(line) for line in path.read_bytes().splitlines()]
    turns[1]["experts"]["start"] += 1
    path.write_text("".join(json.dumps(turn) + "\n" for turn in turns))
    (directory / "SEAL.json").unlink()
    seal(directory)


async def test_an_engine_without_experts_leaves_no_file(opened: Opener, seeded: SeededEngine) -> None:
    async with opened(seeded) as place:
        await place.ask()
        episode = await place.sealed()
    assert episode.segment_experts(0, 0) is None
    assert not list(place.directory.glob("experts*"))
