"""Hand-written backward passes equal numerical derivatives in float64."""

import pytest
import torch
from torch.autograd import gradcheck

from journeyman.training.lean_ops import Block, PieceAttention, PieceKeys, RmsNorm, Rotary, SwiGlu, TemperedLogProb


def leaf(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64, requires_grad=True)


def causal(size: int) -> torch.Tensor:
    full = torch.zeros(size, size, dtype=torch.float64).masked_fill_(
        ~torch.ones(size, size).tril().bool(), float("-inf")
    )
    return full[:, 1:]


PLAN = (
    PieceKeys(True, ((0, 3),), (Block(0, 3, 2 + 3, causal(3)),)),
    PieceKeys(True, ((0, 3), (3, 7)), (Block(3, 5, 2 + 3 + 2, causal(2)), Block(5, 7, 2 + 3 + 4, causal(2)))),
)


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_piece_attention(groups: int) -> None:
    q, k, v = leaf(7, 4, 6), leaf(7, groups, 6, seed=1), leaf(7, groups, 6, seed=2)
    root_k, root_v = leaf(2, groups, 6, seed=3), leaf(2, groups, 6, seed=4)
    assert gradcheck(lambda *x: PieceAttention.apply(*x, PLAN), (q, k, v, root_k, root_v))
    out = PieceAttention.apply(q, k, v, root_k, root_v, PLAN)
    keys = torch.cat([root_k, k]).repeat_interleave(4 // groups, 1).transpose(0, 1)
    values = torch.cat([root_v, v]).repeat_interleave(4 // groups, 1).transpose(0, 1)
    mask = torch.ones(7, 9).tril(2).bool()
    expected = torch.nn.functional.scaled_dot_product_attention(q.transpose(0, 1), keys, values, attn_mask=mask)
    torch.testing.assert_close(out, expected.transpose(0, 1))


def test_rms_norm() -> None:
    x, weight = leaf(5, 8), leaf(8, seed=1)
    assert gradcheck(lambda a, b: RmsNorm.apply(a, b, 1e-5), (x, weight))
    torch.testing.assert_close(RmsNorm.apply(x, weight, 1e-5), torch.nn.functional.rms_norm(x, (8,), weight, 1e-5))


def test_rotary() -> None:
    angle = leaf(5, 1, 3, seed=1).detach()
    assert gradcheck(lambda x: Rotary.apply(x, angle.cos(), angle.sin()), (leaf(5, 2, 6),))


def test_swiglu() -> None:
    x = leaf(4, 10)
    assert gradcheck(SwiGlu.apply, (x,))
    gate, up = x.chunk(2, -1)
    torch.testing.assert_close(SwiGlu.apply(x), torch.nn.functional.silu(gate) * up)


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_tempered_log_prob(temperature: float) -> None:
    logits, targets, rows = leaf(3, 5), torch.tensor([4, 0, 0, 2]), torch.tensor([0, 1, 1, 2])
    assert gradcheck(lambda x: TemperedLogProb.apply(x, targets, rows, temperature)[0], (logits,))
    logp, entropy = TemperedLogProb.apply(logits, targets, rows, temperature)
    expected = torch.log_softmax(logits / temperature, -1)
    torch.testing.assert_close(logp, expected[rows, targets])
    torch.testing.assert_close(entropy, -(expected.exp() * expected).sum(-1)[rows])
