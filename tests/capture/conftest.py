"""A running gateway over loopback, a real tokenizer, engines that ship in src, and the official openai client."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import openai
import pytest

from journeyman.capture.by_hand import seal_by_hand
from journeyman.capture.recorder import Captured
from journeyman.capture.server import Gateway, Slot
from journeyman.engines.base import Engine
from journeyman.engines.scripted import SeededEngine
from journeyman.records.episode import EpisodeSpec
from journeyman.store.sealed import SealedEpisode
from journeyman.tokens.template import TemplateRenderer
from journeyman.tokens.tiny import write_tiny_tokenizer

TOOLS: list[Any] = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}
    for name in ("read", "write")
]


@pytest.fixture(scope="session")
def renderer(tmp_path_factory: pytest.TempPathFactory) -> TemplateRenderer:
    return TemplateRenderer(write_tiny_tokenizer(tmp_path_factory.mktemp("tokenizer")))


@pytest.fixture(scope="session")
def thinking(tmp_path_factory: pytest.TempPathFactory) -> TemplateRenderer:
    """As `renderer`, of a family whose turns may begin with reasoning."""
    directory = write_tiny_tokenizer(tmp_path_factory.mktemp("thinking"))
    template = directory / "chat_template.jinja"
    template.write_text("{# <think> #}" + template.read_text())
    return TemplateRenderer(directory)


@pytest.fixture
def seeded() -> SeededEngine:
    return SeededEngine(vocabulary=400, tokens=24, chunk=8)


def says(renderer: TemplateRenderer, *texts: str) -> Callable[[Any], list[int]]:
    """An engine's text: one reply after the other, the last one again and again; stop token included."""
    left = list(texts)

    def text(request: Any) -> list[int]:
        said = left.pop(0) if len(left) > 1 else left[0]
        return [*renderer.encoder.encode(renderer.encoder.escape(said)), renderer.stop_token_ids[0]]

    return text


@dataclass
class Place:
    """An open slot, its directory, and clients that reach it."""

    gateway: Gateway
    slot: Slot
    directory: Path
    spec: EpisodeSpec
    client: openai.AsyncOpenAI  # the official client; it does not retry by itself here
    messages: list[Any] = field(default_factory=lambda: [{"role": "user", "content": "hello"}])

    async def ask(self, messages: list[Any] | None = None, headers: dict[str, str] | None = None, **more: Any) -> Any:
        """One call. Without `messages` the conversation held here goes on."""
        told = self.messages if messages is None else messages
        answer = await self.client.chat.completions.create(model="policy", messages=told, extra_headers=headers, **more)
        if messages is None and not more.get("stream"):
            self.messages.append(answer.choices[0].message.model_dump(exclude_none=True))
        return answer

    def tell(self, text: str) -> None:
        """Add a user message to the conversation held here."""
        self.messages.append({"role": "user", "content": text})

    async def sealed(self) -> SealedEpisode:
        """Close and seal, as the driver does."""
        captured = await self.slot.close()
        seal_episode(self.directory, self.spec, captured)
        return SealedEpisode.open(self.directory)


def seal_episode(directory: Path, spec: EpisodeSpec, captured: Captured) -> None:
    """As the gateway alone does, without saying which engine it was."""
    seal_by_hand(directory, spec, asdict(captured), engine={})


Opener = Callable[..., Any]


@pytest.fixture
def opened(tmp_path: Path, renderer: TemplateRenderer) -> Opener:
    """`async with opened(engine) as place`: a gateway with one open slot."""

    @asynccontextmanager
    async def run(
        engine: Engine,
        context_tokens: int = 4096,
        resume: bool | None = None,
        speaks: TemplateRenderer | None = None,
        **options: Any,
    ) -> AsyncIterator[Place]:
        spec = EpisodeSpec(job="job", policy="p", task="t", group="g", attempt=0)
        directory = tmp_path / "job" / "episodes" / spec.key
        async with Gateway(engine, speaks or renderer, **options) as gateway:
            slot = gateway.open(spec, directory, context_tokens, resume)
            url = f"{slot.url}/v1"
            async with openai.AsyncOpenAI(base_url=url, api_key=slot.key, max_retries=0) as client:
                yield Place(gateway, slot, directory, spec, client)

    return run
