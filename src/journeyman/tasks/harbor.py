"""task.toml: Harbor 1.4 for Harbor, and everything of ours under [metadata.journeyman]; both strict.

Invariant: what is written is a pure function of the metadata, and reading refuses every key that writing never makes.
"""

import difflib
from typing import Any

import tomli_w
from pydantic import Field, ValidationError

from journeyman.errors import UserError
from journeyman.records.base import Record, first_fault
from journeyman.records.task import Budget, Requirement, ServiceGrant, TaskMetadata, WorldFile
from journeyman.store.config_file import toml_values

SCHEMA_VERSION = "1.4"
WORKSPACE = "/workspace"


class OurMetadata(Record):
    """[metadata.journeyman]: what Harbor has no field for."""

    format: int = 1
    content_digest: str
    identity: TaskMetadata
    requirements: tuple[Requirement, ...]
    files: tuple[WorldFile, ...]
    services: tuple[ServiceGrant, ...] = ()
    budget: Budget
    negatives: tuple[str, ...] = ()  # names of the plans in solution/negatives, in order
    demonstrations: tuple[str, ...] = ()  # names of the plans in solution/demonstrations, in order


class _Metadata(Record):
    journeyman: OurMetadata


class _TaskSection(Record):
    name: str
    version: str
    description: str
    keywords: tuple[str, ...]


class _Agent(Record):
    timeout_sec: float
    user: str


class _Verifier(Record):
    timeout_sec: float
    environment_mode: str


class _Environment(Record):
    network_mode: str
    workdir: str
    cpus: int
    memory_mb: int


class TaskToml(Record):
    """The whole file."""

    schema_version: str
    artifacts: tuple[str, ...]
    task: _TaskSection
    agent: _Agent
    verifier: _Verifier
    environment: _Environment
    metadata: _Metadata = Field()


def task_toml(ours: OurMetadata) -> bytes:
    """The file's bytes."""
    identity = ours.identity
    document = TaskToml(
        schema_version=SCHEMA_VERSION,
        artifacts=(WORKSPACE,),
        task=_TaskSection(
            name=identity.name,
            version=identity.version,
            description=f"{identity.environment_type}, {identity.size}, seed {identity.seed}",
            keywords=(identity.domain, identity.environment_type, identity.size),
        ),
        agent=_Agent(timeout_sec=ours.budget.policy_seconds, user="agent"),
        verifier=_Verifier(timeout_sec=600.0, environment_mode="separate"),
        environment=_Environment(network_mode="no-network", workdir=WORKSPACE, cpus=1, memory_mb=1024),
        metadata=_Metadata(journeyman=ours),
    )
    return tomli_w.dumps(document.model_dump(mode="json")).encode()


def read_task_toml(data: bytes, where: str) -> TaskToml:
    """Parse the file. Raises UserError naming the first unknown key (and the nearest known one) or wrong value."""
    try:
        return TaskToml.model_validate(toml_values(data.decode()))
    except ValidationError as error:
        raise UserError(f"{where}: {_first(error)}") from None
    except ValueError as error:
        raise UserError(f"{where}: not TOML: {error}") from None


def _first(error: ValidationError) -> str:
    first = error.errors()[0]
    path = [str(part) for part in first["loc"]]
    if first["type"] != "extra_forbidden":
        return first_fault(error)
    near = difflib.get_close_matches(path[-1], _keys(TaskToml, path[:-1]), n=1, cutoff=0.0)
    return f"unknown key {'.'.join(path)!r}" + (f"; did you mean {near[0]!r}?" if near else "")


def _keys(model: Any, path: list[str]) -> list[str]:
    for part in path:
        if part.isdigit():
            continue
        field = model.model_fields.get(part)
        model = field.annotation if field is not None else None
        model = next((a for a in getattr(model, "__args__", ()) if hasattr(a, "model_fields")), model)
        if not hasattr(model, "model_fields"):
            return []
    return list(model.model_fields)
