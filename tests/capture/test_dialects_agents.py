"""Agents as their makers ship them, in front of the gateway: a tool loop is one segment, exact to the token.

They are installed by npm into a directory of the test's own. Where npm or the package cannot be had, the test is
skipped and says which.
"""

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from journeyman.capture.verify import verify_episode
from journeyman.engines.embedded.client import POLICY
from journeyman.engines.scripted import ScriptedEngine, SeededEngine
from journeyman.tokens.base import Message
from journeyman.tokens.template import TemplateRenderer

from .speakers import Room, call, replies, room

pytestmark = pytest.mark.slow

TASK = "Read notes.txt, count its bytes, then write answer.txt."
SECONDS = 90.0


@dataclass(frozen=True)
class Agent:
    """One program: where it comes from, how it is pointed at a gateway, and what its tools are called."""

    package: str
    binary: str
    arguments: tuple[str, ...]  # before the task
    environment: Callable[[Room], dict[str, str]]
    configure: Callable[[Room, Path], None]  # writes into the agent's home
    read: Callable[[Path], dict[str, Any]]  # its calls, given the working directory
    count: Callable[[Path], dict[str, Any]]
    write: Callable[[Path], dict[str, Any]]
    spawn: Callable[[str], dict[str, Any]] | None = None  # hands work over; None: this agent has no subagents


def _claude_environment(place: Room) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": place.slot.url,
        "ANTHROPIC_AUTH_TOKEN": place.slot.key,
        "ANTHROPIC_MODEL": "policy",
        "CLAUDE_CODE_EFFORT_LEVEL": "unset",  # the gateway refuses what it cannot honour
        "CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "ENABLE_TOOL_SEARCH": "false",  # else tools come and go
    }


def _codex_configuration(place: Room, home: Path) -> None:
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text(
        f"""model = "policy"
model_provider = "gateway"
web_search = "disabled"
[model_providers.gateway]
name = "gateway"
base_url = "{place.slot.url}/v1"
env_key = "GATEWAY_KEY"
wire_api = "responses"
"""
    )


def _pi_configuration(place: Room, home: Path) -> None:
    provider = {
        "baseUrl": f"{place.slot.url}/v1",
        "api": "openai-completions",
        "apiKey": place.slot.key,
        "models": [{"id": "policy"}],
    }
    (home / ".pi" / "agent").mkdir(parents=True)
    (home / ".pi" / "agent" / "models.json").write_text(json.dumps({"providers": {"gateway": provider}}))


AGENTS = {
    "messages": Agent(
        package="@anthropic-ai/claude-code@2.1.332",
        binary="claude",
        arguments=("--allowedTools", "Bash,Read,Write", "-p"),
        environment=_claude_environment,
        configure=lambda place, home: None,
        read=lambda work: call("Read", file_path=str(work / "notes.txt")),
        count=lambda work: call("Bash", command="wc -c notes.txt", description="count bytes"),
        write=lambda work: call("Write", file_path=str(work / "answer.txt"), content="answer: 42\n"),
        spawn=lambda task: call(
            "Agent", description="look", prompt=task, subagent_type="general-purpose", run_in_background=False
        ),
    ),
    "responses": Agent(
        package="@openai/codex@0.171.0",
        binary="codex",
        arguments=("exec", "--skip-git-repo-check", "--sandbox", "danger-full-access"),
        environment=lambda place: {"GATEWAY_KEY": place.slot.key},
        configure=_codex_configuration,
        read=lambda work: call("exec_command", cmd="cat notes.txt"),
        count=lambda work: call("exec_command", cmd="wc -c notes.txt"),
        write=lambda work: call("exec_command", cmd="echo answer: 42 > answer.txt"),
        spawn=lambda task: call("multi_agent_v1__spawn_agent", message=task),
    ),
    "chat": Agent(
        package="@mariozechner/pi-coding-agent@0.73.1",
        binary="pi",
        arguments=("--offline", "--no-session", "--provider", "gateway", "--model", "policy", "-p"),
        environment=lambda place: {},
        configure=_pi_configuration,
        read=lambda work: call("read", path="notes.txt"),
        count=lambda work: call("bash", command="wc -c notes.txt"),
        write=lambda work: call("write", path="answer.txt", content="answer: 42\n"),
    ),
}


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """`installed(package)`: the directory of its programs."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed: agents cannot be had")
    directory = tmp_path_factory.mktemp("npm")

    def install(package: str) -> Path:
        prefix = directory / package.replace("/", "_")
        command = [npm, "install", "--prefix", str(prefix), "--no-audit", "--no-fund", package]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode:
            pytest.skip(f"npm could not install {package}: {done.stderr.strip()[-200:]}")
        return prefix / "node_modules" / ".bin"

    return install


async def _run(agent: Agent, programs: Path, place: Room, home: Path, work: Path) -> str:
    """Let the agent work on the task; returns what it printed."""
    agent.configure(place, home)
    process = await asyncio.create_subprocess_exec(
        *(str(programs / agent.binary), *agent.arguments, TASK),
        env={"PATH": os.environ["PATH"], "HOME": str(home), **agent.environment(place)},
        cwd=work,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()
        raise
    assert process.returncode == 0, output.decode()
    return output.decode()


def _places(tmp_path: Path) -> tuple[Path, Path]:
    """A home and a working directory with the file of the task."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    (work / "notes.txt").write_text("the answer is 42\n")
    return home, work


