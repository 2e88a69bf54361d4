"""One contract for every token-exact server, against fakes of their wire protocols in processes of their own."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from journeyman.engines.base import SampleChunk, SampleRequest
from journeyman.engines.connection import Connections, address_of
from journeyman.engines.fakes.policy import expected_routes
from journeyman.engines.fakes.server import FakeServer
from journeyman.engines.registry import engine_class
from journeyman.engines.routes import ExpertShape, RouteBook
from journeyman.engines.served import Adapter, ServedEngine, ServedOptions
from journeyman.engines.vllm import VLLMEngine
from journeyman.errors import EngineFailure, UserError
from journeyman.records.episode import Sampling

KINDS = ["sglang", "vllm"]
SHAPE = ExpertShape(layers=3, top_k=4, experts=64)
PROMPT = list(range(2000, 2040))


def ask(number: int = 0, prompt: list[int] | None = None, **more: Any) -> SampleRequest:
    fields: dict[str, Any] = {
        "episode": "e",
        "turn_id": f"t{number}",
        "lineage": f"l{number}",
        "prompt_ids": PROMPT if prompt is None else prompt,
        "seed": number,
        "sampling": Sampling(max_tokens=more.pop("max_tokens", 1000)),
        "stop_token_ids": (7,),
    }
    return SampleRequest(**(fields | more))


@dataclass
class Whole:
    ids: list[int]
    logprobs: list[float]
    versions: list[int]
    chunks: list[SampleChunk]

    @property
    def finish(self) -> str | None:
        return self.chunks[-1].finish_reason


async def read(engine: ServedEngine, request: SampleRequest) -> Whole:
    whole = Whole([], [], [], [])
    async for chunk in engine.sample(request):
        whole.chunks.append(chunk)
        whole.ids += chunk.ids
        whole.logprobs += chunk.logprobs
        whole.versions += chunk.versions
    return whole


@pytest.fixture(scope="module", params=KINDS)
def instant(request: pytest.FixtureRequest) -> Iterator[tuple[str, FakeServer]]:
    """A server that answers at once with 64 tokens."""
    with FakeServer(request.param, tokens=64, chunk=8) as server:
        yield request.param, server


@pytest.fixture(scope="module", params=KINDS)
def slow(request: pytest.FixtureRequest) -> Iterator[tuple[str, FakeServer]]:
    """A server that takes half a second for 50 tokens."""
    with FakeServer(request.param, tokens=50, chunk=2, seconds=0.5) as server:
        yield request.param, server


def client(kind: str, server: FakeServer, **options: Any) -> ServedEngine:
    engine: ServedEngine = engine_class(kind)(server.url, options=ServedOptions(experts=SHAPE, **options))
    return engine


def checkpoint(directory: Path, adapter: bool = False) -> Path:
    directory.mkdir()
    (directory / ("adapter_config.json" if adapter else "config.json")).write_text("{}")
    return directory


@pytest.mark.parametrize("incremental", [False, True])
async def test_ids_logprobs_and_versions_come_back_equally_long(
    instant: tuple[str, FakeServer], incremental: bool
) -> None:
    async with client(*instant) as engine:
        assert (engine.identity.token_exact, engine.identity.model) == (True, "fake-model")
        assert engine.identity.context_tokens == 262_144
        whole = await read(engine, ask(1, incremental=incremental))
        assert len(whole.ids) == len(whole.logprobs) == len(whole.versions) == 64
        assert (whole.ids[-1], whole.finish) == (7, "stop")
        assert set(whole.versions) == {0}
        assert all(value < 0 for value in whole.logprobs)
        assert len(whole.chunks) == (8 if incremental else 1)
        again = await read(engine, ask(1, incremental=not incremental))
        assert again.ids == whole.ids


async def test_a_turn_is_cut_at_max_tokens(instant: tuple[str, FakeServer]) -> None:
    async with client(*instant) as engine:
        whole = await read(engine, ask(max_tokens=5))
        assert (len(whole.ids), whole.finish) == (5, "length")


async def test_the_exact_prompt_reaches_the_server_however_a_lineage_grows_or_changes(
    instant: tuple[str, FakeServer],
) -> None:
    """The fake's routes are a function of every id and its position, so a wrong id anywhere shows."""
    first, longer, other = PROMPT, [*PROMPT, 5, 6, 7], [9, *PROMPT[1:30]]
    async with client(*instant) as engine:
        for prompt in (first, longer, other, longer, first):
            whole = await read(engine, ask(prompt=prompt, lineage="one", routes_from=0))
            routes = whole.chunks[-1].routes
            assert routes is not None
            ids = np.array([*prompt, *whole.ids[:-1]])
            assert (routes.array() == expected_routes(ids, 3, 4, 64)).all()


