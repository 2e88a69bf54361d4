"""Known values of every equation the learner uses: small inputs worked out by hand, and what the code makes of them.

Numbers V1-V7: V1 CISPO, V2 baselines and aggregations, V3 routing replay, V5 shaping, V6 HDPO, V7 SAO.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import log

import numpy as np
import torch
from torch import Tensor, nn

from journeyman.records.base import Record
from journeyman.records.batch import Group, Member
from journeyman.training.advantages import centred, grpo, rloo
from journeyman.training.credit import CreditConfig, credit
from journeyman.training.critic import value_loss
from journeyman.training.gae import estimate, explained_variance, length_adaptive
from journeyman.training.hdpo import HdpoConfig, channels
from journeyman.training.length import LengthConfig
from journeyman.training.objectives.base import Objective, TokenBatch, Totals
from journeyman.training.objectives.cispo import Cispo
from journeyman.training.objectives.dis import Dis
from journeyman.training.objectives.gspo import Gspo
from journeyman.training.objectives.ppo import aggregate
from journeyman.training.objectives.reinforce import Reinforce
from journeyman.training.routing_replay import gates
from journeyman.training.shaping import ShapingConfig, shape

TOLERANCE = 2e-6
"""Absolute; the values are written with six digits."""


class Vector(Record):
    """One known value and what the code gives for it."""

    name: str
    expected: tuple[float, ...]
    found: tuple[float, ...]

    @property
    def gap(self) -> float:
        """Largest difference of an entry; infinite where the lengths differ."""
        if len(self.found) != len(self.expected):
            return float("inf")
        return max(abs(a - b) for a, b in zip(self.found, self.expected, strict=True))

    @property
    def holds(self) -> bool:
        """Whether the gap is within the tolerance."""
        return self.gap <= TOLERANCE


def vectors() -> list[Vector]:
    """Every known value, computed now."""
    told = chain(_policy_gradients(), _baselines(), _routing(), _shaping(), _two_channels(), _critics())
    return [
        Vector(name=name, expected=tuple(map(float, expected)), found=tuple(map(float, found)))
        for name, found, expected in told
    ]


Told = Iterator[tuple[str, Iterable[float], Iterable[float]]]  # name, found, expected


def token_batch(
    logp: Sequence[float],
    behaviour: Sequence[float],
    advantage: Sequence[float],
    mask: Sequence[int],
    member: Sequence[int] | None = None,
    old: Sequence[float] | None = None,
    group: Sequence[int] | None = None,
) -> TokenBatch:
    """A micro-batch of given tokens [T] that is a whole batch; one member or one group where none is given."""
    owner, groups = (torch.tensor(index or [0] * len(logp)) for index in (member, group))
    kept = torch.tensor(mask, dtype=torch.bool)

    def count(index: Tensor) -> Tensor:
        return torch.tensor([float(((index == i) & kept).sum()) for i in index]).clamp(min=1)

    return TokenBatch(
        logp=torch.tensor(logp, dtype=torch.float32).requires_grad_(),
        behaviour=torch.tensor(behaviour, dtype=torch.float32),
        advantage=torch.tensor(advantage, dtype=torch.float32),
        mask=kept,
        member=owner,
        group=groups,
        member_tokens=count(owner),
        group_tokens=count(groups),
        old=None if old is None else torch.tensor(old, dtype=torch.float32),
    )


def logs(p: Sequence[float]) -> list[float]:
    """[T] log-probs of probabilities."""
    return [log(x) for x in p]


THETA = logs([0.5, 0.5, 0.9, 0.8, 0.1])
ROLLOUT = logs([0.5, 0.25, 0.9, 0.1, 0.2])
V1_TOTALS = Totals(tokens=4, members=2, groups=1)


def v1(old: Sequence[float] | None = None) -> TokenBatch:
    """Two members of three and two tokens, advantages +0.5 and -0.5; the third token is an observation."""
    return token_batch(THETA, ROLLOUT, [0.5, 0.5, 0.5, -0.5, -0.5], [1, 1, 0, 1, 1], [0, 0, 0, 1, 1], old and logs(old))


def gradient(objective: Objective, batch: TokenBatch, totals: Totals = V1_TOTALS) -> list[float]:
    """dL/dlogp [T]."""
    (found,) = torch.autograd.grad(objective.loss(batch, totals).value, batch.logp)
    return [float(x) for x in found]


def _policy_gradients() -> Told:
    def loss(objective: Objective, batch: TokenBatch, totals: Totals) -> list[float]:
        return [objective.loss(batch, totals).value.item()]

    old = [0.4, 0.4, 0.9, 0.4, 0.15]
    yield "V1 CISPO loss", loss(Cispo(), v1(), V1_TOTALS), [-0.023446]
    yield "V1 CISPO gradient", gradient(Cispo(), v1()), [-0.125, -0.25, 0, 0.625, 0.0625]
    yield "V1b three policies, loss", loss(Cispo(), v1(old), V1_TOTALS), [0.004447]
    three = gradient(Cispo(), v1(old))
    yield "V1b three policies, gradient", three, [-0.125, -0.25, 0, 0.5, 0.0625]
    capped = token_batch(logs([0.8, 0.9]), logs([0.5, 0.3]), [1, 1], [1, 1])
    yield "V2 importance sampling cut at 2", gradient(Reinforce(cap=2.0), capped, Totals(2, 1, 1)), [-0.8, -1.0]
    one = token_batch(logs([1.2, 1.1, 0.9]), [0.0] * 3, [1.0] * 3, [1] * 3)
    yield "V2 GSPO ratio", loss(Gspo(clip_high=1.0), one, Totals(3, 1, 1)), [-1.059105]
    losses = torch.tensor([1.0] * 2 + [2.0] * 6 + [4.0] * 2 + [0.0] * 2)
    member, group = [0] * 2 + [1] * 6 + [2] * 2 + [3] * 2, [0] * 8 + [1] * 4
    batch = token_batch([0.0] * 12, [0.0] * 12, [1.0] * 12, [1] * 12, member, group=group)
    totals = Totals(tokens=12, members=4, groups=2)
    found = [aggregate(losses, batch, totals, how, 8).item() for how in ("token", "prompt", "sample", "constant")]
    yield "V2 aggregations", found, [1.833333, 1.875, 1.75, 0.6875]


def _baselines() -> Told:
    r, ok = np.array([1, 0, 0.5, 0.5]), np.ones(4, dtype=bool)
    yield "V2 centred", centred(r, ok), [0.5, -0.5, 0, 0]
    yield "V2 GRPO", grpo(r, ok), [1.224742, -1.224742, 0, 0]
    yield "V2 GRPO of the population", grpo(r, ok, unbiased=False), [1.41421, -1.41421, 0, 0]
    yield "V2 RLOO", rloo(r, ok), [0.666667, -0.666667, 0, 0]
    quarantined = credit(_group([1.0, 0.0, None, 0.2]), CreditConfig())
    yield "V2 a quarantined member", quarantined.advantages, [0.6, -0.4, 0, -0.2]
    rows: list[list[float | None]] = [[1, 2, 3, 4], [10, 12], [5, 6, 7]]
    uneven = [a for row in rows for a in credit(_group(row), CreditConfig()).advantages]
    yield "V2 uneven groups", uneven, [-1.5, -0.5, 0.5, 1.5, -1, 1, -1, 0, 1]


class _Router(nn.Module):
    norm_topk_prob = True


class _Sigmoid(_Router):
    e_score_correction_bias = torch.tensor([9.0, 0, 0, 0])
    routed_scaling_factor = 2.5


def _routing() -> Told:
    logits = torch.tensor([[2.0, 1.0, 0.0, -1.0]]).requires_grad_()
    natural, other = torch.tensor([[0, 1]]), torch.tensor([[0, 2]])
    replayed = gates(_Router(), logits, other)[0]
    (slope,) = torch.autograd.grad(replayed[0], logits, retain_graph=True)
    yield "V3 natural gates", gates(_Router(), logits, natural)[0].tolist(), [0.731059, 0.268941]
    yield "V3 replayed gates", replayed.tolist(), [0.880797, 0.119203]
    yield "V3 slope of a replayed gate", slope[0].tolist(), [0.104994, 0, -0.104994, 0]
    yield "V3 replayed sigmoid gates", gates(_Sigmoid(), logits, other)[0].tolist(), [1.594726, 0.905274]


def _group(
    rewards: Sequence[float | None],
    turns: Sequence[int] = (),
    tokens: Sequence[int] = (),
    invalid: Sequence[int] = (),
    prompt: Sequence[int] = (),
) -> Group:
    """A group of members with these rewards (None: quarantined) and what they used."""
    used: Mapping[str, Sequence[int]] = {
        "turns": turns,
        "sampled_tokens": tokens,
        "invalid_calls": invalid,
        "prompt_tokens": prompt,
    }
    members = [
        Member(episode=f"e{i}", valid=False, cause="engine: lost")
        if reward is None
        else Member(episode=f"e{i}", valid=True, reward=reward, **{k: v[i] for k, v in used.items() if v})
        for i, reward in enumerate(rewards)
    ]
    return Group(id="g", task="t", members=tuple(members))


def _shaping() -> Told:
    def shaped(group: Group, **settings: bool) -> list[float]:
        return [s.reward for s in shape(group.members, ShapingConfig(**settings)) if s is not None]

    used = ([100, 200, 250, 50], [20_000, 60_000, 150_000, 120_000], [0, 3, 20, 1])
    a, b = _group([0.8, 0.4, 0.0, 0.6], *used), _group([0.0] * 4, *used)
    yield "V5a shaped reward", shaped(a), [0.8, 0.04, -0.8, 0.28]
    yield "V5a advantage", credit(a, CreditConfig()).advantages, [0.72, -0.04, -0.88, 0.2]
    yield "V5b nobody above zero", shaped(b), [0, -0.06, -0.2, -0.02]
    yield "V5b advantage", credit(b, CreditConfig()).advantages, [0.07, 0.01, -0.13, 0.05]
    long = _group([0.0] * 3, tokens=[20_000, 160_000, 20_000])
    yield "V5c extreme length, gated", shaped(long), [0, 0, 0]
    yield "V5d extreme length, not gated", shaped(long, gate_extreme=False), [0, -0.5, 0]
    yield "V5e at the turn cap", shaped(_group([0.7, 0.3], turns=[250, 300], tokens=[200_000, 1])), [0, 0]
    yield "V5f below zero nothing fades", shaped(_group([-0.2, 0.5], turns=[250, 130])), [-0.2, 0.48]
    three = _group([1.0, 1.0, 0.0], turns=[10, 5, 10], tokens=[100, 50, 100], prompt=[400, 200, 400])
    linear = credit(three, CreditConfig(length=LengthConfig()))
    yield "V5g linear penalty", [s.reward for s in linear.shaped if s], [0.7, 0.85, -0.3]
    yield "V5g advantage", linear.advantages, [0.283333, 0.433333, -0.716667]


def _two_channels() -> Told:
    accuracy, steps = np.array([1, 1, 1, 0, 0, 0.5]), np.array([10.0, 20, 30, 8, 24, 15])
    ok = np.ones(6, dtype=bool)

    def total(config: HdpoConfig) -> list[float]:
        both = channels(accuracy, accuracy, steps, ok, config)
        return [float(a + e) for a, e in zip(both.accuracy, both.efficiency, strict=True)]

    both = channels(accuracy, accuracy, steps, ok, HdpoConfig(efficiency_weight=1.0))
    yield "V6 accuracy channel", both.accuracy, [0.416667, 0.416667, 0.416667, -0.583333, -0.583333, -0.083333]
    yield "V6 efficiency channel", both.efficiency, [0.5, 0, -0.5, 0.5, -0.5, 0]
    won = [0.491667, 0.416667, 0.341667]
    yield "V6 HDPO", total(HdpoConfig()), [*won, -0.508333, -0.658333, -0.083333]
    yield "V6 positive strata", total(HdpoConfig(strata="positive")), [*won, -0.583333, -0.583333, -0.083333]
    divided = [0.922578, 0.847578, 0.772578, -1.111609, -1.261609, -0.169516]
    yield "V6 accuracy by its deviation", total(HdpoConfig(accuracy_std=True)), divided
    correct = _group([1.0] * 4, turns=[10, 20, 30, 20])
    alike = credit(correct, CreditConfig(advantage="hdpo", shaping=ShapingConfig.off()))
    yield "V6 all correct", alike.advantages, [0.075, 0, -0.075, 0]
    tools = np.array([1.0, 0.5, 0.25, 0.0])
    yield "V6 Metis's tool channel", grpo(tools, tools > 0), [1.091087, -0.218217, -0.872869, 0]


def _critics() -> Told:
    seen = [np.array([0.4, 0.5, 0.6]), np.array([0.7, 0.8])]  # values at sampled tokens; one observation was between
    fixed, adaptive = estimate(seen, 1.0, lam=0.9), estimate(seen, 1.0)
    yield "V7a GAE, lambda 0.9", np.concatenate(fixed.advantages), [0.41634, 0.3726, 0.324, 0.28, 0.2]
    yield "V7a targets", np.concatenate(fixed.targets), [1, 1, 1, 1, 1]
    adapted = [0.365875, 0.335496, 0.300444, 0.273333, 0.2]
    yield "V7b GAE, lambda by length", np.concatenate(adaptive.advantages), adapted
    blank = np.concatenate(estimate([np.zeros(3), np.zeros(2)], 1.0).advantages)
    yield "V7c without values", blank, [0.564168, 0.650963, 0.751111, 0.866667, 1]
    yield "V7d lambda^L", [length_adaptive(n, 1.5) ** n for n in (5, 100, 10**6)], [0.488946, 0.512272, 0.513417]
    lams = [*(length_adaptive(n, 1.5) for n in (1, 10, 1000)), length_adaptive(10, 0.05)]
    yield "V7e lambda", lams, [0.333333, 0.933333, 0.999333, 0]
    masked = estimate([np.zeros(0), np.array([0.7])], 1.0).advantages
    yield "V7f a segment without sampled tokens", np.concatenate(masked), [0.3]
    rho = [1, 0.19, 0.21, 3.99, 4.01, 5]
    six = token_batch(logs([0.1 * x for x in rho]), logs([0.1] * 6), [1, 1, 1, -1, -1, 1], [1] * 6)
    yield "V7g DIS loss", [Dis().loss(six, Totals(6, 6, 1)).value.item()], [-0.092021]
    yield "V7g DIS gradient", gradient(Dis(), six, Totals(6, 6, 1)), [-0.166667, 0, -0.035, 0.665, 0, 0]
    literal = Dis(mode="bounds").accepted(torch.tensor(rho, dtype=torch.float32))
    yield "V7g DIS, numbers as bounds", literal.tolist(), [1, 0, 0, 0, 0, 0]
    targets, values = np.array([1.0, 1, 0, 0]), np.array([0.8, 0.6, 0.3, 0.1])
    yield "V7h explained variance", [explained_variance(targets, values) or 0.0], [0.71]
    t, v, before = torch.from_numpy(targets), torch.from_numpy(values), torch.full((4,), 0.5, dtype=torch.float64)
    halves = [value_loss(v, t, before, clip).item() / 4 for clip in (None, 0.2)]
    yield "V7h value loss, plain and clipped", halves, [0.0375, 0.05375]
