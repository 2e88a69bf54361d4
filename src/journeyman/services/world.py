"""All services of one episode in this process: state, permissions, faults and the ledger.

Every call leaves exactly one ledger entry, also denied, refused and faulted ones; nothing is called after `freeze`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from journeyman.errors import ServiceFailure, UserError, boundary
from journeyman.records.task import ServiceGrant
from journeyman.services.base import LedgerEntry, ServiceResult, WorldSnapshot
from journeyman.services.definition import Refused, ServiceDefinition, ToolDefinition
from journeyman.services.definitions import load_service
from journeyman.services.faults import Fault, read_faults
from journeyman.services.tables import Database, Row, Session

State = Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]]  # service -> table -> rows
_Outcome = Literal["ok", "error", "denied", "timeout"]


class LiveService:
    """One granted service in one episode: its database, who acts, and which faults are declared."""

    def __init__(self, grant: ServiceGrant, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        """Raises UserError for unknown services, roles, tools, faults, tables or columns."""
        self.definition: ServiceDefinition = load_service(grant.service)
        self.grant = grant
        if grant.actor not in self.definition.roles:
            known = ", ".join(self.definition.roles)
            raise UserError(f"service {grant.service} has no role {grant.actor!r}; known: {known}")
        tools = self.definition.tools
        unknown = [name for name in grant.tools if name not in tools]
        if unknown:
            raise UserError(f"service {grant.service} has no tool {unknown[0]!r}; known: {', '.join(tools)}")
        self.permissions = self.definition.roles[grant.actor]
        self.faults: tuple[Fault, ...] = read_faults(grant.service, grant.faults, list(tools))
        self.database = Database(self.definition.tables, rows)
        self.calls: Counter[str] = Counter()

    def refusal(self, tool: str) -> str:
        """Why this actor may not call `tool`; empty where he may."""
        definition = self.definition.tools.get(tool)
        if definition is None or tool not in self.grant.tools:
            return f"{self.definition.name} offers no tool {tool}"
        if definition.permission not in self.permissions:
            return f"{self.grant.actor} may not {tool} (needs {definition.permission})"
        return ""


class World:
    """The services of one episode, called directly. Not thread-safe: one event loop or one thread."""

    def __init__(self, services: Sequence[LiveService], frozen_time: str, seed: int) -> None:
        self.services = {service.definition.name: service for service in services}
        self.frozen_time = frozen_time
        self.seed = seed
        self._ledger: list[LedgerEntry] = []
        self._snapshot: WorldSnapshot | None = None
        self._crash: ServiceFailure | None = None  # once a service crashed, the whole world is suspect

    def tools(self) -> list[dict[str, Any]]:
        """OpenAI function schemas of the granted tools, named service__tool, in the order granted."""
        return [
            service.definition.function_schemas[name]
            for service in self.services.values()
            for name in service.grant.tools
        ]

    def call(self, tool: str, arguments: Any, call_id: str = "") -> ServiceResult:
        """Call service__tool. Raises ServiceFailure only where a service itself crashes."""
        if self._crash is not None:
            raise self._crash
        name, _, short = tool.partition("__")
        if self._snapshot is not None:
            return ServiceResult(ok=False, error="the services of this episode are frozen")
        service = self.services.get(name)
        if service is None:
            return ServiceResult(ok=False, error=f"no service {name}; available: {', '.join(self.services) or 'none'}")
        refusal = service.refusal(short)
        if refusal:
            return self._record(service, short, arguments, call_id, "denied", error=f"denied: {refusal}")
        definition = service.definition.tools[short]
        try:
            parsed = definition.read_arguments(arguments)
        except Refused as refused:
            return self._record(service, short, arguments, call_id, "error", error=str(refused))
        return self._execute(service, definition, arguments, parsed, call_id)

    def _execute(
        self, service: LiveService, definition: ToolDefinition, arguments: Any, parsed: dict[str, Any], call_id: str
    ) -> ServiceResult:
        """Run the tool in a transaction, then apply the declared fault that hits this call, if any."""
        tool = definition.name
        session = Session(service.database, service.grant.actor, self.frozen_time)
        connection = service.database.connection
        connection.execute("BEGIN")
        try:
            result, refusal = _run(definition, session, parsed)
        except ServiceFailure as crash:
            self._crash = crash
            raise
        if refusal:
            connection.execute("ROLLBACK")
            return self._record(service, tool, arguments, call_id, "error", error=refusal)
        service.calls[tool] += 1
        fault = next((f for f in service.faults if f.tool == tool and f.strikes(service.calls[tool], self.seed)), None)
        if fault is None or fault.effect == "timeout_after_commit":
            connection.execute("COMMIT")
            if fault is None:
                return self._record(service, tool, arguments, call_id, "ok", result=result, effect=session.effect)
            return self._record(
                service, tool, arguments, call_id, "timeout", error=_timeout(service), effect=session.effect
            )
        connection.execute("ROLLBACK")
        if fault.effect == "crash":
            self._crash = ServiceFailure("crash", f"declared for {service.definition.name}.{tool}")
            raise self._crash
        if fault.effect == "timeout_before_commit":
            return self._record(service, tool, arguments, call_id, "timeout", error=_timeout(service))
        error = f"{service.definition.name} is unavailable, nothing was done"
        return self._record(service, tool, arguments, call_id, "error", error=error)

    def _record(
        self,
        service: LiveService,
        tool: str,
        arguments: Any,
        call_id: str,
        outcome: _Outcome,
        *,
        result: dict[str, Any] | None = None,
        error: str = "",
        effect: dict[str, list[Row]] | None = None,
    ) -> ServiceResult:
        """Append the ledger entry and answer the caller."""
        self._ledger.append(
            LedgerEntry(
                seq=len(self._ledger),
                at=self.frozen_time,
                service=service.definition.name,
                actor=service.grant.actor,
                tool=tool,
                arguments=arguments if isinstance(arguments, dict) else {"": arguments},
                outcome=outcome,
                committed=bool(effect),
                effect=effect or {},
                call_id=call_id,
            )
        )
        return ServiceResult(ok=outcome == "ok", result=result, error=error)

    def freeze(self) -> WorldSnapshot:
        """Refuse further calls; the final state and ledger. Idempotent. Raises ServiceFailure after a crash."""
        if self._crash is not None:
            raise self._crash
        if self._snapshot is None:
            state = {name: service.database.state() for name, service in self.services.items()}
            self._snapshot = WorldSnapshot(state=state, ledger=tuple(self._ledger))
        return self._snapshot

    def close(self) -> None:
        """Forget the episode; idempotent."""
        for service in self.services.values():
            service.database.close()


def _run(definition: ToolDefinition, session: Session, parsed: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """(result, "") or ({}, refusal). Raises ServiceFailure for whatever else the tool raises: the service crashed."""
    with boundary("service"):
        try:
            return definition.function(session, **parsed), ""
        except Refused as refused:
            return {}, str(refused)


def _timeout(service: LiveService) -> str:
    return f"timeout: {service.definition.name} did not answer; the request may or may not have been applied"


def open_world(grants: Sequence[ServiceGrant], initial_state: State, frozen_time: str, seed: int = 0) -> World:
    """Start all services of an episode in this process. Raises UserError naming what does not fit the definitions."""
    names = [load_service(grant.service).name for grant in grants]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise UserError(f"service {repeated[0]} is granted twice; merge the two grants")
    foreign = sorted(set(initial_state) - set(names))
    if foreign:
        raise UserError(f"initial state for service {foreign[0]!r}, which is not granted; granted: {', '.join(names)}")
    services = [LiveService(grant, initial_state.get(name, {})) for grant, name in zip(grants, names, strict=True)]
    return World(services, frozen_time, seed)


class InProcessWorld:
    """`ServiceWorld` over a `World` in this process: for admission, prototypes and tests."""

    def __init__(self, world: World) -> None:
        self.world = world

    async def tools(self) -> list[dict[str, Any]]:
        """OpenAI function schemas of the granted tools."""
        return self.world.tools()

    async def call(self, tool: str, arguments: dict[str, Any], call_id: str = "") -> ServiceResult:
        """Call service__tool."""
        return self.world.call(tool, arguments, call_id)

    async def freeze(self) -> WorldSnapshot:
        """Refuse further calls; the final state and ledger."""
        return self.world.freeze()

    async def close(self) -> None:
        """Forget the episode; idempotent."""
        self.world.close()


class InProcessHost:
    """Opens worlds in this process with the interface of `client.ServiceHost`: no isolation, no sockets."""

    async def open(
        self, episode: str, grants: Sequence[ServiceGrant], initial_state: State, frozen_time: str, seed: int
    ) -> InProcessWorld:
        """Start all services of an episode; `episode` is only a label here. Raises UserError."""
        return InProcessWorld(open_world(grants, initial_state, frozen_time, seed))