async def test_routed_experts_of_a_conversation_cover_every_position(instant: tuple[str, FakeServer]) -> None:
    async with client(*instant) as engine:
        book, prompt = RouteBook(SHAPE), list(PROMPT)
        for turn in range(3):
            whole = await read(engine, ask(turn, prompt=prompt, routes_from=book.rows, incremental=turn == 1))
            routes = whole.chunks[-1].routes
            assert routes is not None
            assert (routes.start, routes.shape.dtype) == (book.rows, "uint8")
            book.add(routes)
            prompt = [*prompt, *whole.ids, 3, 4]
        segment = np.array(prompt[:-2])
        assert (book.covered(len(segment)) == expected_routes(segment[:-1], 3, 4, 64)).all()
        with pytest.raises(EngineFailure, match="rows for a segment"):
            book.covered(len(segment) + 1)


FAULTS = {
    "http_500": "http_500",
    "short_logprobs": "lengths",
    "nan_logprob": "logprobs",
    "null_logprob": "logprobs",
    "no_version": "weight_version",
    "foreign_version": "weight_version",
    "version_gap": "weight_version",
    "shifted_logprobs": "token_data",
    "missing_routes": "routes",
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_unusable_answers_are_failures_that_name_the_cause_and_nothing_is_sampled_twice(
    instant: tuple[str, FakeServer], fault: str
) -> None:
    kind, server = instant
    async with client(kind, server) as engine:
        before = server.state()["calls"]
        server.order(fault)
        with pytest.raises(EngineFailure) as caught:
            await read(engine, ask(routes_from=0))
        assert caught.value.cause == FAULTS[fault]
        assert server.state()["calls"] - before == (0 if fault == "http_500" else 1)
        assert (await read(engine, ask())).finish == "stop"  # and the engine goes on


@pytest.mark.parametrize(("fault", "incremental"), [("truncated_stream", True), ("truncated_body", False)])
async def test_a_reply_that_breaks_off_is_a_failure(
    instant: tuple[str, FakeServer], fault: str, incremental: bool
) -> None:
    kind, server = instant
    async with client(kind, server) as engine:
        before = server.state()["calls"]
        server.order(fault)
        with pytest.raises(EngineFailure, match=r"truncated|not_json"):
            await read(engine, ask(incremental=incremental))
        assert server.state()["calls"] == before + 1


async def test_a_server_too_busy_to_begin_is_asked_again(instant: tuple[str, FakeServer]) -> None:
    kind, server = instant
    async with client(kind, server) as engine:
        before = server.state()["calls"]
        server.order("busy")
        assert (await read(engine, ask())).finish == "stop"
        assert engine.server.retried == 1
        assert server.state()["calls"] == before + 1


@pytest.mark.parametrize("incremental", [False, True])
@pytest.mark.parametrize("keep", [False, True])
async def test_a_refresh_in_flight_keeps_the_call_open_and_splits_its_versions(
    slow: tuple[str, FakeServer], tmp_path: Path, incremental: bool, keep: bool
) -> None:
    async with client(*slow, pause_mode="keep" if keep else "recompute") as engine:
        await engine.load_weights(checkpoint(tmp_path / "a"), 3)
        call = asyncio.create_task(read(engine, ask(incremental=incremental)))
        await asyncio.sleep(0.2)
        await engine.load_weights(checkpoint(tmp_path / "b"), 4)
        whole = await call
        assert (len(whole.ids), whole.finish) == (50, "stop")
        assert whole.versions == sorted(whole.versions)
        assert set(whole.versions) == {3, 4}
        assert set((await read(engine, ask(1, max_tokens=2))).versions) == {4}


@pytest.mark.parametrize("incremental", [False, True])
async def test_a_lora_refresh_labels_each_token_with_the_adapter_that_sampled_it(
    slow: tuple[str, FakeServer], tmp_path: Path, incremental: bool
) -> None:
    """SGLang ends calls on the adapter they began with; vLLM swaps it under them. Both say so per token."""
    kind, server = slow
    async with client(kind, server) as engine:
        base = (await read(engine, ask(max_tokens=2))).versions[0]
        early = asyncio.create_task(read(engine, ask(4, incremental=incremental)))
        await asyncio.sleep(0.1)
        await engine.load_weights(checkpoint(tmp_path / "a", adapter=True), 11)
        middle = asyncio.create_task(read(engine, ask(5, incremental=incremental)))
        await asyncio.sleep(0.2)
        await engine.load_weights(checkpoint(tmp_path / "b", adapter=True), 12)
        assert set((await early).versions) == {base}
        assert set((await middle).versions) == ({11} if kind == "sglang" else {11, 12})
        assert set((await read(engine, ask(6, max_tokens=2))).versions) == {12}
        await asyncio.sleep(0.05)
        assert list(server.state()["adapters"].values()) == [str(tmp_path / "b")]
        await engine.load_weights(checkpoint(tmp_path / "full"), 13)  # and back to full weights
        assert set((await read(engine, ask(7, max_tokens=2))).versions) == {13}
        if isinstance(engine, VLLMEngine):
            engine.adapter = Adapter("policy", 12)
            await engine.unload()
        await asyncio.sleep(0.05)
        assert server.state()["adapters"] == {}


async def test_a_pause_holds_open_calls_until_it_is_over(slow: tuple[str, FakeServer]) -> None:
    async with client(*slow) as engine:
        call = asyncio.create_task(read(engine, ask(2)))
        await asyncio.sleep(0.1)
        await engine.pause()
        done, _ = await asyncio.wait({call}, timeout=0.7)
        assert not done
        await engine.resume()
        assert len((await call).ids) == 50


async def test_weights_that_cannot_be_read_leave_the_old_ones_serving(
    instant: tuple[str, FakeServer], tmp_path: Path
) -> None:
    async with client(*instant) as engine:
        version = (await read(engine, ask())).versions[0]
        with pytest.raises(EngineFailure, match="weights_unreadable"):
            await engine.load_weights(checkpoint(tmp_path / "missing"), 9)
        assert set((await read(engine, ask())).versions) == {version}
        with pytest.raises(UserError, match=r"adapter_config\.json"):
            await engine.load_weights(tmp_path, 9)


@pytest.mark.parametrize("incremental", [False, True])
async def test_leaving_a_call_aborts_it_in_the_server(slow: tuple[str, FakeServer], incremental: bool) -> None:
    kind, server = slow
    async with client(kind, server) as engine:
        before = server.state()["aborts"]
        others = asyncio.create_task(read(engine, ask(8)))
        call = asyncio.create_task(read(engine, ask(3, incremental=incremental)))
        await asyncio.sleep(0.15)
        call.cancel()
        await asyncio.wait({call})
        await asyncio.sleep(0.15)
        state = server.state()
        assert (state["aborts"], state["open"]) == (before + 1, 1)
        assert (await others).finish == "stop"


async def test_calls_whose_own_distribution_cannot_be_reported_are_refused(instant: tuple[str, FakeServer]) -> None:
    kind, server = instant
    narrow = Sampling(temperature=0.7, top_p=0.9, max_tokens=4)
    async with client(kind, server) as engine:
        before = server.state()["calls"]
        with pytest.raises(EngineFailure, match=r"logprobs.*as_served"):
            await read(engine, ask(sampling=narrow))
        assert server.state()["calls"] == before
        if kind == "sglang":  # whose truncated distribution is reported where top_k bounds it
            whole = await read(engine, ask(sampling=narrow.model_copy(update={"top_k": 20})))
            assert whole.logprobs == [0.0] * 4
    async with client(kind, server, logprobs="as_served") as engine:
        assert len((await read(engine, ask(sampling=narrow))).logprobs) == 4


async def test_sglang_streams_are_read_alike_whether_they_repeat_what_was_sent_or_not() -> None:
    engine_of = engine_class("sglang")
    with FakeServer("sglang", tokens=20, chunk=6) as whole, FakeServer("sglang", tokens=20, chunk=6, deltas=1) as parts:
        async with engine_of(whole.url) as one, engine_of(parts.url) as other:
            cumulative, incremental = [await read(e, ask(5, incremental=True)) for e in (one, other)]
            assert cumulative == incremental
            assert (len(incremental.ids), len(incremental.chunks)) == (20, 4)


async def test_vllm_says_itself_that_its_logprobs_are_of_what_it_sampled() -> None:
    with FakeServer("vllm", tokens=4, logprobs_mode="processed_logprobs") as server:
        async with VLLMEngine(server.url) as engine:
            assert len((await read(engine, ask(sampling=Sampling(temperature=0.7, top_p=0.9)))).ids) == 4
        with pytest.raises(UserError, match="does not serve 'another': it serves fake-model"):
            await VLLMEngine(server.url, model="another").connect()


async def test_vllm_weights_that_could_not_be_labelled_sample_nothing_until_others_are(tmp_path: Path) -> None:
    with FakeServer("vllm", tokens=4) as server:
        async with VLLMEngine(server.url) as engine:
            server.order("no_label")
            with pytest.raises(EngineFailure, match="http_500"):
                await engine.load_weights(checkpoint(tmp_path / "a"), 3)
            with pytest.raises(EngineFailure, match="load weights again"):
                await read(engine, ask())
            assert not server.state()["paused"]
            await engine.load_weights(checkpoint(tmp_path / "b"), 4)
            assert set((await read(engine, ask())).versions) == {4}


async def test_many_calls_share_connections_and_keep_their_answers(instant: tuple[str, FakeServer]) -> None:
    async with client(*instant) as engine:
        alone = [await read(engine, ask(n)) for n in range(12)]
        together = await asyncio.gather(*(read(engine, ask(n)) for n in range(12)))
        assert [w.ids for w in together] == [w.ids for w in alone]


async def test_an_absent_server_is_the_users_to_start(unused_tcp_port: int) -> None:
    for kind in KINDS:
        engine = engine_class(kind)(f"http://127.0.0.1:{unused_tcp_port}", options=ServedOptions(attempts=1))
        with pytest.raises(UserError, match=r"unreachable.*start it first"):
            await engine.connect()
        with pytest.raises(UserError, match="address"):
            engine_class(kind)("localhost:1")


NO_ADDRESS = {
    "junk": "is not the address",
    "http://[bad": "Invalid IPv6 URL",
    "http://127.0.0.1:99999": "Port out of range",
    "http://127.0.0.1:x": "is not the address",
    "http://127.0.0.1:1/a b": "is not the address",
    "file:///etc/passwd": "is not the address",
}


@pytest.mark.parametrize(("url", "said"), NO_ADDRESS.items())
def test_what_is_no_address_is_said_with_how_to_write_one(url: str, said: str) -> None:
    with pytest.raises(UserError, match=r"write it as http://127\.0\.0\.1:30000$") as refused:
        address_of(url)
    assert repr(url) in str(refused.value)
    assert said in str(refused.value)


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(UserError, match=r"^the address of host:1 holds a user or password") as refused:
        address_of("http://me:secret@host:1")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("host", ["a..b", "a" * 80])
async def test_a_host_that_cannot_be_one_is_unreachable(host: str) -> None:
    with pytest.raises(EngineFailure, match="unreachable"):
        await Connections(f"http://{host}:1", attempts=1).call("GET", "/health")
