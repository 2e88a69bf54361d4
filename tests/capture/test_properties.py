"""Whatever a client does with its history: the engine saw what is on record, sampled ids stay, and masks are exact."""

import asyncio
import random
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journeyman.capture.dialects.chat import ChatDialect
from journeyman.capture.recorder import Captured, Recorder
from journeyman.capture.segments import Declared
from journeyman.capture.slot import Ask, Slot, Terms
from journeyman.capture.verify import verify_episode
from journeyman.engines.base import SampleRequest
from journeyman.engines.scripted import SeededEngine
from journeyman.records.episode import EpisodeSpec, Sampling
from journeyman.records.turn import Turn
from journeyman.store.sealed import SealedEpisode
from journeyman.tokens.template import TemplateRenderer

from .conftest import TOOLS, seal_episode

SPEC = EpisodeSpec(job="j", policy="p", task="t", group="g", attempt=0)
CHAT = ChatDialect()
CALL = '<tool_call>\n{"name": "read", "arguments": {"b": 1, "a": "x"}}\n</tool_call>'
_READ = {"id": "c", "name": "read", "arguments": {"b": 1, "a": "x"}, "raw": ""}
MESSAGES: tuple[dict[str, Any], ...] = (
    {"role": "assistant", "content": "hello the report"},
    {"role": "assistant", "content": "I read it.", "tool_calls": [_READ]},
    {"role": "assistant", "content": "", "tool_calls": [_READ, _READ]},
    {"role": "assistant", "content": "two\n\nlines  <|im_end|>"},
)
SAYINGS = ("hello the report", "yes", "I read it.\n" + CALL, CALL + "\n" + CALL, "held hell yellow", "<tool_call>{oops")
STEPS = st.sampled_from(["append", "append", "respell", "rewind", "edit", "tools", "summary", "child", "cut", "begin"])


class Sampled(NamedTuple):
    """What the engine was asked and what it drew."""

    prompt: list[int]
    ids: list[int]


class Talk:
    """A client with a history, at a slot."""

    def __init__(self, home: Path, renderer: TemplateRenderer, seed: int, canonical: bool) -> None:
        self.draw = random.Random(seed)
        self.seen: dict[str, Sampled] = {}
        self.renderer, self.directory, self.canonical = renderer, home / "episode", canonical
        engine = SeededEngine(vocabulary=400, chunk=8, text=self._text)
        terms = Terms(engine, renderer, 1 << 20, 30.0, 30.0)
        self.slot = Slot(SPEC, Recorder(self.directory), terms, "", "key", lambda key: None)
        self.messages: dict[str, list[Any]] = {"": [{"role": "user", "content": "hello"}]}
        self.tools = TOOLS

    def _text(self, request: SampleRequest) -> list[int]:
        ids = self.renderer.assistant(self.draw.choice(MESSAGES)) if self.canonical else self._anyhow()
        self.seen[request.turn_id] = Sampled(list(request.prompt_ids), ids[: request.sampling.max_tokens])
        return ids

    def _anyhow(self) -> list[int]:
        """A text as it is usually spelled, letter by letter, or noise."""
        said, encode = self.draw.choice(SAYINGS), self.renderer.encoder.encode
        whole = encode(self.renderer.encoder.escape(said))
        letters = [i for letter in said for i in encode(letter)]
        noise = self.draw.choices(range(3, 400), k=9)
        return [*self.draw.choice([whole, letters, noise]), self.renderer.stop_token_ids[0]]

    async def ask(self, run: str, declared: str = "", **body: Any) -> Turn:
        """One call of a run; the reply joins its history."""
        messages = self.messages[run]
        request = CHAT.parse({"messages": messages, "tools": self.tools, **body}, Sampling())
        ask = Ask(run=run, declared=Declared(declared))  # type: ignore[arg-type]
        call = await self.slot.begin(request, ask, CHAT.canonical)
        reply = await call.finished()
        call.deliver()
        told = CHAT.reply(request, reply, self.slot._terms.engine.identity)["choices"][0]["message"]
        messages.append({key: value for key, value in told.items() if value is not None})
        for one in told.get("tool_calls") or ():
            messages.append({"role": "tool", "content": "result", "tool_call_id": one["id"]})
        return reply.turn

    async def step(self, kind: str) -> None:
        """One thing that clients do."""
        run = self.draw.choice(list(self.messages))
        messages = self.messages[run]
        if kind == "child":
            run = f"run{len(self.messages)}"
            self.messages[run] = [{"role": "user", "content": "look it up"}]
            await self.ask(run)
            return
        if kind == "respell":
            for message in messages:
                if message["role"] == "assistant":
                    message["content"] = "  " + (message.get("content") or "")
                    message.pop("reasoning_content", None)
        declared = {"rewind": "branch", "summary": "summary"}.get(kind, "")
        if kind == "rewind":
            ends = [i for i, m in enumerate(messages) if m["role"] == "user"]
            del messages[self.draw.choice(ends) + 1 :]
            messages[-1] = {"role": "user", "content": f"another way {self.draw.random()}"}
        elif kind == "edit":
            messages[self.draw.randrange(len(messages))] = {"role": "user", "content": f"edited {self.draw.random()}"}
        elif kind == "summary":
            self.messages[run] = [{"role": "user", "content": "so far: nothing"}]
        elif kind == "tools":
            self.tools = TOOLS[: self.draw.randint(0, 2)]
        if kind not in ("rewind", "summary"):
            messages.append({"role": "user", "content": f"go on {self.draw.choice(['', 'now'])}"})
        if kind == "begin":
            messages.append({"role": "assistant", "content": "In short, "})
        await self.ask(run, declared, **({"max_tokens": 3} if kind == "cut" else {}))

    async def closed(self) -> tuple[Captured, SealedEpisode]:
        """Closed and sealed, as a driver does."""
        captured = await self.slot.close()
        seal_episode(self.directory, SPEC, captured)
        return captured, SealedEpisode.open(self.directory)


