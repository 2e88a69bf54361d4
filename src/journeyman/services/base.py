"""The service seam: a live system of record, defined once, spoken three ways, with an append-only ledger."""

from typing import Any, Literal, Protocol

from journeyman.records.base import Record


class LedgerEntry(Record):
    """One invocation and its realised effect. Every call leaves one, also denied and faulted ones."""

    seq: int
    at: str  # frozen clock
    service: str
    actor: str
    tool: str
    arguments: dict[str, Any]
    outcome: Literal["ok", "error", "denied", "timeout"]  # what the caller was told
    committed: bool  # whether state changed (a `timeout` may have committed)
    effect: dict[str, Any] = {}  # rows written, by table
    call_id: str = ""  # the harness's dispatch id, "" from inside a box


class ServiceResult(Record):
    """What a caller sees."""

    ok: bool
    result: dict[str, Any] | None = None
    error: str = ""


class WorldSnapshot(Record):
    """Final state and ledger of all services of an episode, taken after `freeze`."""

    state: dict[str, dict[str, list[dict[str, Any]]]]  # service -> table -> rows
    ledger: tuple[LedgerEntry, ...]


class ServiceWorld(Protocol):
    """All services of one episode. Raises ServiceFailure when the host is lost (never for declared faults)."""

    async def tools(self) -> list[dict[str, Any]]:
        """OpenAI function schemas of the granted tools, named service__tool."""
        ...

    async def call(self, tool: str, arguments: dict[str, Any], call_id: str = "") -> ServiceResult:
        """Call service__tool."""
        ...

    async def freeze(self) -> WorldSnapshot:
        """Refuse further calls, return the final state and ledger."""
        ...

    async def close(self) -> None:
        """Forget the episode; idempotent."""
        ...
