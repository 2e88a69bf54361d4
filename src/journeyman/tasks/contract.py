"""The public tool contract of a task: schemas as the policy sees them, and which handlers realise them (G-06).

Invariant: a package made for one set of handlers is never run silently on another; the refusal names both.
"""

import sys
from functools import cache
from pathlib import Path
from typing import Any

from journeyman import __version__
from journeyman.errors import UserError
from journeyman.records.base import Record, sha256_hex
from journeyman.records.task import ServiceGrant
from journeyman.services.definitions import load_service

PROTOCOL = "journeyman-tools-1"


class ServiceContract(Record):
    """One granted service: what the policy is told, and the identity of what answers."""

    schemas: tuple[dict[str, Any], ...]  # OpenAI function schemas of the granted tools
    handlers: str  # sha256 of the sources that realise them


class ToolContract(Record):
    """`environment/contract.json`. Public; it holds no state and no endpoint (G-02)."""

    protocol: str
    build: str  # release of this package whose handlers were meant
    services: dict[str, ServiceContract]


@cache
def handlers_digest(service: str) -> str:
    """sha256 over the source files that define a service's handlers and tables. Raises UserError."""
    definition = load_service(service)
    modules = sorted({tool.function.__module__ for tool in definition.tools.values()})
    sources = [Path(str(sys.modules[name].__file__)).read_bytes() for name in modules]
    return sha256_hex(b"\0".join(sources))


def realised(grants: tuple[ServiceGrant, ...]) -> ToolContract:
    """The contract of `grants` as this installation would serve it. Raises UserError for unknown services or tools."""
    services: dict[str, ServiceContract] = {}
    for grant in grants:
        schemas = load_service(grant.service).function_schemas
        if unknown := [tool for tool in grant.tools if tool not in schemas]:
            raise UserError(f"service {grant.service} has no tool {unknown[0]!r}; known: {', '.join(schemas)}")
        services[grant.service] = ServiceContract(
            schemas=tuple(schemas[tool] for tool in grant.tools), handlers=handlers_digest(grant.service)
        )
    return ToolContract(protocol=PROTOCOL, build=f"journeyman {__version__}", services=services)


def check_realised(requested: ToolContract, grants: tuple[ServiceGrant, ...], where: str) -> None:
    """Refuse handlers other than those requested. Raises UserError naming both."""
    served = realised(grants)
    for name, contract in requested.services.items():
        found = served.services.get(name)
        if found != contract:
            asked = f"{requested.build} handlers {contract.handlers[:12]}"
            have = "no such service" if found is None else f"{served.build} handlers {found.handlers[:12]}"
            raise UserError(f"{where}: service {name} was made for {asked}, installed is {have}: make the task again")