async def _talked(talk: Talk, steps: list[str]) -> tuple[Captured, SealedEpisode]:
    await talk.ask("")
    for kind in steps:
        await talk.step(kind)
    return await talk.closed()


@settings(max_examples=60, deadline=None)
@given(steps=st.lists(STEPS, max_size=9), seed=st.integers(0, 1 << 30))
def test_the_engine_saw_what_is_on_record_and_masks_are_exact(
    renderer: TemplateRenderer, steps: list[str], seed: int
) -> None:
    with tempfile.TemporaryDirectory() as home:
        talk = Talk(Path(home), renderer, seed, canonical=False)
        captured, episode = asyncio.run(_talked(talk, steps))
        assert verify_episode(talk.directory) is None
        assert (captured.turns, captured.orphans) == (len(steps) + 1, 0)
        for segment in episode.segments:
            tokens, at = episode.segment_tokens(segment.run, segment.index), 0
            for turn in episode.segment_turns(segment.run, segment.index):
                prompt, sampled = talk.seen[turn.turn_id]
                assert tokens.ids[: turn.prompt_tokens].tolist() == prompt
                assert tokens.mask[at : turn.prompt_tokens].sum() == 0
                at = turn.prompt_tokens + len(sampled)
                assert tokens.ids[turn.prompt_tokens : at].tolist() == sampled
                assert tokens.mask[turn.prompt_tokens : at].all()
            assert tokens.mask[at:].sum() == 0
        edited = "edit" in steps
        assert edited or all(s.trainable for s in episode.segments)


@settings(max_examples=40, deadline=None)
@given(steps=st.lists(st.sampled_from(["append", "respell", "child"]), max_size=8), seed=st.integers(0, 1 << 30))
def test_where_ids_are_canonical_the_record_is_the_templates_full_render(
    renderer: TemplateRenderer, steps: list[str], seed: int
) -> None:
    with tempfile.TemporaryDirectory() as home:
        talk = Talk(Path(home), renderer, seed, canonical=True)
        _, episode = asyncio.run(_talked(talk, steps))
        assert all(s.trainable and s.opened_by == "start" for s in episode.segments)
        for segment in episode.segments:
            turns = episode.segment_turns(segment.run, segment.index)
            messages = [m for turn in turns for m in (*turn.new_messages, turn.message)]
            held = episode.segment_tokens(segment.run, segment.index).ids[: turns[-1].prompt_tokens].tolist()
            assert held == renderer.start(messages[:-1], talk.tools)


@pytest.mark.parametrize("steps", [["begin", "append"], ["cut", "rewind", "append"], ["tools", "summary", "tools"]])
def test_some_ways_by_name(renderer: TemplateRenderer, steps: list[str], tmp_path: Path) -> None:
    talk = Talk(tmp_path, renderer, 7, canonical=False)
    captured, _ = asyncio.run(_talked(talk, steps))
    assert captured.trainable
    assert verify_episode(talk.directory) is None
