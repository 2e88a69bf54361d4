"""slime: `Sample.to_dict()` rows, one a segment; mask and log-probs cover the response, segments share a rollout id.

--rollout-function-path journeyman.datasets.exports.slime.generate_rollout      (with JOURNEYMAN_EXPORT=DIR)
"""

import os
from importlib import import_module
from pathlib import Path
from typing import Any

from journeyman.datasets.exports.base import Row
from journeyman.datasets.exports.write import read_rows
from journeyman.errors import UserError


class SlimeSample:
    """One Sample."""

    name = "slime"
    version = "0.3.1"
    fields = frozenset(
        {
            "group_index",
            "index",
            "prompt",
            "tokens",
            "response",
            "response_length",
            "reward",
            "loss_mask",
            "weight_versions",
            "rollout_log_probs",
            "status",
            "metadata",
            "train_metadata",
            "session_id",
            "rollout_id",
        }
    )
    single = False
    use = "--rollout-function-path journeyman.datasets.exports.slime.generate_rollout, JOURNEYMAN_EXPORT=DIR"

    def __init__(self) -> None:
        self._groups: dict[str, int] = {}
        self._episodes: dict[str, int] = {}
        self._rows = 0

    def row(self, row: Row) -> dict[str, Any]:
        """Indexes count in the order of the rows."""
        group = self._groups.setdefault(row.group, len(self._groups))
        episode = self._episodes.setdefault(row.episode, len(self._episodes))
        self._rows += 1
        return {
            "group_index": group,
            "index": self._rows - 1,
            "prompt": row.task,
            "tokens": row.prompt + row.response,
            "response": "",
            "response_length": len(row.response),
            "reward": row.reward,
            "loss_mask": row.mask,
            "weight_versions": [str(v) for v in sorted(set(row.versions) - {-1})],
            "rollout_log_probs": row.logprobs,
            "status": "truncated" if row.cut_off else "completed",
            "metadata": {"episode": row.episode, "run": row.run, "segment": row.segment},
            "train_metadata": None,
            "session_id": row.episode,
            "rollout_id": episode,
        }


def samples(path: Path) -> list[list[Any]]:
    """slime's Samples by group. Needs slime."""
    sample = import_module("slime.utils.types").Sample
    groups: dict[int, list[Any]] = {}
    for row in read_rows(path):
        groups.setdefault(int(row["group_index"]), []).append(sample.from_dict(row))
    return list(groups.values())


def generate_rollout(args: Any, rollout_id: int, data_source: Any, evaluation: bool = False) -> list[list[Any]]:
    """slime's rollout function: the groups of one rollout, `args.rollout_batch_size` at a time, in order."""
    where = os.environ.get("JOURNEYMAN_EXPORT")
    if not where:
        raise UserError("JOURNEYMAN_EXPORT is not set: name the directory `journeyman export rl --to slime` wrote")
    found, size = samples(Path(where)), int(args.rollout_batch_size)
    return found[rollout_id * size : (rollout_id + 1) * size]
