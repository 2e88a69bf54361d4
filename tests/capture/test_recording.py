"""What goes on record stays whole: on a full disk, whatever the policy samples, and whichever run asks."""

import asyncio
import json
import resource
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import openai
import pytest

from journeyman.capture.by_hand import seal_by_hand
from journeyman.capture.recorder import FAILED
from journeyman.capture.verify import verify_episode
from journeyman.engines.base import SampleChunk, SampleRequest
from journeyman.engines.scripted import SeededEngine
from journeyman.errors import EngineFailure
from journeyman.records.outcome import FailureCause
from journeyman.store.append import AppendFile
from journeyman.store.sealed import SealedEpisode
from journeyman.store.token_log import TokenLog, read_tokens
from journeyman.tokens.template import RenderError, TemplateRenderer
from journeyman.tokens.tiny import write_tiny_tokenizer
from journeyman.tokens.usable import legible, unusable

from .conftest import TOOLS, Opener, Place, says, seal_episode


def _left(place: Place) -> Path:
    """The episode as a kill would leave it now."""
    return Path(shutil.copytree(place.directory, place.directory.with_name("left")))


def _reopened(place: Place, left: Path) -> Place:
    slot = place.gateway.open(place.spec, left, 4096, resume=True)
    place.client.api_key = slot.key
    return Place(place.gateway, slot, left, place.spec, place.client)


# -- what the policy samples is never a failure of ours

DEEP = "[" * 3000 + "]" * 3000


@pytest.mark.parametrize(
    ("sampled", "name", "reason"),
    [
        ('{"name": "read", "arguments": {"x": "\\ud83d"}}', "read", "surrogate"),
        ('{"name": "read", "arguments": {"\\ud83d": 1}}', "read", "surrogate"),
        ('{"name": "re\\udc00", "arguments": {}}', "re\\udc00", "surrogate"),
        ('{"name": "read", "arguments": "{\\"x\\": \\"\\ud83d\\"}"}', "read", "surrogate"),
        ('{"name": "read", "arguments": {"x": ' + DEEP + "}}", "read", "not JSON"),
        ('{"name": "read", "arguments": {"x": ' + DEEP[2900:3100] + "}}", "read", "nested deeper"),
        ('{"name": "read", "arguments": {"x": 1e999}}', "read", "no JSON number"),
    ],
)
async def test_a_call_that_no_json_can_say_is_the_policys_malformed_call(
    opened: Opener, renderer: TemplateRenderer, sampled: str, name: str, reason: str
) -> None:
    engine = SeededEngine(vocabulary=400, text=says(renderer, f"<tool_call>\n{sampled}\n</tool_call>"))
    async with opened(engine, context_tokens=1 << 16) as place:
        answer = await place.ask(tools=TOOLS)
        (invalid,) = answer.model_extra["x_journeyman"]["invalid"]
        assert (invalid["name"], reason in invalid["reason"]) == (name, True)
        place.messages.append({"role": "tool", "content": "malformed", "tool_call_id": invalid["id"]})
        await place.ask(tools=TOOLS)
        assert place.slot.failure is None
        captured = await place.slot.close()
        seal_episode(place.directory, place.spec, captured)
    assert (captured.turns, captured.invalid_calls, captured.segments, captured.trainable) == (2, 2, 1, True)
    assert verify_episode(place.directory) is None


async def test_a_turn_that_its_reader_chokes_on_is_a_malformed_call(opened: Opener, tmp_path: Path) -> None:
    class Choking(TemplateRenderer):
        def parse(self, *_: Any) -> Any:
            raise KeyError("no such part")

    async with opened(SeededEngine(vocabulary=400), speaks=Choking(write_tiny_tokenizer(tmp_path / "t"))) as place:
        (invalid,) = (await place.ask(tools=TOOLS)).model_extra["x_journeyman"]["invalid"]
        assert place.slot.failure is None
        assert (await place.slot.close()).trainable
    assert invalid["reason"] == "KeyError"


