"""Experts of a mixture, wherever a checkpoint keeps them: one projection of one expert is always the same matrix.

Canonical: gate and up [I, H], down [H, I]. Stored as

    split       P.experts.{e}.{gate,up,down}_proj.weight   (or w1, w3, w2)
    fused       P.experts.gate_up_proj [E, 2I, H] (gate rows, then up rows), P.experts.down_proj [E, H, I]
    transposed  P.experts.gate_up_proj [E, H, 2I], P.experts.down_proj [E, I, H]

and, where config.json names a family that does so (gpt_oss), with gate and up interleaved. The two fused shapes
together tell fused from transposed whatever H and I are: a reading that fits both would need I = 0.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from journeyman.errors import UserError
from journeyman.merging.layout import Layout, TensorInfo

Projection = Literal["gate", "up", "down"]
PROJECTIONS: tuple[Projection, ...] = ("gate", "up", "down")
INTERLEAVED = {"gpt_oss"}
_SPLIT = re.compile(r"^(.*\.experts)\.(\d+)\.(gate_proj|up_proj|down_proj|w1|w2|w3)\.weight$")
_FUSED = re.compile(r"^(.*\.experts)\.(gate_up_proj|down_proj)(?:\.weight)?$")
_NAMES: dict[str, Projection] = {
    "gate_proj": "gate",
    "up_proj": "up",
    "down_proj": "down",
    "w1": "gate",
    "w3": "up",
    "w2": "down",
}
ReadRows = Callable[[str, int, int], Tensor]  # key, first row, last row -> values


def canonical(key: str) -> str:
    """A key under the one name that both spellings of a family share."""
    return key.replace(".block_sparse_moe.", ".mlp.")


@dataclass(frozen=True)
class Block:
    """The experts of one layer as one checkpoint stores them. Legend: E experts, I inner width, H hidden width."""

    name: str  # canonical prefix, ends in .experts
    style: Literal["split", "fused", "transposed"]
    interleaved: bool
    experts: int
    inner: int
    hidden: int
    keys: Mapping[tuple[int, Projection], str]  # split: one each; fused: (-1, "gate") is gate_up, (-1, "down") is down

    @property
    def shape(self) -> tuple[int, int, int]:
        """(E, I, H)."""
        return self.experts, self.inner, self.hidden

    def stored(self, key: str) -> list[tuple[int, tuple[Projection, ...]]]:
        """What a stored tensor holds, in storage order: expert and projections, one row of a fused tensor each."""
        for (expert, projection), name in self.keys.items():
            if name == key:
                if self.style == "split":
                    return [(expert, (projection,))]
                held: tuple[Projection, ...] = ("down",) if projection == "down" else ("gate", "up")
                return [(e, held) for e in range(self.experts)]
        raise KeyError(key)

    def read(self, read: ReadRows, expert: int, projections: Sequence[Projection]) -> list[Tensor]:
        """Canonical matrices of one expert; projections of one stored tensor are read once."""
        if self.style == "split":
            found = []
            for projection in projections:
                key = self.keys[expert, projection]
                rows = self.hidden if projection == "down" else self.inner
                found.append(read(key, 0, rows))
            return found
        key = self.keys[-1, "down" if "down" in projections else "gate"]
        matrix = read(key, expert, expert + 1)[0]
        if self.style == "transposed":
            matrix = matrix.T
        if "down" in projections:
            return [matrix]
        halves = self._halves(matrix)
        return [halves[p] for p in projections]

    def _halves(self, matrix: Tensor) -> dict[str, Tensor]:
        if self.interleaved:
            return {"gate": matrix[0::2], "up": matrix[1::2]}
        return {"gate": matrix[: self.inner], "up": matrix[self.inner :]}

    def join(self, matrices: Sequence[Tensor]) -> Tensor:
        """The stored matrix of one expert from the canonical ones of `stored`'s projections."""
        matrix = matrices[0]
        if len(matrices) == 2:
            gate, up = matrices
            matrix = (
                torch.stack([gate, up], dim=1).reshape(-1, self.hidden) if self.interleaved else torch.cat([gate, up])
            )
        return matrix.T.contiguous() if self.style == "transposed" else matrix


def find_blocks(layout: Layout) -> dict[str, Block]:
    """Blocks by canonical prefix. Raises UserError for a layout that is neither of the known ones, naming it."""
    split: dict[str, dict[tuple[int, Projection], TensorInfo]] = defaultdict(dict)
    fused: dict[str, dict[Projection, TensorInfo]] = defaultdict(dict)
    for key, info in layout.tensors.items():
        if match := _SPLIT.match(key):
            split[canonical(match[1])][int(match[2]), _NAMES[match[3]]] = info
        elif (match := _FUSED.match(key)) and len(info.shape) == 3:
            fused[canonical(match[1])]["down" if match[2] == "down_proj" else "gate"] = info
    if both := sorted(split.keys() & fused.keys()):
        raise UserError(f"{layout.directory}: {both[0]} is stored both per expert and fused: keep one")
    interleaved = str(layout.config.get("model_type", "")) in INTERLEAVED
    blocks = {name: _split_block(name, found, layout) for name, found in split.items()}
    return blocks | {name: _fused_block(name, found, layout, interleaved) for name, found in fused.items()}


def _split_block(name: str, found: dict[tuple[int, Projection], TensorInfo], layout: Layout) -> Block:
    experts = max(e for e, _ in found) + 1
    for expert in range(experts):
        for projection in PROJECTIONS:
            if (expert, projection) not in found:
                raise UserError(f"{layout.directory}: {name} has no {projection} of expert {expert}: it is incomplete")
    inner, hidden = found[0, "gate"].shape
    for (_, projection), info in found.items():
        if info.shape != ((hidden, inner) if projection == "down" else (inner, hidden)):
            raise UserError(f"{layout.directory}: {info.key} has shape {list(info.shape)}, unlike the others of {name}")
    return Block(name, "split", False, experts, inner, hidden, {place: i.key for place, i in found.items()})


def _fused_block(name: str, found: dict[Projection, TensorInfo], layout: Layout, interleaved: bool) -> Block:
    if set(found) != {"gate", "down"}:
        raise UserError(f"{layout.directory}: {name} has not both gate_up_proj and down_proj: it is incomplete")
    (experts, a, b), (others, c, d) = found["gate"].shape, found["down"].shape
    keys: dict[tuple[int, Projection], str] = {(-1, "gate"): found["gate"].key, (-1, "down"): found["down"].key}
    if experts == others and b == c and a == 2 * d:
        return Block(name, "fused", interleaved, experts, d, b, keys)
    if experts == others and a == d and b == 2 * c:
        return Block(name, "transposed", interleaved, experts, c, a, keys)
    raise UserError(
        f"{layout.directory}: {name} has gate_up_proj {[experts, a, b]} and down_proj {[others, c, d]}, which are "
        "neither [E, 2I, H] with [E, H, I] nor [E, H, 2I] with [E, I, H]: this layout is not known"
    )
