"""Episodes can be opened and closed by HTTP, under a key that is no episode's, and nothing secret is written down."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from journeyman.capture.server import Gateway
from journeyman.engines.scripted import SeededEngine
from journeyman.records.episode import EpisodeSpec
from journeyman.tokens.template import TemplateRenderer

SPEC = EpisodeSpec(job="job", policy="p", task="t", group="g", attempt=0)
Ask = Any


@pytest.fixture
async def gateway(tmp_path: Path, renderer: TemplateRenderer, seeded: SeededEngine) -> AsyncIterator[Gateway]:
    async with Gateway(seeded, renderer, admin_root=tmp_path / "job") as gateway:
        yield gateway


async def _ask(gateway: Gateway, method: str, path: str, key: str, body: Any = None) -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {key}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        async with session.request(method, gateway.url + path, json=body) as response:
            return response.status, await response.json()


def _admin(gateway: Gateway) -> str:
    assert gateway.admin is not None
    return gateway.admin.key


async def test_an_episode_is_opened_used_and_closed_by_http(gateway: Gateway, tmp_path: Path) -> None:
    spec = SPEC.model_dump(mode="json")
    status, opened = await _ask(gateway, "POST", "/admin/episodes", _admin(gateway), {"spec": spec})
    assert (status, opened["episode"]) == (200, SPEC.id)
    assert opened["directory"] == str(tmp_path / "job" / "episodes" / SPEC.key)
    status, listed = await _ask(gateway, "GET", "/admin/episodes", _admin(gateway))
    assert listed["episodes"] == [SPEC.id]
    assert opened["key"] not in str(listed)
    chat = {"messages": [{"role": "user", "content": "hello"}]}
    assert (await _ask(gateway, "POST", "/v1/chat/completions", opened["key"], chat))[0] == 200
    assert (await _ask(gateway, "POST", "/admin/episodes", _admin(gateway), {"spec": spec}))[0] == 409
    closing = {"episode": SPEC.id}
    status, captured = await _ask(gateway, "POST", "/admin/episodes/close", _admin(gateway), closing)
    assert (status, captured["turns"], captured["failure"]) == (200, 1, None)
    assert (await _ask(gateway, "POST", "/v1/chat/completions", opened["key"], chat))[0] == 401
    assert (await _ask(gateway, "POST", "/admin/episodes/close", _admin(gateway), closing))[0] == 404


async def test_an_episode_that_a_killed_gateway_left_is_gone_on_with_by_http(
    gateway: Gateway, renderer: TemplateRenderer, seeded: SeededEngine, tmp_path: Path
) -> None:
    spec = {"spec": SPEC.model_dump(mode="json")}
    directory = tmp_path / "job" / "episodes" / SPEC.key
    async with Gateway(seeded, renderer) as earlier:
        slot = earlier.open(SPEC, directory, 4096, resume=False)
        chat = {"messages": [{"role": "user", "content": "hello"}]}
        assert (await _ask(earlier, "POST", "/v1/chat/completions", slot.key, chat))[0] == 200
        left = {path.name: path.read_bytes() for path in directory.iterdir()}
    for name, data in left.items():
        (directory / name).write_bytes(data)
    status, answer = await _ask(gateway, "POST", "/admin/episodes", _admin(gateway), spec)
    assert (status, answer["error"]["code"]) == (500, "capture.already_recorded")
    status, _ = await _ask(gateway, "POST", "/admin/episodes", _admin(gateway), spec | {"resume": True})
    assert status == 200
    closing = {"episode": SPEC.id}
    assert (await _ask(gateway, "POST", "/admin/episodes/close", _admin(gateway), closing))[1]["turns"] == 1


async def test_the_two_kinds_of_keys_do_not_open_each_others_doors(gateway: Gateway, tmp_path: Path) -> None:
    slot = gateway.open(SPEC, tmp_path / "e", 4096)
    for method, path in (("GET", "/admin/episodes"), ("POST", "/admin/weights"), ("POST", "/admin/episodes/close")):
        assert (await _ask(gateway, method, path, slot.key, {}))[0] == 401
    chat = {"messages": [{"role": "user", "content": "hello"}]}
    assert (await _ask(gateway, "POST", "/v1/chat/completions", _admin(gateway), chat))[0] == 401


async def test_a_gateway_without_an_admin_root_has_no_admin_routes(
    renderer: TemplateRenderer, seeded: SeededEngine
) -> None:
    async with Gateway(seeded, renderer) as gateway, aiohttp.ClientSession() as session:
        async with session.get(gateway.url + "/admin/episodes") as response:
            assert (gateway.admin, response.status) == (None, 404)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"spec": {"job": "job"}},
        {"spec": SPEC.model_dump(mode="json") | {"job": "other"}},
        {"spec": SPEC.model_dump(mode="json") | {"task": ".."}},
        {"spec": SPEC.model_dump(mode="json") | {"group": "a/b"}},
        {"spec": SPEC.model_dump(mode="json"), "context_tokens": "many"},
    ],
)
async def test_what_is_no_episode_of_this_job_is_refused(gateway: Gateway, body: Any, tmp_path: Path) -> None:
    status, answer = await _ask(gateway, "POST", "/admin/episodes", _admin(gateway), body)
    assert (status, answer["error"]["code"]) == (400, "invalid_request")
    assert not (tmp_path / "job").exists()


async def test_weights_are_loaded_by_http(gateway: Gateway, seeded: SeededEngine) -> None:
    answer = await _ask(gateway, "POST", "/admin/weights", _admin(gateway), {"path": "x", "version": 3})
    assert answer == (200, {"version": 3})
    assert seeded.version == 3


async def test_no_key_is_logged_or_recorded(gateway: Gateway, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    slot = gateway.open(SPEC, tmp_path / "e", 4096)
    good = {"messages": [{"role": "user", "content": "hello"}]}
    for body in (good, {"messages": "oops"}, good | {"n": 7}):
        await _ask(gateway, "POST", "/v1/chat/completions", slot.key, body)
    await _ask(gateway, "POST", "/admin/episodes", _admin(gateway), {"spec": {}})
    await slot.close()
    kept = b"".join(path.read_bytes() for path in (tmp_path / "e").rglob("*") if path.is_file()).decode("latin-1")
    for key in (slot.key, _admin(gateway)):
        assert key not in caplog.text
        assert key not in kept


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("", b"[" * 100_000, "nested deeper"),
        ("", b"\xff", "not JSON"),
        ("", b"[]", "body"),
        ("", b'{"spec": 1}', "spec"),
        ("", {"task": "t" * 300}, "spec.task='ttt"),
        ("", {"task": "two\nlines"}, r"spec.task='two\nlines'"),
        ("", {"group": ".."}, "spec.group='..'"),
        ("", {"attempt": -1}, "attempt -1"),
        ("", {"more": 1}, "spec.more"),
        ("", {"context_tokens": True}, "context_tokens"),
        ("", {"resume": "yes"}, "resume"),
        ("", {"to": "come"}, "to"),
        ("/weights", b'{"path": "x", "version": true}', "version"),
        ("/weights", b'{"path": "x", "version": -5}', "version"),
        ("/weights", b'{"path": "x", "version": 3000000000}', "version"),
    ],
    ids=str,
)
async def test_what_a_driver_may_not_ask_is_refused_by_name(gateway: Gateway, path: str, body: Any, said: str) -> None:
    if isinstance(body, dict):
        of_spec = EpisodeSpec.model_fields.keys() | {"more"}
        spec = SPEC.model_dump(mode="json") | {name: v for name, v in body.items() if name in of_spec}
        body = json.dumps({"spec": spec} | {name: v for name, v in body.items() if name not in of_spec}).encode()
    place = path or "/episodes"
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {_admin(gateway)}"}) as session:
        async with session.post(f"{gateway.url}/admin{place}", data=body) as response:
            told = (await response.json())["error"]["message"]
    assert response.status == 400
    assert said in told
    assert "\n" not in told


async def _typed(gateway: Gateway, text: bytes) -> bytes:
    host, port = gateway.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(text)
    answer = await reader.read()
    writer.close()
    return answer


async def test_what_is_no_http_is_one_line_of_log_without_what_was_sent(
    gateway: Gateway, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    key = gateway.open(SPEC, tmp_path / "e", 4096).key.encode()
    for text in (
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization Bearer " + key + b"\r\n\r\n",
        b"GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + key + b"\x00\r\n\r\n",
        b"GET /v1/models?" + key + b" SPEECH/9\r\n\r\n",
    ):
        assert b" 400 " in (await _typed(gateway, text)).splitlines()[0]
    assert caplog.records
    assert key.decode() not in caplog.text
    assert all(len(line) < 200 and "Traceback" not in line for line in caplog.text.splitlines())
    answer = await _typed(
        gateway,
        b"GET /admin/episodes HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer \xff\xfe\r\n\r\n",
    )
    assert b" 401 " in answer.splitlines()[0]
