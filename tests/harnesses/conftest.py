"""The native harness against a real gateway, a scripted engine and real boxes; services by the shipped host."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from journeyman.capture.recorder import Captured
from journeyman.capture.server import Gateway, Slot
from journeyman.engines.base import Engine
from journeyman.engines.scripted import ScriptedEngine
from journeyman.harnesses.base import HarnessRun
from journeyman.harnesses.whitebox.plan import scripted_reply
from journeyman.records.episode import EpisodeSpec, Sampling
from journeyman.records.task import Budget, Plan, PlanStep, ToolCall
from journeyman.sandbox.base import Sandbox, SandboxSpec
from journeyman.sandbox.local import LocalProvider
from journeyman.services.base import ServiceWorld
from journeyman.tokens.template import TemplateRenderer
from journeyman.tokens.tiny import write_tiny_tokenizer

SPEC = EpisodeSpec(job="job", policy="base", task="task", group="g0", attempt=0)


def plan(*steps: Sequence[tuple[str, dict[str, Any]]], text: str = "") -> Plan:
    """A plan whose steps are lists of (tool, arguments)."""
    made = [PlanStep(text=text, calls=tuple(ToolCall(tool=t, arguments=a) for t, a in step)) for step in steps]
    return Plan(name="reference", kind="reference", steps=tuple(made))


@dataclass
class Stage:
    """Everything one run needs, and what was told to the engine (`asked`: the histories)."""

    run: HarnessRun
    box: Sandbox
    slot: Slot
    gateway: Gateway
    asked: list[list[dict[str, Any]]]
    directory: Path
    closed: Captured | None = None


@pytest.fixture(scope="session")
def renderer(tmp_path_factory: pytest.TempPathFactory) -> TemplateRenderer:
    return TemplateRenderer(write_tiny_tokenizer(tmp_path_factory.mktemp("tokenizer")))


Open = Callable[..., Any]


@pytest.fixture
def stage(renderer: TemplateRenderer, tmp_path: Path) -> Open:
    """Opens a stage for a plan (or an engine)."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "a.txt").write_text("alpha\nbeta\n")

    @asynccontextmanager
    async def opened(
        script: Plan | Callable[[str, Sequence[dict[str, Any]]], dict[str, Any]],
        *,
        engine: Engine | None = None,
        budget: Budget | None = None,
        services: ServiceWorld | None = None,
        provider: Any = None,
        instruction: str = "Do it.",
        unix: bool = False,
    ) -> AsyncIterator[Stage]:
        asked: list[list[dict[str, Any]]] = []

        def answer(episode: str, messages: Sequence[dict[str, Any]]) -> dict[str, Any]:
            asked.append([dict(message) for message in messages])
            return scripted_reply(script, messages) if isinstance(script, Plan) else script(episode, messages)

        budget = budget or Budget(context_tokens=32_768)
        async with AsyncExitStack() as stack:
            provider = provider or await stack.enter_async_context(LocalProvider(asked_by_name=True))
            socket_dir = tmp_path / "gw" if unix else None
            gateway = await stack.enter_async_context(
                Gateway(engine or ScriptedEngine(answer), renderer, socket_dir=socket_dir)
            )
            box = await provider.start(SandboxSpec(workspace=(workspace,)))
            stack.push_async_callback(box.close)
            directory = tmp_path / "episode"
            directory.mkdir()
            slot = gateway.open(SPEC, directory, budget.context_tokens)
            run = HarnessRun(
                episode=SPEC.id,
                instruction=instruction,
                budget=budget,
                sandbox=box,
                services=services,
                url=slot.url,
                key=slot.key,
                sampling=Sampling(max_tokens=4096),
                seed=0,
            )
            held = Stage(run, box, slot, gateway, asked, directory)
            yield held
            held.closed = await slot.close()

    return opened
