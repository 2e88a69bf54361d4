"""One conversation in three wire dialects: each speaker keeps its history as users of that official client do."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anthropic
import openai

from journeyman.capture.server import Gateway, Slot
from journeyman.engines.base import Engine, SampleRequest
from journeyman.records.episode import EpisodeSpec
from journeyman.store.sealed import SealedEpisode
from journeyman.tokens.base import Message
from journeyman.tokens.template import TemplateRenderer
from journeyman.tokens.tiny import write_tiny_tokenizer

from ..tokens.conftest import THINKING
from .conftest import seal_episode

SCHEMA = {"type": "object", "properties": {"file_path": {"type": "string"}}}
NAMES = ("read", "write")


@dataclass
class Heard:
    """One reply, as its client understood it."""

    text: str
    reasoning: str
    calls: list[tuple[str, str, str]]  # id, name, arguments as JSON text
    finish: str
    prompt_tokens: int
    completion_tokens: int
    pieces: list[str] = field(default_factory=list)  # kind of each delta, in order


@dataclass
class Speaker:
    """A client and its history. `ask` tells the whole history and adds the reply to it."""

    url: str
    key: str
    tools: Sequence[str] = NAMES
    history: list[Any] = field(default_factory=list)

    async def __aenter__(self) -> Any:
        self.connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.close()

    client: Any = None
    name = ""

    def connect(self) -> None:
        """Make the official client."""
        self.client = openai.AsyncOpenAI(base_url=f"{self.url}/v1", api_key=self.key, max_retries=0)

    def hear(self, text: str) -> None:
        """The user speaks."""
        self.history.append({"role": "user", "content": text})

    def results(self, answers: list[tuple[str, str]]) -> None:
        """Tools answered: (call id, text)."""
        raise AssertionError

    async def ask(self, stream: bool = False, **more: Any) -> Heard:
        """One call."""
        raise AssertionError


class Chat(Speaker):
    """Chat Completions."""

    name = "chat"

    def results(self, answers: list[tuple[str, str]]) -> None:
        self.history += [{"role": "tool", "tool_call_id": i, "content": text} for i, text in answers]

    async def ask(self, stream: bool = False, **more: Any) -> Heard:
        tools = [{"type": "function", "function": {"name": n, "parameters": SCHEMA}} for n in self.tools]
        asked = {"model": "policy", "messages": self.history, "tools": tools or openai.omit, **more}
        pieces: list[str] = []
        create = self.client.chat.completions.create
        if stream:
            chunks = [c async for c in await create(**asked, stream=True, stream_options={"include_usage": True})]
            deltas = [c.choices[0].delta for c in chunks if c.choices]
            text, reasoning = "", ""
            for delta in deltas:
                if thought := (delta.model_extra or {}).get("reasoning_content"):
                    reasoning += thought
                    pieces.append("reasoning")
                if delta.content:
                    text += delta.content
                    pieces.append("text")
            calls = [c for d in deltas for c in d.tool_calls or ()]
            finish, usage = [c.choices[0].finish_reason for c in chunks if c.choices][-1], chunks[-1].usage
        else:
            answer = await create(**asked)
            message = answer.choices[0].message
            text, reasoning = message.content or "", (message.model_extra or {}).get("reasoning_content") or ""
            calls, finish, usage = message.tool_calls or [], answer.choices[0].finish_reason, answer.usage
        told = [(c.id, c.function.name, c.function.arguments) for c in calls]
        message = {"role": "assistant", "content": text or None}
        if told:
            message["tool_calls"] = [
                {"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in told
            ]
        self.history.append(message)
        return Heard(text, reasoning, told, finish, usage.prompt_tokens, usage.completion_tokens, pieces)


class Responses(Speaker):
    """Responses, the whole history told each time."""

    name = "responses"

    def results(self, answers: list[tuple[str, str]]) -> None:
        self.history += [{"type": "function_call_output", "call_id": i, "output": text} for i, text in answers]

    async def ask(self, stream: bool = False, **more: Any) -> Heard:
        tools = [{"type": "function", "name": n, "parameters": SCHEMA, "strict": False} for n in self.tools]
        asked = {"model": "policy", "input": self.history, "tools": tools or openai.omit, **more}
        pieces: list[str] = []
        if stream:
            async with self.client.responses.stream(**asked) as events:
                async for event in events:
                    if event.type == "response.output_text.delta":
                        pieces.append("text")
                    if event.type == "response.reasoning_text.delta":
                        pieces.append("reasoning")
                    last = event
                answer = last.response
                if last.type == "response.completed":
                    answer = await events.get_final_response()
        else:
            answer = await self.client.responses.create(**asked)
        calls = [(i.call_id, i.name, i.arguments) for i in answer.output if i.type == "function_call"]
        reasoning = "".join(part.text for i in answer.output if i.type == "reasoning" for part in i.content)
        self.history += [item.to_dict() for item in answer.output]
        finish = answer.incomplete_details.reason if answer.incomplete_details else answer.status
        usage = answer.usage
        return Heard(answer.output_text, reasoning, calls, finish, usage.input_tokens, usage.output_tokens, pieces)


class Messages(Speaker):
    """Anthropic Messages."""

    name = "messages"

    def connect(self) -> None:
        self.client = anthropic.AsyncAnthropic(base_url=self.url, api_key=self.key, max_retries=0)

    def results(self, answers: list[tuple[str, str]]) -> None:
        blocks = [{"type": "tool_result", "tool_use_id": i, "content": text} for i, text in answers]
        self.history.append({"role": "user", "content": blocks})

    async def ask(self, stream: bool = False, **more: Any) -> Heard:
        tools = [{"name": n, "input_schema": SCHEMA} for n in self.tools]
        asked = {"model": "policy", "max_tokens": 1000, "messages": self.history, "tools": tools, **more}
        if not tools:
            del asked["tools"]
        pieces: list[str] = []
        if stream:
            async with self.client.messages.stream(**asked) as events:
                async for event in events:
                    if event.type == "content_block_delta" and event.delta.type in ("text_delta", "thinking_delta"):
                        pieces.append({"text_delta": "text"}.get(event.delta.type, "reasoning"))
                answer = await events.get_final_message()
        else:
            answer = await self.client.messages.create(**asked)
        calls = [(b.id, b.name, json.dumps(b.input)) for b in answer.content if b.type == "tool_use"]
        text = "".join(b.text for b in answer.content if b.type == "text")
        reasoning = "".join(b.thinking for b in answer.content if b.type == "thinking")
        self.history.append({"role": "assistant", "content": [b.to_dict() for b in answer.content]})
        usage = answer.usage
        prompt = usage.input_tokens + usage.cache_read_input_tokens
        return Heard(text, reasoning, calls, answer.stop_reason, prompt, usage.output_tokens, pieces)


SPEAKERS: tuple[type[Speaker], ...] = (Chat, Responses, Messages)
BY_NAME = {speaker.name: speaker for speaker in SPEAKERS}


@dataclass
class Room:
    """An open slot that speakers reach."""

    gateway: Gateway
    slot: Slot
    directory: Path
    spec: EpisodeSpec

    def speaker(self, name: str, **more: Any) -> Speaker:
        """A speaker of a dialect, to be entered."""
        return BY_NAME[name](self.slot.url, self.slot.key, **more)

    async def sealed(self) -> SealedEpisode:
        """Close and seal, as the driver does."""
        seal_episode(self.directory, self.spec, await self.slot.close())
        return SealedEpisode.open(self.directory)


@asynccontextmanager
async def room(
    path: Path, engine: Engine, renderer: TemplateRenderer, context_tokens: int = 8192, **options: Any
) -> AsyncIterator[Room]:
    """A gateway over loopback with one open slot."""
    spec = EpisodeSpec(job="job", policy="p", task="t", group="g", attempt=0)
    directory = path / "job" / "episodes" / spec.key
    async with Gateway(engine, renderer, **options) as gateway:
        yield Room(gateway, gateway.open(spec, directory, context_tokens), directory, spec)


def call(name: str, **arguments: Any) -> dict[str, Any]:
    """A tool call of a scripted reply."""
    return {"id": "", "name": name, "arguments": arguments, "raw": json.dumps(arguments)}


def replies(
    renderer: TemplateRenderer, *messages: Message | str, prompts: list[list[int]] | None = None
) -> Callable[[SampleRequest], list[int]]:
    """An engine's text: one reply after the other. A plain string is sampled letter by letter, never canonically."""
    left = list(messages)

    def text(request: SampleRequest) -> list[int]:
        if prompts is not None:
            prompts.append(list(request.prompt_ids))
        said = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(said, str):
            letters = [i for letter in said for i in renderer.encoder.encode(letter)]
            return [*letters, renderer.stop_token_ids[0]]
        return renderer.assistant({"role": "assistant", "content": "", **said})

    return text


def thinking_renderer(directory: Path) -> TemplateRenderer:
    """A tokenizer with a template whose turns may begin with reasoning."""
    write_tiny_tokenizer(directory)
    (directory / "chat_template.jinja").write_text(THINKING)
    return TemplateRenderer(directory)
