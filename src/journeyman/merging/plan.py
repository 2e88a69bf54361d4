"""What happens to every key of every parent, decided from headers before a byte is written; no key vanishes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from journeyman.errors import UserError
from journeyman.merging.base import MergeMethod
from journeyman.merging.experts import Block, Projection, canonical, find_blocks
from journeyman.merging.layout import Layout, TensorInfo, row_chunks

Treatment = Literal["merged", "equal", "inherited"]
HEAD, EMBEDDING = "lm_head.weight", "model.embed_tokens.weight"
_CHUNK = 1 << 22


@dataclass(frozen=True)
class Spread:
    """An output tensor of experts, merged projection by projection from wherever each owner keeps them."""

    home: Block  # as it is written
    blocks: tuple[Block, ...]  # of the owners
    base: Block | None  # of the common ancestor, where the method needs one
    parts: tuple[tuple[int, tuple[Projection, ...]], ...]  # what the tensor holds, in storage order


@dataclass(frozen=True)
class Step:
    """One output tensor. `owners`: indexes of the parents that have it; `keys`: its name in each of them."""

    key: str
    treatment: Treatment
    like: TensorInfo  # shape, dtype (the kept parent's, or its owner's)
    owners: tuple[int, ...]
    giver: int  # the owner whose bytes are written where it is not merged
    keys: tuple[str, ...] = ()  # empty where spread
    base_key: str = ""
    spread: Spread | None = None  # None: the tensor is one in every owner and merged as one


@dataclass(frozen=True)
class Plan:
    """Output shards with their tensors in storage order."""

    shards: dict[str, tuple[Step, ...]]
    left_out: tuple[tuple[int, str], ...] = ()  # (parent, key): several but not all parents have it, another gives it
    experts_compared: int = 0

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

    A key that only some parents have is inherited from its first owner (the kept parent if it is one), un-averaged.
    Non-float tensors must be equal. Experts pair up across layouts and must correspond (see correspondence).
    """
    from journeyman.merging.correspondence import check_correspondence

    _check_call(len(parents), base, method, keep)
    blocks = [find_blocks(parent) for parent in parents]
    compared = check_correspondence(parents, blocks, keep)
    planner = _Planner(parents, base, method, blocks, {} if base is None else find_blocks(base))
    block_of = [{key: block for block in found.values() for key in block.keys.values()} for found in blocks]
    order = [keep, *(i for i in range(len(parents)) if i != keep)]
    shards: dict[str, list[Step]] = {name: [] for name in parents[keep].shards}
    last = parents[keep].shards[-1]
    seen: set[str] = set()
    for index in order:
        for key, info in parents[index].tensors.items():
            block = block_of[index].get(key)
            name = canonical(key) if block is None else block.name
            step = planner.plain(key, name, order) if block is None else planner.experts(key, block, info, order)
            if step.giver == index and (block is not None or name not in seen):
                shards[info.shard if index == keep else last].append(step)
            seen.add(name)
    steps = [step for found in shards.values() for step in found]
    return Plan({n: tuple(s) for n, s in shards.items()}, _left_out(steps, parents), compared)


def _check_call(count: int, base: Layout | None, method: MergeMethod, keep: int) -> None:
    if method.parents is not None and count != method.parents:
        raise UserError(f"{method.name} merges exactly {method.parents} parents, {count} are given")
    if count < 2:
        raise UserError(f"{count} parent is given: a merge needs at least two")
    if not 0 <= keep < count:
        raise UserError(f"keep = {keep} is no parent: give 0 to {count - 1}")
    if method.needs_base and base is None:
        raise UserError(f"{method.name} works on task vectors: give the common ancestor as base")
    if base is not None and not method.needs_base:
        raise UserError(f"{method.name} takes no base: leave {base.directory} out")


def _left_out(steps: Sequence[Step], parents: Sequence[Layout]) -> tuple[tuple[int, str], ...]:
    """Keys that no step reads: other owners of what is inherited."""
    read: set[tuple[int, str]] = set()
    for step in steps:
        if step.treatment == "inherited":
            read.add((step.giver, step.key))
        elif step.spread is not None:
            read |= {(i, k) for i, b in zip(step.owners, step.spread.blocks, strict=True) for k in b.keys.values()}
        else:
            read |= set(zip(step.owners, step.keys, strict=True))
    return tuple((i, key) for i, parent in enumerate(parents) for key in parent.tensors if (i, key) not in read)


