"""Several servers as one engine: an episode stays with one, a dead one is passed over, weights go to all."""

from pathlib import Path
from typing import Any

import pytest

from journeyman.engines.base import SampleRequest
from journeyman.engines.fakes.server import FakeServer
from journeyman.engines.registry import served_engine
from journeyman.errors import EngineFailure, UserError
from journeyman.records.episode import Sampling

SETTINGS = {"attempts": 1}


def ask(episode: str) -> SampleRequest:
    return SampleRequest(
        episode=episode,
        turn_id="t",
        lineage=f"{episode}#0.0",
        prompt_ids=[1, 2, 3],
        sampling=Sampling(),
        stop_token_ids=(7,),
        seed=1,
    )


async def versions(engine: Any, episode: str) -> set[int]:
    """Sample one turn; which versions sampled it."""
    chunks = [chunk async for chunk in engine.sample(ask(episode))]
    assert sum(len(chunk.ids) for chunk in chunks) == 4
    return {version for chunk in chunks for version in chunk.versions}


@pytest.mark.parametrize("kind", ["sglang", "vllm"])
async def test_an_episode_stays_with_its_server_and_weights_go_to_all(kind: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with FakeServer(kind, tokens=4) as one, FakeServer(kind, tokens=4) as other:
        async with served_engine(kind, [one.url, other.url], settings=SETTINGS) as engine:
            for _ in range(3):
                assert await versions(engine, "a") == {0}
            assert sorted((one.state()["calls"], other.state()["calls"])) == [0, 3]
            await engine.pause()
            assert (one.state()["paused"], other.state()["paused"]) == (True, True)
            await engine.resume()
            await engine.load_weights(tmp_path, 2)
            assert (one.state()["loads"], other.state()["loads"]) == ([str(tmp_path)],) * 2
            assert await versions(engine, "a") == {2}


async def test_conversations_that_follow_one_another_are_spread_alike() -> None:
    with FakeServer("vllm", tokens=4) as one, FakeServer("vllm", tokens=4) as other:
        async with served_engine("vllm", [one.url, other.url], settings=SETTINGS) as engine:
            for episode in ("a", "b", "c", "d"):
                await versions(engine, episode)
                await engine.release(f"{episode}#0.0")
            assert (one.state()["calls"], other.state()["calls"]) == (2, 2)


async def test_a_server_that_has_died_is_passed_over(tmp_path: Path) -> None:
    with FakeServer("sglang", tokens=4) as other:
        with FakeServer("sglang", tokens=4) as one:
            engine = served_engine("sglang", [one.url, other.url], settings=SETTINGS)
            await engine.__aenter__()
            assert await versions(engine, "a") == {0}
            assert one.state()["calls"] == 1
        with pytest.raises(EngineFailure, match=r"unreachable|connection_lost"):
            await versions(engine, "a")
        for episode in ("a", "b", "c"):
            assert await versions(engine, episode) == {0}
        assert other.state()["calls"] == 3
        await engine.close()


async def test_what_cannot_be_reached_or_is_no_client_of_a_server_is_the_users_to_mend() -> None:
    with pytest.raises(UserError, match="is reached by its address"):
        served_engine("vllm", [])
    with pytest.raises(UserError, match="is no client of a server"):
        served_engine("embedded", ["http://127.0.0.1:1"])
    with pytest.raises(UserError, match=r"engine.settings: unknown key 'attempt': did you mean 'attempts'"):
        served_engine("vllm", ["http://127.0.0.1:1"], settings={"attempt": 1})