def test_what_json_can_say_is_usable() -> None:
    assert unusable({"a": [1, 2.5, None, True, "\U0001f600", {"b": []}]}) == ""
    assert legible("a\ud83db") == "a\\ud83db"
    assert legible("\U0001f600") == "\U0001f600"


async def test_a_history_its_template_refuses_is_the_clients_and_fails_nothing(opened: Opener, tmp_path: Path) -> None:
    class Refusing(TemplateRenderer):
        def start(self, messages: Any, tools: Any) -> list[int]:
            if any(message["content"] == "unspeakable" for message in messages):
                raise RenderError("not this")
            return super().start(messages, tools)

    async with opened(SeededEngine(vocabulary=400), speaks=Refusing(write_tiny_tokenizer(tmp_path / "t"))) as place:
        with pytest.raises(openai.BadRequestError, match="not this"):
            await place.ask([{"role": "user", "content": "unspeakable"}])
        await place.ask()
        captured = await place.slot.close()
    assert (captured.turns, captured.failure, captured.trainable) == (1, None, True)


# -- a full disk


@contextmanager
def _no_file_beyond(size: int) -> Iterator[None]:
    """As on a disk with little room: a write that reaches so far is cut short, and the next one fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_piece_that_does_not_fit_is_cut_off_again(tmp_path: Path) -> None:
    log = AppendFile(tmp_path / "log")
    log.write(b"whole\n")
    with _no_file_beyond(10), pytest.raises(OSError, match="too large"):
        log.write(b"and more\n")
    assert (tmp_path / "log").read_bytes() == b"whole\n"
    log.write(b"again\n")
    log.close()
    assert (tmp_path / "log").read_bytes() == b"whole\nagain\n"


def test_ids_that_do_not_fit_are_in_no_column(tmp_path: Path) -> None:
    log = TokenLog(tmp_path)
    log.append([1, 2, 3])
    with _no_file_beyond(16), pytest.raises(OSError, match="too large"):
        log.append([4, 5])
    assert log.append([6]).start == 3
    log.close()
    assert read_tokens(tmp_path).ids.tolist() == [1, 2, 3, 6]


async def test_a_turn_that_the_disk_did_not_take_fails_the_episode_and_leaves_the_others_whole(
    opened: Opener, seeded: SeededEngine
) -> None:
    async with opened(seeded, resume=False) as place:
        await place.ask()
        place.tell("more")
        with _no_file_beyond((place.directory / "turns.jsonl").stat().st_size + 200):
            with pytest.raises(openai.InternalServerError) as caught:
                await place.ask()
        assert caught.value.code == "capture.disk"
        with pytest.raises(openai.InternalServerError, match="disk"):  # there is room again: it stays failed
            await place.ask()
        left = _left(place)
        captured = await place.slot.close()
        seal_episode(place.directory, place.spec, captured)
        assert verify_episode(place.directory) is None
        assert (captured.turns, captured.orphans, captured.trainable) == (1, 0, False)
        again = await _reopened(place, left).slot.close()
        seal_episode(left, place.spec, again)
    assert (again.turns, again.orphans, again.trainable) == (1, 0, False)
    assert verify_episode(left) is None


# -- what a kill must not make anybody forget


class Failing(SeededEngine):
    """Its second call raises."""

    async def sample(self, request: SampleRequest) -> AsyncIterator[SampleChunk]:
        if self.calls:
            raise RuntimeError("out of memory")
        async for chunk in super().sample(request):
            yield chunk


async def test_a_failure_is_on_record_after_a_kill_and_in_the_header(opened: Opener) -> None:
    async with opened(Failing(vocabulary=400, tokens=8), resume=False) as place:
        await place.ask()
        place.tell("more")
        with pytest.raises(openai.InternalServerError):
            await place.ask()
        left = _left(place)
        again = _reopened(place, left)
        assert isinstance(again.slot.failure, EngineFailure)
        captured = await again.slot.close()
        assert (left / FAILED).exists()  # a kill at this moment forgets nothing either
        seal_by_hand(left, place.spec, asdict(captured), engine={})
    assert not captured.trainable
    episode = SealedEpisode.open(left)
    assert (episode.episode.stop, episode.episode.failure) == (
        None,
        FailureCause(layer="engine", cause="RuntimeError", detail="out of memory"),
    )
    assert not (left / FAILED).exists()
    assert verify_episode(left) is None


async def test_an_episode_closed_in_order_and_not_sealed_before_the_kill_keeps_its_last_turn(
    opened: Opener, seeded: SeededEngine
) -> None:
    async with opened(seeded, resume=False) as place:
        await place.ask()
        await place.slot.close()
        again = await _reopened(place, _left(place)).slot.close()
    assert (again.turns, again.orphans) == (1, 0)


class TwoSpeeds(SeededEngine):
    """Slow for the run that opened second."""

    async def sample(self, request: SampleRequest) -> AsyncIterator[SampleChunk]:
        if request.lineage.endswith("#1.0"):
            await asyncio.sleep(0.15)
        async for chunk in super().sample(request):
            yield chunk


async def test_turns_recorded_out_of_order_before_a_kill_keep_ids_of_their_own(opened: Opener) -> None:
    async with opened(TwoSpeeds(vocabulary=400, tokens=8), resume=False) as place:
        told = [{"role": "user", "content": "hello"}]
        await place.ask(told)
        slow = asyncio.create_task(place.ask(told, headers={"X-Journeyman-Run": "slow"}))
        await asyncio.sleep(0.05)
        await place.ask(told, headers={"X-Journeyman-Run": "fast"})
        await slow
        left = _left(place)
        again = _reopened(place, left)
        await again.ask(told, headers={"X-Journeyman-Run": "third"})
        seal_episode(left, place.spec, await again.slot.close())
    assert [turn.turn_id for turn in SealedEpisode.open(left).turns] == ["~1", "~3", "~2", "~4"]
    assert verify_episode(left) is None


async def test_an_orphans_id_is_not_given_again_after_a_kill(opened: Opener, seeded: SeededEngine) -> None:
    async with opened(seeded, resume=False) as place:
        await place.ask()
        left = _left(place)
        line = json.loads((left / "turns.jsonl").read_text())
        line |= {"turn_id": "~7~0", "orphan": True, "trainable": False}
        (left / "turns.jsonl").write_text(json.dumps(line) + "\n")
        again = _reopened(place, left)
        assert (await again.ask()).model_extra["x_journeyman"]["turn_id"] == "~8"


# -- names are each run's own


@pytest.mark.parametrize("killed", [False, True])
async def test_two_runs_may_name_their_turns_alike(opened: Opener, seeded: SeededEngine, killed: bool) -> None:
    told = [{"role": "user", "content": "hello"}]
    root, child = {"X-Journeyman-Turn": "t1"}, {"X-Journeyman-Turn": "t1", "X-Journeyman-Run": "child"}
    async with opened(seeded, resume=False) as place:
        first = await place.ask(told, headers=root)
        second = await place.ask(told, headers=child)
        other = await place.ask([{"role": "user", "content": "else"}], headers=child | {"X-Journeyman-Turn": "t2"})
        at, calls = place, seeded.calls
        if killed:
            at = _reopened(place, _left(place))
        assert await at.ask(told, headers=root) == first
        assert await at.ask(told, headers=child) == second
        assert seeded.calls == calls == 3
        captured = await at.slot.close()
        seal_episode(at.directory, place.spec, captured)
    ids = [answer.model_extra["x_journeyman"]["turn_id"] for answer in (first, second, other)]
    assert ids == ["t1", "t1~r1", "t2"]
    assert [turn.turn_id for turn in SealedEpisode.open(at.directory).turns] == ids
    assert captured.runs == 2
    assert verify_episode(at.directory) is None
