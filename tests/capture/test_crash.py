"""A gateway killed at any moment loses no turn that it had acknowledged."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import aiohttp
import numpy as np
import pytest

SERVE = """
import asyncio, sys
from pathlib import Path
from journeyman.capture.server import Gateway
from journeyman.engines.scripted import SeededEngine
from journeyman.records.episode import EpisodeSpec
from journeyman.tokens.template import TemplateRenderer
from journeyman.tokens.tiny import write_tiny_tokenizer

async def main(home):
    renderer = TemplateRenderer(write_tiny_tokenizer(home / "tokenizer"))
    async with Gateway(SeededEngine(vocabulary=400, tokens=16), renderer, socket_dir=home) as gateway:
        spec = EpisodeSpec(job="j", policy="p", task="t", group="g", attempt=0)
        slot = gateway.open(spec, home / "episode", 1 << 20)
        (home / "key.part").write_text(slot.key)
        (home / "key.part").rename(home / "key")
        await asyncio.sleep(60)

asyncio.run(main(Path(sys.argv[1])))
"""


async def _talk(home: Path, process: "subprocess.Popen[bytes]", kill_after: float) -> list[tuple[str, int]]:
    """Ask until the gateway dies; returns (turn id, total tokens) of every acknowledged turn."""
    told: list[tuple[str, int]] = []
    messages: list[dict[str, object]] = [{"role": "user", "content": "hello"}]
    connector = aiohttp.UnixConnector(path=str(home / "gateway.sock"))
    headers = {"Authorization": f"Bearer {(home / 'key').read_text()}"}
    started = time.monotonic()
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
        while True:
            if time.monotonic() - started > kill_after and process.poll() is None:
                os.kill(process.pid, signal.SIGKILL)
            try:
                async with session.post("http://g/v1/chat/completions", json={"messages": messages}) as response:
                    answer = await response.json()
            except (aiohttp.ClientError, OSError):
                return told
            told.append((answer["x_journeyman"]["turn_id"], answer["usage"]["total_tokens"]))
            messages += [answer["choices"][0]["message"], {"role": "user", "content": "and then"}]


@pytest.mark.parametrize("kill_after", [0.05, 0.21, 0.4])
async def test_every_acknowledged_turn_is_on_disk_after_kill_9(tmp_path: Path, kill_after: float) -> None:
    process = subprocess.Popen([sys.executable, "-c", SERVE, str(tmp_path)])
    try:
        for _ in range(400):
            if (tmp_path / "key").exists():
                break
            time.sleep(0.025)
        told = await _talk(tmp_path, process, kill_after)
    finally:
        process.kill()
        process.wait()
    assert told
    episode = tmp_path / "episode"
    lines = [
        json.loads(line)
        for line in (episode / "turns.jsonl").read_bytes().splitlines(keepends=True)
        if line.endswith(b"\n")
    ]
    held = min((episode / name).stat().st_size // 4 for name in ("tokens.i32", "logprobs.f32", "versions.i32"))
    on_disk = {turn["turn_id"]: turn for turn in lines}
    for turn_id, total in told:
        turn = on_disk[turn_id]
        assert turn["prompt_tokens"] + turn["sampled"]["end"] - turn["sampled"]["start"] == total
        assert turn["sampled"]["end"] <= held
    last = on_disk[told[-1][0]]
    assert len(np.fromfile(episode / "tokens.i32", dtype="<i4")) >= last["sampled"]["end"]
