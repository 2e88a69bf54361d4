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
    member: list[int] = field(default_factory=list)
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
        return TokenBatch(
            logp=logp,
            behaviour=torch.from_numpy(behaviour).to(logp.device),
            advantage=spread(np.array(self.advantage, dtype=np.float32)),
            mask=torch.ones(len(logp), dtype=torch.bool, device=logp.device),
            member=spread(np.array(self.member, dtype=np.int64)),
            group=spread(np.array(self.group, dtype=np.int64)),
            member_tokens=spread(self._tokens_of(self.member)),
            group_tokens=spread(self._tokens_of(self.group)),
        )


def train_row(tokens: RowTokens) -> TrainRow:
    """Ids and trained positions of a dataset row."""
    return TrainRow(tokens.ids.astype(np.int64), np.flatnonzero(tokens.mask).astype(np.int64))


def assemble(dataset: Dataset, credits: Sequence[GroupCredit]) -> RlBatch:
    """Rows of the valid members of kept groups. Raises UserError where recorded log-probs cannot be trained on."""
    batch = RlBatch()
    members = 0
    for number, credit in enumerate(credits):
        for member, _, advantage in credit.valid:
            members += 1
            for index in member.rows:
                tokens = dataset.row(index)
                row = train_row(tokens)
                versions = tokens.versions[row.targets]
                if len(versions):
                    batch.oldest[member.episode] = min(batch.oldest.get(member.episode, 1 << 30), int(versions.min()))
                    batch.newest[member.episode] = max(batch.newest.get(member.episode, -1), int(versions.max()))
                if not credit.kept:
                    continue
                behaviour = tokens.logprobs[row.targets]
                if not np.isfinite(behaviour).all():
                    raise UserError(f"{member.episode}: trained tokens without a finite log-prob: rebuild the batch")
                batch.rows.append(row)
                batch.behaviour.append(behaviour.astype(np.float32))
                batch.advantage.append(advantage)
                batch.member.append(members)
                batch.group.append(number)
    return batch
