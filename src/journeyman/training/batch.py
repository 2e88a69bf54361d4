"""From an RL dataset and its credit to arrays: every trained token once, with its log-prob, advantage and member."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from journeyman.errors import UserError
from journeyman.store.dataset import Dataset, RowTokens
from journeyman.training.credit import GroupCredit
from journeyman.training.objectives.base import TokenBatch, Totals
from journeyman.training.prefix import TrainRow


@dataclass
class RlBatch:
    """Rows of kept groups. Lists are per row; a member's segments share its index."""

    rows: list[TrainRow] = field(default_factory=list)
    behaviour: list[npt.NDArray[np.float32]] = field(default_factory=list)  # [n] at the row's targets
    advantage: list[float] = field(default_factory=list)
    efficiency: list[float] = field(default_factory=list)  # HDPO's second channel; empty: one channel
    reward: list[float] = field(default_factory=list)  # shaped, of the row's member
    token_advantage: list[npt.NDArray[np.float32]] = field(default_factory=list)  # [n] each; empty: the row's for all
    too_long: int = 0  # segments left out because they are longer than the objective allows
    member: list[int] = field(default_factory=list)
    episode: list[str] = field(default_factory=list)
    group: list[int] = field(default_factory=list)
    oldest: dict[str, int] = field(default_factory=dict)  # episode -> oldest version among its trained tokens
    newest: dict[str, int] = field(default_factory=dict)

    @property
    def totals(self) -> Totals:
        """Counts over the whole batch: N before the first backward."""
        trained = [i for i, row in enumerate(self.rows) if len(row.targets)]
        return Totals(
            tokens=sum(len(row.targets) for row in self.rows),
            members=len({self.member[i] for i in trained}),
            groups=len({self.group[i] for i in trained}),
        )

    def mean_advantage(self, episode: str, otherwise: float) -> float:
        """Mean over a member's trained tokens where tokens have their own advantages; else its one advantage."""
        own = [a for a, e in zip(self.token_advantage, self.episode, strict=False) if e == episode]
        return float(np.concatenate(own).mean()) if own and sum(map(len, own)) else otherwise

    def atoms(self) -> list[list[int]]:
        """Row indexes by member."""
        found: dict[int, list[int]] = {}
        for index, member in enumerate(self.member):
            found.setdefault(member, []).append(index)
        return list(found.values())

    def _tokens_of(self, owner: Sequence[int]) -> npt.NDArray[np.float32]:
        counts: dict[int, int] = {}
        for index, row in enumerate(self.rows):
            counts[owner[index]] = counts.get(owner[index], 0) + len(row.targets)
        return np.array([max(counts[o], 1) for o in owner], dtype=np.float32)

    def tokens(self, indexes: Sequence[int], logp: Tensor) -> TokenBatch:
        """The objective's view of these rows; `logp` [T] in the same order."""
        sizes = [len(self.rows[i].targets) for i in indexes]

        def spread(values: npt.NDArray[np.float32] | npt.NDArray[np.int64]) -> Tensor:
            return torch.from_numpy(np.repeat(values[list(indexes)], sizes)).to(logp.device)

        behaviour = np.concatenate([self.behaviour[i] for i in indexes])
        if self.token_advantage:
            advantage = torch.from_numpy(np.concatenate([self.token_advantage[i] for i in indexes])).to(logp.device)
        else:
            advantage = spread(np.array(self.advantage, dtype=np.float32))
        return TokenBatch(
            logp=logp,
            behaviour=torch.from_numpy(behaviour).to(logp.device),
            advantage=advantage,
            mask=torch.ones(len(logp), dtype=torch.bool, device=logp.device),
            member=spread(np.array(self.member, dtype=np.int64)),
            group=spread(np.array(self.group, dtype=np.int64)),
            member_tokens=spread(self._tokens_of(self.member)),
            group_tokens=spread(self._tokens_of(self.group)),
            efficiency=spread(np.array(self.efficiency, dtype=np.float32)) if self.efficiency else None,
        )


def train_row(tokens: RowTokens, routes: npt.NDArray[np.int64] | None = None) -> TrainRow:
    """Ids, trained positions and, where recorded, routed experts of a dataset row."""
    return TrainRow(tokens.ids.astype(np.int64), np.flatnonzero(tokens.mask).astype(np.int64), routes)


def assemble(dataset: Dataset, credits: Sequence[GroupCredit], max_tokens: int | None = None) -> RlBatch:
    """Rows of the valid members of kept groups; a segment longer than `max_tokens` is left out and counted.

    Raises UserError where recorded log-probs cannot be trained on.
    """
    batch = RlBatch()
    members = 0
    for number, credit in enumerate(credits):
        second = dict(zip((m.episode for m in credit.group.members), credit.efficiency, strict=False))
        for member, shaped, advantage in credit.valid:
            members += 1
            for index in member.rows:
                tokens = dataset.row(index)
                row = train_row(tokens, dataset.routes(index))
                _note_versions(batch, member.episode, tokens.versions[row.targets])
                if not credit.kept:
                    continue
                if max_tokens is not None and len(row.ids) > max_tokens:
                    batch.too_long += 1
                    continue
                behaviour = tokens.logprobs[row.targets]
                if not np.isfinite(behaviour).all():
                    raise UserError(f"{member.episode}: trained tokens without a finite log-prob: rebuild the batch")
                if not abs(advantage) <= float(np.finfo(np.float32).max):
                    raise UserError(
                        f"{member.episode}: reward {member.reward} gives advantage {advantage}, which no float32 "
                        "holds: give rewards near 1"
                    )
                batch.rows.append(row)
                batch.behaviour.append(behaviour.astype(np.float32))
                batch.advantage.append(advantage)
                if second:
                    batch.efficiency.append(second[member.episode])
                batch.reward.append(shaped.reward)
                batch.member.append(members)
                batch.episode.append(member.episode)
                batch.group.append(number)
    return batch


def _note_versions(batch: RlBatch, episode: str, versions: npt.NDArray[np.int32]) -> None:
    if len(versions):
        batch.oldest[episode] = min(batch.oldest.get(episode, 1 << 30), int(versions.min()))
        batch.newest[episode] = max(batch.newest.get(episode, -1), int(versions.max()))
