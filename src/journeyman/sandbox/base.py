"""The sandbox seam: an isolated /workspace in which commands run through one persistent executor.

Round trips are what costs, so every tool call is at most one `call`. Nothing of ours (loop, keys, grader, service
state) is ever bound into the box.
"""

from pathlib import Path
from typing import Any, Protocol

from journeyman.records.base import Record


class Limits(Record):
    """Hard limits of one box."""

    memory_bytes: int = 1 << 30
    cpu_cores: float = 1.0
    pids: int = 128
    file_bytes: int = 256 << 20  # largest file the box may write


class SandboxSpec(Record):
    """What a box is made of."""

    workspace: tuple[Path, ...]  # read-only lower layers of /workspace, first is the base, later ones overlay it
    sockets: dict[str, Path] = {}  # path in the box (under /run/jm) -> unix socket on the host
    read_only: dict[str, Path] = {}  # extra read-only binds: path in the box -> host path
    environment: dict[str, str] = {}  # added to a scrubbed environment
    limits: Limits = Limits()
    capabilities: tuple[str, ...] = ()  # what the task asks of the box, e.g. "office": python with the office libraries
    label: str = ""  # for logs


class SandboxIdentity(Record):
    """What the record says about the box an episode ran in."""

    kind: str  # "bubblewrap" | "local" | "docker" | "e2b"
    version: str = ""
    uid: int = -1  # the uid the box's processes have on the host
    isolated: bool = True  # False only for `local`
    notes: tuple[str, ...] = ()  # e.g. "caller's own uid", "rlimits instead of cgroups"


class WorkspaceChange(Record):
    """What the episode changed below /workspace."""

    written: dict[str, bytes]  # relative path -> content of created or changed files
    deleted: tuple[str, ...]


class Sandbox(Protocol):
    """One box of one episode. Raises SandboxFailure whenever the box or its executor is lost."""

    identity: SandboxIdentity

    async def call(self, op: str, args: dict[str, Any], timeout_seconds: float = 120.0) -> dict[str, Any]:
        """One executor operation (see `sandbox.executor`); what the policy got wrong comes back as {"error": ...}."""
        ...

    async def kill_agent(self) -> None:
        """Kill every process in the box but the executor; nothing the policy started runs after this.

        Raises SandboxFailure where the box died before it was asked to.
        """
        ...

    async def collect(self) -> WorkspaceChange:
        """What changed below /workspace since the start."""
        ...

    async def close(self) -> None:
        """End the box and remove what it left; idempotent."""
        ...


class SandboxProvider(Protocol):
    """Makes boxes. An async context manager."""

    async def start(self, spec: SandboxSpec) -> Sandbox:
        """A fresh box, never one that was used before. Raises SandboxFailure."""
        ...
