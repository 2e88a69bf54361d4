"""Whether expert e of one parent is expert e of the other, by cosine; weak or ambiguous correspondences abort.

For every block and every expert e, on rows spread over each projection, against the kept parent A:

    cos(gate_A,e , gate_B,e) >= 0.9, and above cos(gate_A,e , up_B,e) and every cos(gate_A,e , gate_B,e') by >= 0.2

likewise up and down (down has no partner of its shape), and the router rows of A and B must pair up in the same order.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.nn.functional import normalize

from journeyman.errors import UserError
from journeyman.merging.experts import PROJECTIONS, Block, Projection
from journeyman.merging.layout import Layout

STRONG = 0.9
MARGIN = 0.2
ROWS = 8  # of each projection


def check_correspondence(parents: Sequence[Layout], blocks: Sequence[Mapping[str, Block]], keep: int) -> int:
    """Check every block that two parents share; returns how many experts were compared. Raises UserError."""
    compared = 0
    for name, reference in blocks[keep].items():
        kept: dict[Projection, Tensor] | None = None
        for index, layout in enumerate(parents):
            other = blocks[index].get(name)
            if index == keep or other is None:
                continue
            if other.shape != reference.shape:
                raise UserError(
                    f"{name} has (experts, inner, hidden) {other.shape} in {layout.directory} and {reference.shape} in "
                    f"{parents[keep].directory}: the parents are not of one lineage"
                )
            kept = kept or _prints(parents[keep], reference)
            _compare(name, kept, _prints(layout, other), layout)
            _compare_routers(name, parents[keep], layout)
            compared += reference.experts
    return compared


def _prints(layout: Layout, block: Block) -> dict[Projection, Tensor]:
    """[E, rows x columns] unit vectors of each projection."""
    found: dict[Projection, list[Tensor]] = {p: [] for p in PROJECTIONS}
    for expert in range(block.experts):
        gate, up = block.read(layout.rows, expert, ("gate", "up"))
        (down,) = block.read(layout.rows, expert, ("down",))
        for projection, matrix in zip(PROJECTIONS, (gate, up, down), strict=True):
            found[projection].append(_spread(matrix))
    return {p: torch.stack(rows) for p, rows in found.items()}


def _spread(matrix: Tensor) -> Tensor:
    chosen = torch.linspace(0, matrix.shape[0] - 1, min(ROWS, matrix.shape[0])).long()
    return normalize(matrix[chosen].float().flatten(), dim=0)


def _compare(name: str, a: dict[Projection, Tensor], b: dict[Projection, Tensor], layout: Layout) -> None:
    for projection in PROJECTIONS:
        same = a[projection] @ b[projection].T  # [E, E]
        own = same.diagonal()
        rival = (same - 4 * torch.eye(len(own))).amax(1) if len(own) > 1 else torch.full_like(own, -1.0)
        what = "another expert's"
        if projection != "down":
            partner: Projection = "up" if projection == "gate" else "gate"
            crossed = (a[projection] * b[partner]).sum(1)
            if (crossed > rival).any():
                what = f"another expert's or its own {partner}"
            rival = torch.maximum(rival, crossed)
        for expert in range(len(own)):
            if own[expert] < STRONG or own[expert] - rival[expert] < MARGIN:
                kind = "weak" if own[expert] < STRONG else "ambiguous"
                raise UserError(
                    f"{kind} correspondence: {projection} of expert {expert} in {name} has cosine {own[expert]:.3f} "
                    f"with that of {layout.directory} and {rival[expert]:.3f} with {what}: parents whose experts do "
                    "not pair up are not merged"
                )


def _compare_routers(name: str, a: Layout, b: Layout) -> None:
    stem = name.removesuffix(".experts")
    keys = [f"{stem}.{part}.weight" for part in ("gate", "router")]
    keys += [key.replace(".mlp.", ".block_sparse_moe.") for key in keys]
    found = [layout.tensor(k) for layout in (a, b) for k in keys if k in layout.tensors]
    if len(found) != 2 or found[0].shape != found[1].shape:
        return
    left, right = (normalize(t.float(), dim=1) for t in found)
    best = (left @ right.T).argmax(1)
    wrong = (best != torch.arange(len(best))).nonzero().flatten().tolist()
    if wrong:
        raise UserError(
            f"ambiguous correspondence: the router row of expert {wrong[0]} in {name} is nearest to row "
            f"{int(best[wrong[0]])} of {b.directory}: its experts are in another order"
        )
