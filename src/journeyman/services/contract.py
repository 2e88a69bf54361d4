"""Contract fuzz (T-05): a service definition that does not do what it declares is rejected, with one line per lie.

Declared and checked: reads change nothing; an idempotent write repeated leaves one effect; denied and refused calls
leave a ledger entry and no mutation; every result has the declared shape; no tool crashes, whatever it is given.
"""

import itertools
import random
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from journeyman.errors import ServiceFailure
from journeyman.records.base import first_fault
from journeyman.records.task import ServiceGrant
from journeyman.services.definition import ToolDefinition
from journeyman.services.definitions import load_service
from journeyman.services.world import State, World, open_world

_ODD = ("", "?", "x" * 300, "'; DROP TABLE orders; --", "Ω")


def fuzz_contract(service: str, rows: State, *, calls: int = 200, seed: int = 0) -> tuple[str, ...]:
    """What `service` (a registry name or module:OBJECT) does that it does not declare; empty where it keeps its word.

    `rows` is an initial state (service name -> table -> rows); argument values are drawn from it and from odd strings.
    """
    definition = load_service(service)
    lies: list[str] = []
    rng = random.Random(seed)
    for name, tool in definition.tools.items():
        able = next((role for role, held in definition.roles.items() if tool.permission in held), None)
        if able is None:
            lies.append(f"{name}: no role has its permission {tool.permission}")
            continue
        unable = next((role for role, held in definition.roles.items() if tool.permission not in held), None)
        drawn = itertools.islice(
            _arguments(tool, rows.get(definition.name, {}), rng), max(1, calls // len(definition.tools))
        )
        for arguments in drawn:
            lies += _check_call(_open(service, rows, able), definition.name, tool, arguments)
            if unable is not None:
                lies += _check_denied(_open(service, rows, unable), definition.name, name, arguments)
    return tuple(dict.fromkeys(lies))


def _open(service: str, rows: State, role: str) -> World:
    definition = load_service(service)
    grant = ServiceGrant(service=service, actor=role, tools=tuple(definition.tools))
    return open_world([grant], {definition.name: rows.get(definition.name, {})}, "2025-01-01T00:00:00Z")


def _arguments(tool: ToolDefinition, rows: Any, rng: random.Random) -> Iterator[dict[str, Any]]:
    """Endless argument sets: parameters from the rows' column of that name, literals, numbers, odd strings."""
    pools: dict[str, list[Any]] = {}
    for name, schema in tool.parameters["properties"].items():
        held = [row[name] for table in rows.values() for row in table if name in row]
        options = [schema, *schema.get("anyOf", ())]
        literals = [value for option in options for value in option.get("enum", ())]
        numbers = [-1, 0, 1, 10**9] if any(o.get("type") in ("integer", "number") for o in options) else []
        pools[name] = held * 3 + literals + numbers + list(_ODD)
    required = tool.parameters.get("required", [])
    while True:
        chosen = [name for name in pools if name in required or rng.random() < 0.5]
        yield {name: rng.choice(pools[name]) for name in chosen}


def _check_call(world: World, service: str, tool: ToolDefinition, arguments: dict[str, Any]) -> Iterator[str]:
    database = world.services[service].database
    before = database.state()
    shown = f"{tool.name} {arguments}"
    try:
        first = world.call(f"{service}__{tool.name}", arguments)
        after = database.state()
        if first.ok:
            yield from _check_shape(tool, shown, first.result)
        elif before != after:
            yield f"{shown}: refused ({first.error}), yet state changed"
        if not tool.writes and before != after:
            yield f"{shown}: declared a read, yet state changed"
        if first.ok and tool.idempotent and tool.writes:
            second = world.call(f"{service}__{tool.name}", arguments)
            if database.state() != after:
                yield f"{shown}: declared idempotent, yet repeating it left a second effect"
            if not second.ok:
                yield f"{shown}: declared idempotent, yet repeating it was refused: {second.error}"
    except ServiceFailure as failure:
        yield f"{shown}: crashed: {failure}"
        return
    ledger = world.freeze().ledger
    if not ledger or ledger[0].committed != (before != after):
        yield f"{shown}: the ledger does not say whether state changed"
    world.close()


def _check_shape(tool: ToolDefinition, shown: str, result: Any) -> Iterator[str]:
    try:
        tool.result.validate_python(result, strict=True)
    except ValidationError as error:
        yield f"{shown}: the result has not the declared shape: {first_fault(error)}"


def _check_denied(world: World, service: str, tool: str, arguments: dict[str, Any]) -> Iterator[str]:
    before = world.services[service].database.state()
    answer = world.call(f"{service}__{tool}", arguments)
    if answer.ok or world.services[service].database.state() != before:
        yield f"{tool} {arguments}: an actor without its permission changed or read state"
    ledger = world.freeze().ledger
    if [entry.outcome for entry in ledger] != ["denied"]:
        yield f"{tool} {arguments}: a denied call is not in the ledger"
    world.close()
