"""Autograd functions of the lean forward: fewer passes over memory than composed ones, gradients checked in float64.

Legend: T = packed ids, n = queries, H = query heads, G = key/value heads (H = G r), e = head size, M = keys of a piece.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


@dataclass(frozen=True)
class Block:
    """Queries lo..hi-1 of one piece: they see `keys` first keys of it; `mask` [hi-lo, w] is added to the last w."""

    lo: int
    hi: int
    keys: int
    mask: Tensor | None


@dataclass(frozen=True)
class PieceKeys:
    """Keys of one piece: the root's (if `root`), then these ranges of the packed keys, in order; and its queries."""

    root: bool
    ranges: tuple[tuple[int, int], ...]
    blocks: tuple[Block, ...]


def _fold(x: Tensor, groups: int) -> Tensor:
    """[c, H, e] -> [G, r c, e]: query heads of one key head become rows of one matrix product."""
    c, heads, e = x.shape
    return x.view(c, groups, heads // groups, e).permute(1, 2, 0, 3).reshape(groups, -1, e)


def _unfold(x: Tensor, c: int) -> Tensor:
    """[G, r c, e] -> [c, H, e] (a view)."""
    groups, rows, e = x.shape
    return x.view(groups, rows // c, c, e).permute(2, 0, 1, 3)


def _keys(packed: Tensor, root: Tensor | None, piece: PieceKeys) -> Tensor:
    """[G, M, e] keys or values of a piece."""
    parts = [packed[a:b] for a, b in piece.ranges]
    if piece.root and root is not None:
        parts.insert(0, root)
    joined = parts[0] if len(parts) == 1 else torch.cat(parts)
    return joined.transpose(0, 1)


def _probabilities(q: Tensor, k: Tensor, block: Block) -> Tensor:
    """[G, r c, keys] softmax of scaled scores; q is folded and scaled."""
    scores = torch.matmul(q, k[:, : block.keys].transpose(1, 2))
    if block.mask is not None:
        c, width = block.mask.shape
        scores.view(scores.shape[0], -1, c, block.keys)[..., block.keys - width :] += block.mask
    return torch.softmax(scores, dim=-1)


class PieceAttention(torch.autograd.Function):
    """Causal attention of pieces over their ancestors: q [n, H, e], k and v [T, G, e], root k and v [R, G, e]."""

    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        root_k: Tensor | None,
        root_v: Tensor | None,
        pieces: Sequence[PieceKeys],
    ) -> Tensor:
        """[n, H, e]. Probabilities are computed again in the backward: as fast, and memory stays linear in T."""
        groups, scale = k.shape[1], q.shape[-1] ** -0.5
        out = torch.empty_like(q, memory_format=torch.contiguous_format)
        for piece in pieces:
            keys, values = _keys(k, root_k, piece), _keys(v, root_v, piece)
            for block in piece.blocks:
                p = _probabilities(_fold(q[block.lo : block.hi], groups) * scale, keys, block)
                mixed = torch.matmul(p, values[:, : block.keys])
                c = block.hi - block.lo
                out[block.lo : block.hi].view(c, groups, -1, q.shape[-1]).copy_(_unfold(mixed, c))
        ctx.save_for_backward(q, k, v, root_k, root_v, out)
        ctx.pieces, ctx.scale = pieces, scale
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of q, k, v and the root's k, v."""
        q, k, v, root_k, root_v, out = ctx.saved_tensors
        groups, e = k.shape[1], q.shape[-1]
        dq, dk, dv = torch.empty_like(q), torch.zeros_like(k), torch.zeros_like(v)
        droot_k = None if root_k is None else torch.zeros_like(root_k)
        droot_v = None if root_v is None else torch.zeros_like(root_v)
        for piece in ctx.pieces:
            keys, values = _keys(k, root_k, piece), _keys(v, root_v, piece)
            piece_dk, piece_dv = torch.zeros(keys.shape, dtype=k.dtype), torch.zeros(keys.shape, dtype=v.dtype)
            for block in piece.blocks:
                folded = _fold(q[block.lo : block.hi], groups) * ctx.scale
                p = _probabilities(folded, keys, block)
                g = _fold(grad[block.lo : block.hi], groups)
                delta = (g * _fold(out[block.lo : block.hi], groups)).sum(-1, keepdim=True)
                piece_dv[:, : block.keys] += torch.matmul(p.transpose(1, 2), g)
                ds = torch.matmul(g, values[:, : block.keys].transpose(1, 2)).sub_(delta).mul_(p)
                piece_dk[:, : block.keys] += torch.matmul(ds.transpose(1, 2), folded)
                c = block.hi - block.lo
                part = torch.matmul(ds, keys[:, : block.keys]).mul_(ctx.scale)
                dq[block.lo : block.hi].view(c, groups, -1, e).copy_(_unfold(part, c))
            _scatter(piece_dk, dk, droot_k, piece)
            _scatter(piece_dv, dv, droot_v, piece)
        return dq, dk, dv, droot_k, droot_v, None


def _scatter(piece: Tensor, packed: Tensor, root: Tensor | None, where: PieceKeys) -> None:
    """Add a piece's gradient [G, M, e] to where its keys came from."""
    grad = piece.transpose(0, 1)
    at = 0
    if where.root and root is not None:
        root += grad[: root.shape[0]]
        at = root.shape[0]
    for a, b in where.ranges:
        packed[a:b] += grad[at : at + b - a]
        at += b - a


class RmsNorm(torch.autograd.Function):
    """x / rms(x) * weight for x [T, d]."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
        """[T, d]"""
        inverse = torch.linalg.vector_norm(x, dim=-1, keepdim=True).square_().div_(x.shape[-1]).add_(epsilon).rsqrt_()
        ctx.save_for_backward(x, weight, inverse)
        normed: Tensor = (x * inverse).mul_(weight)
        return normed

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """dx = inv (g w) - x inv^3 (g w . x) / d ; dw = sum_t g x inv."""
        x, weight, inverse = ctx.saved_tensors
        product = grad * x
        dot = torch.mv(product, weight)[:, None]
        dw = torch.mv(product.t(), inverse[:, 0])
        dx = (grad * weight).mul_(inverse)
        return dx.addcmul_(x, inverse.pow(3).mul_(dot), value=-1.0 / x.shape[-1]), dw, None


class Rotary(torch.autograd.Function):
    """Rotary embedding (halves convention) of x [T, heads, e] with cos and sin [T, 1, e/2]."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """[T, heads, e]"""
        ctx.save_for_backward(cos, sin)
        return _rotate(x, cos, sin, 1.0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """The inverse rotation."""
        cos, sin = ctx.saved_tensors
        return _rotate(grad, cos, sin, -1.0), None, None


def _rotate(x: Tensor, cos: Tensor, sin: Tensor, sign: float) -> Tensor:
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    out = torch.empty(x.shape, dtype=x.dtype)
    torch.mul(a, cos, out=out[..., :half]).addcmul_(b, sin, value=-sign)
    torch.mul(b, cos, out=out[..., half:]).addcmul_(a, sin, value=sign)
    return out


class SwiGlu(torch.autograd.Function):
    """silu(gate) * up for gate_up [T, 2 I], gate first."""

    @staticmethod
    def forward(ctx: Any, gate_up: Tensor) -> Tensor:
        """[T, I]"""
        gate, up = gate_up.chunk(2, dim=-1)
        active: Tensor = torch.nn.functional.silu(gate)
        ctx.save_for_backward(gate_up, active)
        product: Tensor = active * up
        return product

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        """[T, 2 I]"""
        gate_up, active = ctx.saved_tensors
        gate, up = gate_up.chunk(2, dim=-1)
        out = torch.empty_like(gate_up)
        half = gate.shape[-1]
        torch.mul(grad, active, out=out[:, half:])
        torch.ops.aten.silu_backward.grad_input(grad * up, gate, grad_input=out[:, :half])
        return out


class TemperedLogProb(torch.autograd.Function):
    """log_softmax(logits / temperature)[rows, targets] [n] and each target's entropy [n] in nats (no gradient)."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor, rows: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
        """logits [r, vocabulary]; several targets may share a row."""
        z = logits / temperature if temperature != 1.0 else logits
        normaliser = torch.logsumexp(z, dim=-1)
        p = (z - normaliser[:, None]).exp_()
        entropy = normaliser - torch.linalg.vecdot(p, z)
        ctx.save_for_backward(p, targets, rows)
        ctx.temperature = temperature
        entropies = entropy[rows]
        ctx.mark_non_differentiable(entropies)
        return z[rows, targets] - normaliser[rows], entropies

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        """(sum over a row's targets of g (onehot - p)) / temperature."""
        p, targets, rows = ctx.saved_tensors
        scaled = grad / ctx.temperature
        total = torch.zeros(p.shape[0], dtype=p.dtype, device=p.device).index_add_(0, rows, scaled)
        out = p * -total[:, None]
        return out.index_put_((rows, targets), scaled, accumulate=True), None, None, None
