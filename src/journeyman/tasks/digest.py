"""The content digest of a task package: nine named inputs, each hashed, then hashed together (G-01).

Invariant: no wall clock, path, endpoint or task name is an input (T-02, G-02, G-05), and every byte of a package that
can change what an attempt does or how it is graded belongs to exactly one input.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from journeyman.records.base import canonical_json, sha256_hex
from journeyman.tasks.contract import ToolContract
from journeyman.tasks.harbor import OurMetadata

INPUTS = (
    "request",
    "initial_state",
    "public_schemas",
    "handlers",
    "protocol",
    "containers",
    "grader",
    "lineage",
    "split",
)


def content_inputs(ours: OurMetadata, contract: ToolContract, files: Mapping[str, bytes]) -> dict[str, str]:
    """sha256 of each of the nine inputs. `files` are the package's files by relative path, task.toml left out."""
    identity = ours.identity
    hashed = {path: sha256_hex(data) for path, data in files.items()}
    world = [f.model_dump(mode="json") for f in ours.files]
    dockerfiles = {path for path in hashed if path.endswith(("Dockerfile", "docker-compose.yaml"))}
    state = _below(hashed, ("environment/workspace/", "environment/services/")) - dockerfiles
    values: dict[str, Any] = {
        "request": [
            hashed["instruction.md"],
            [r.model_dump(mode="json") for r in ours.requirements],
            identity.deliverables,
        ],
        "initial_state": [_pick(hashed, state), world, identity.frozen_time, identity.seed],
        "public_schemas": {
            "schemas": {name: service.schemas for name, service in contract.services.items()},
            "grants": [grant.model_dump(mode="json") for grant in ours.services],
        },
        "handlers": [contract.build, {name: service.handlers for name, service in contract.services.items()}],
        "protocol": [
            contract.protocol,
            identity.schema_version,
            identity.capabilities,
            ours.budget.model_dump(mode="json"),
        ],
        "containers": _pick(hashed, dockerfiles),
        "grader": _pick(hashed, _below(hashed, ("tests/",)) - dockerfiles),
        "lineage": [
            identity.environment_type,
            identity.domain,
            identity.size,
            identity.axes,
            identity.lineage,
            _pick(hashed, _below(hashed, ("solution/",))),
        ],
        "split": [identity.split, identity.trainable],
    }
    return {name: sha256_hex(canonical_json(values[name])) for name in INPUTS}


def content_digest(inputs: Mapping[str, str]) -> str:
    """The package's identity: sha256 over its nine inputs."""
    return sha256_hex(canonical_json({name: inputs[name] for name in INPUTS}))


def _below(hashed: Iterable[str], folders: tuple[str, ...]) -> set[str]:
    return {path for path in hashed if path.startswith(folders)}


def _pick(hashed: Mapping[str, str], paths: set[str]) -> dict[str, str]:
    return {path: hashed[path] for path in sorted(paths)}
