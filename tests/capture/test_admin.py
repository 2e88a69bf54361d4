"""Episodes can be opened and closed by HTTP, under a key that is no episode's, and nothing secret is written down."""

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
