"""What happens to every key of every parent, decided from headers before a byte is written; no key vanishes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from journeyman.errors import UserError
from journeyman.merging.base import MergeMethod
from journeyman.merging.layout import Layout, TensorInfo

Treatment = Literal["merged", "equal", "inherited"]


@dataclass(frozen=True)
class Step:
    """One output tensor. `owners`: indexes of the parents that have it."""

    key: str
    treatment: Treatment
    like: TensorInfo  # shape, dtype (the kept parent's, or its owner's)
    owners: tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """Output shards with their tensors in storage order."""

    shards: dict[str, tuple[Step, ...]]

    @property
    def steps(self) -> list[Step]:
        """All tensors."""
        return [step for steps in self.shards.values() for step in steps]

    def keys(self, treatment: Treatment) -> list[str]:
        """Keys treated so."""
        return [step.key for step in self.steps if step.treatment == treatment]

    @property
    def total_bytes(self) -> int:
        """Bytes of all tensors that will be written."""
        return sum(step.like.bytes for step in self.steps)


def make_plan(parents: Sequence[Layout], base: Layout | None, method: MergeMethod, keep: int) -> Plan:
    """Decide every key. Raises UserError where parents are not of one lineage, naming the key and what differs.

    A key that only some parents have is inherited from its first owner, un-averaged. Non-float tensors must be equal.
    """
    if method.parents is not None and len(parents) != method.parents:
        raise UserError(f"{method.name} merges exactly {method.parents} parents, {len(parents)} are given")
    if len(parents) < 2:
        raise UserError(f"{len(parents)} parent is given: a merge needs at least two")
    if not 0 <= keep < len(parents):
        raise UserError(f"keep = {keep} is no parent: give 0 to {len(parents) - 1}")
    if method.needs_base and base is None:
        raise UserError(f"{method.name} works on task vectors: give the common ancestor as base")
    order = [keep, *(i for i in range(len(parents)) if i != keep)]
    shards: dict[str, list[Step]] = {name: [] for name in parents[keep].shards}
    seen: set[str] = set()
    for index in order:
        for key, info in parents[index].tensors.items():
            if key in seen:
                continue
            seen.add(key)
            step = _step(key, info, parents, base)
            shards[info.shard if index == keep else parents[keep].shards[-1]].append(step)
    return Plan({name: tuple(steps) for name, steps in shards.items()})


def _step(key: str, like: TensorInfo, parents: Sequence[Layout], base: Layout | None) -> Step:
    owners = tuple(i for i, parent in enumerate(parents) if key in parent.tensors)
    everyone = [parents[i] for i in owners] + ([base] if base is not None and key in base.tensors else [])
    for other in everyone:
        found = other.tensors[key]
        if found.shape != like.shape:
            raise UserError(
                f"{key} has shape {list(found.shape)} in {other.directory} and {list(like.shape)} elsewhere: "
                "the parents are not of one lineage"
            )
        if found.floating != like.floating:
            raise UserError(f"{key} is {found.dtype} in {other.directory} and {like.dtype} elsewhere: convert one")
    if len(owners) < len(parents):
        return Step(key, "inherited", like, owners)
    if not like.floating:
        first = parents[owners[0]]
        for i in owners[1:]:
            if parents[i].raw(key).tobytes() != first.raw(key).tobytes():
                raise UserError(
                    f"{key} ({like.dtype}) differs between parents: tensors that are not floats must be equal"
                )
        return Step(key, "equal", like, owners)
    if base is not None and key not in base.tensors:
        raise UserError(f"{key} is in every parent but not in the base {base.directory}: give the common ancestor")
    return Step(key, "merged", like, owners)
