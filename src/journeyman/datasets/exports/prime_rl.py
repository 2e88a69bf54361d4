"""prime-rl: TrainingSample rows, one a segment; every array is as long as the ids, there is no prompt and response.

Advantages are ours: one value a token, 0 where it is not trained.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

from journeyman.datasets.exports.base import Row
from journeyman.datasets.exports.write import read_rows


class PrimeSample:
    """One TrainingSample."""

    name = "prime-rl"
    version = "main of 2026-11"
    fields = frozenset({"token_ids", "mask", "logprobs", "temperatures", "env_name", "advantages", "reward"})
    single = False
    use = "training_samples(path) gives TrainingSample: put them in a TrainingBatch and send it to the packer"

    def row(self, row: Row) -> dict[str, Any]:
        """One branch."""
        before, length = len(row.prompt), len(row.prompt) + len(row.response)
        found: dict[str, Any] = {
            "token_ids": row.prompt + row.response,
            "mask": [False] * before + [bool(m) for m in row.mask],
            "logprobs": [0.0] * before + row.logprobs,
            "temperatures": [row.temperature] * length,
            "env_name": "journeyman",
        }
        if row.advantage is not None:
            found["advantages"] = [0.0] * before + [row.advantage * m for m in row.mask]
        if row.reward is not None:
            found["reward"] = row.reward
        return found


def training_samples(path: Path) -> list[Any]:
    """prime-rl's TrainingSample, by name, so that fields added later keep their defaults. Needs prime-rl."""
    record = import_module("prime_rl.transport.types").TrainingSample
    known = set(record.__struct_fields__)
    return [record(**{k: v for k, v in row.items() if k in known}) for row in read_rows(path)]