@dataclass(frozen=True)
class _Planner:
    parents: Sequence[Layout]
    base: Layout | None
    method: MergeMethod
    blocks: Sequence[Mapping[str, Block]]
    base_blocks: Mapping[str, Block]

    def _name_in(self, layout: Layout, name: str) -> str:
        """The stored key of a canonical name; "" where there is none. A tied output head is the embedding."""
        for key in (name, name.replace(".mlp.", ".block_sparse_moe.")):
            if key in layout.tensors:
                return key
        if name == HEAD and layout.config.get("tie_word_embeddings") and EMBEDDING in layout.tensors:
            return EMBEDDING
        return ""

    def plain(self, key: str, name: str, order: Sequence[int]) -> Step:
        """A tensor that is one tensor in every owner."""
        named = {i: found for i, parent in enumerate(self.parents) if (found := self._name_in(parent, name))}
        giver = next(i for i in order if i in named and (name == EMBEDDING or named[i] != EMBEDDING))
        owners = tuple(named)
        base_key = "" if self.base is None else self._name_in(self.base, name)
        like = self.parents[giver].tensors[named[giver]]
        self._same_kind(key, like, named, base_key)
        if len(owners) < len(self.parents):
            return Step(key, "inherited", like, owners, giver, tuple(named.values()))
        if not like.floating:
            self._same_bytes(key, named)
            return Step(key, "equal", like, owners, giver, tuple(named.values()))
        if self.method.needs_base and not base_key:
            self._no_ancestor(key)
        return Step(key, "merged", like, owners, giver, tuple(named.values()), base_key)

    def _no_ancestor(self, key: str) -> None:
        where = "" if self.base is None else f" {self.base.directory}"
        raise UserError(f"{key} is in every parent but not in the base{where}: give the common ancestor")

    def _same_kind(self, key: str, like: TensorInfo, named: Mapping[int, str], base_key: str) -> None:
        everyone = [(self.parents[i], k) for i, k in named.items()]
        if self.base is not None and base_key:
            everyone.append((self.base, base_key))
        for layout, stored in everyone:
            found = layout.tensors[stored]
            if found.shape != like.shape:
                raise UserError(
                    f"{key} has shape {list(found.shape)} in {layout.directory} and {list(like.shape)} elsewhere: "
                    "the parents are not of one lineage"
                )
            if found.floating != like.floating:
                raise UserError(f"{key} is {found.dtype} in {layout.directory} and {like.dtype} elsewhere: convert one")

    def _same_bytes(self, key: str, named: Mapping[int, str]) -> None:
        (first, stored), *others = named.items()
        info = self.parents[first].tensors[stored]
        for i, k in others:
            other = self.parents[i].tensors[k]
            ranges = row_chunks(info, _CHUNK) if info.shape else ()
            same = info.dtype == other.dtype and all(
                self.parents[first].rows(stored, a, b).equal(self.parents[i].rows(k, a, b)) for a, b in ranges
            )
            if not same or (not info.shape and not self.parents[first].tensor(stored).equal(self.parents[i].tensor(k))):
                raise UserError(
                    f"{key} ({info.dtype}) differs between parents: tensors that are not floats must be equal"
                )

    def experts(self, key: str, block: Block, like: TensorInfo, order: Sequence[int]) -> Step:
        """A tensor of experts: as one where every owner stores it so and slices are free, else spread."""
        owners = tuple(i for i, found in enumerate(self.blocks) if block.name in found)
        giver = next(i for i in order if i in owners)
        if len(owners) < len(self.parents):
            return Step(key, "inherited", like, owners, giver, tuple(key for _ in owners))
        if not like.floating:
            raise UserError(f"{key} is {like.dtype}: experts are merged as floats, convert them first")
        base = self.base_blocks.get(block.name)
        if self.method.needs_base and base is None:
            self._no_ancestor(key)
        if base is not None and base.shape != block.shape:
            raise UserError(f"{block.name} has other experts in the base: give the common ancestor")
        blocks = tuple(self.blocks[i][block.name] for i in owners)
        ancestors = () if base is None else (base,)
        if self.method.elementwise and all(b == block for b in (*blocks, *ancestors)):
            return Step(key, "merged", like, owners, giver, tuple(key for _ in owners), key if base else "")
        return Step(key, "merged", like, owners, giver, spread=Spread(block, blocks, base, tuple(block.stored(key))))