@pytest.mark.parametrize("dialect", AGENTS)
async def test_an_agents_tool_loop_is_one_segment_exact_to_the_token(
    tmp_path: Path, installed: Callable[[str], Path], dialect: str
) -> None:
    agent = AGENTS[dialect]
    programs = installed(agent.package)
    home, work = _places(tmp_path)
    renderer = TemplateRenderer(POLICY)
    prompts: list[list[int]] = []
    said = replies(
        renderer,
        {"content": "reading", "tool_calls": [agent.read(work), agent.count(work)]},
        {"tool_calls": [agent.write(work)]},
        "the answer is written",
        prompts=prompts,
    )
    engine = SeededEngine(vocabulary=400, text=said, chunk=4)
    async with room(tmp_path, engine, renderer, context_tokens=131_072) as place:
        printed = await _run(agent, programs, place, home, work)
        episode = await place.sealed()
    assert "the answer is written" in printed
    assert (work / "answer.txt").read_text() == "answer: 42\n"
    assert [(s.opened_by, s.trainable, s.untrainable_reason) for s in episode.segments] == [("start", True, "")]
    tokens = episode.segment_tokens(0, 0)
    for turn, prompt in zip(episode.turns, prompts, strict=True):
        assert tokens.ids[: turn.prompt_tokens].tolist() == prompt
    assert tokens.mask.sum() == sum(t.sampled.end - t.sampled.start for t in episode.turns)
    told = [m["content"] for m in episode.turns[1].new_messages if m["role"] == "tool"]
    assert "the answer is 42" in told[0]
    assert "17" in told[1]
    assert verify_episode(place.directory) is None


@pytest.mark.parametrize("dialect", [name for name, agent in AGENTS.items() if agent.spawn])
async def test_an_agents_parallel_subagents_are_trajectories_of_their_own(
    tmp_path: Path, installed: Callable[[str], Path], dialect: str
) -> None:
    agent = AGENTS[dialect]
    programs = installed(agent.package)
    home, work = _places(tmp_path)
    parts = ("look closely at part one", "look closely at part two")

    def script(episode: str, messages: Sequence[Message]) -> dict[str, Any]:
        said = "\n".join(m["content"] for m in messages if m["role"] == "user")
        results = [m["content"] for m in messages if m["role"] == "tool"]
        if TASK not in said:
            return {"content": "seen"} if results else {"content": "", "tool_calls": [agent.count(work)]}
        if not results and agent.spawn is not None:
            return {"content": "", "tool_calls": [agent.spawn(part) for part in parts]}
        if dialect == "responses" and len(results) == len(parts):  # Codex waits by a call of its own
            ids = [json.loads(text)["agent_id"] for text in results]
            return {"content": "", "tool_calls": [call("multi_agent_v1__wait_agent", targets=ids, timeout_ms=20_000)]}
        return {"content": "all is seen"}

    engine = ScriptedEngine(script)
    async with room(tmp_path, engine, TemplateRenderer(POLICY), context_tokens=131_072) as place:
        printed = await _run(agent, programs, place, home, work)
        episode = await place.sealed()
    assert "all is seen" in printed
    assert [(s.opened_by, s.trainable, s.untrainable_reason) for s in episode.segments] == [("start", True, "")] * 3
    first = episode.turns[0]
    children = [run for run in episode.runs if run.run]
    assert [(run.parent, run.fork_turn) for run in children] == [(0, first.turn_id)] * 2
    assert {run.handoff_event for run in children} == {c["id"] for c in first.message["tool_calls"]}
    assert verify_episode(place.directory) is None


async def test_codexs_compaction_is_a_declared_summary_of_the_policys_own(
    tmp_path: Path, installed: Callable[[str], Path]
) -> None:
    agent = AGENTS["responses"]
    programs = installed(agent.package)
    home, work = _places(tmp_path)

    def configure(place: Room, home: Path) -> None:
        _codex_configuration(place, home)
        config = home / ".codex" / "config.toml"
        config.write_text("model_auto_compact_token_limit = 10000\n" + config.read_text())

    def script(episode: str, messages: Sequence[Message]) -> dict[str, Any]:
        said = [m["content"] for m in messages if m["role"] == "user"]
        if "CONTEXT CHECKPOINT" in said[-1]:
            return {"content": "notes.txt is read; answer.txt is still to be written"}
        if any("Another language model" in text for text in said):
            return {"content": "all is done"}
        if any(m["role"] == "tool" for m in messages):
            return {"content": "it was not compacted"}
        return {"content": "", "tool_calls": [call("exec_command", cmd="seq 4000")]}

    engine = ScriptedEngine(script)
    async with room(tmp_path, engine, TemplateRenderer(POLICY), context_tokens=131_072) as place:
        printed = await _run(replace(agent, configure=configure), programs, place, home, work)
        episode = await place.sealed()
    assert "all is done" in printed
    assert [(s.opened_by, s.summary_by, s.trainable) for s in episode.segments] == [
        ("start", None, True),
        ("tools_changed", None, True),  # it summarises without tools
        ("summary", "policy", True),
    ]
    assert verify_episode(place.directory) is None
