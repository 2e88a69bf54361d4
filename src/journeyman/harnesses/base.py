"""The harness seam: what lets a policy act. It knows one URL and one secret, a box, and the episode's services."""

from dataclasses import dataclass, field
from typing import Any, Protocol

from journeyman.records.base import Record
from journeyman.records.episode import Sampling
from journeyman.records.outcome import StopReason
from journeyman.records.task import Budget
from journeyman.records.turn import ToolEvent
from journeyman.sandbox.base import Sandbox
from journeyman.services.base import ServiceWorld


class HarnessManifest(Record):
    """The resolved composition, hashed into every episode (M-02)."""

    name: str
    loop: str
    prompt: str
    tools: tuple[dict[str, Any], ...]  # schemas as the policy sees them (service tools not included)
    middleware: tuple[str, ...]
    version: str


@dataclass(frozen=True)
class HarnessRun:
    """Everything one attempt needs; nothing private of the task is in it (T-08)."""

    episode: str
    instruction: str
    budget: Budget
    sandbox: Sandbox
    services: ServiceWorld | None
    url: str  # base URL of the gateway, or "unix:/path" of its socket
    key: str  # bearer secret of this episode
    sampling: Sampling
    seed: int
    model: str = "policy"


@dataclass
class HarnessExit:
    """How the loop ended, and what it dispatched."""

    stop: StopReason
    final_message: str = ""
    events: list[ToolEvent] = field(default_factory=list)  # in dispatch order
    engine_seconds: float = 0.0  # waited for the model
    compactions: int = 0


class Harness(Protocol):
    """One way of letting a policy act."""

    manifest: HarnessManifest

    async def run(self, run: HarnessRun) -> HarnessExit:
        """Act until a stop reason. Raises Failure of the layer that broke; never for what the policy did."""
        ...
