"""SkyRL: the lists of a GeneratorOutput, one entry a segment; an episode's segments are steps of one trajectory."""

from importlib import import_module
from pathlib import Path
from typing import Any

from journeyman.datasets.exports.base import Row
from journeyman.datasets.exports.write import read_rows


class SkyRlRow:
    """One entry of every list of GeneratorOutput. The reward stands at the last step of a trajectory, once."""

    name = "skyrl"
    version = "0.3.0"
    fields = frozenset(
        {
            "prompt_token_ids",
            "response_ids",
            "rewards",
            "loss_masks",
            "stop_reasons",
            "rollout_logprobs",
            "trajectory_ids",
            "is_last_step",
        }
    )
    single = False
    use = "return generator_output(path) from a GeneratorInterface.generate; step-wise where episodes have segments"

    def row(self, row: Row) -> dict[str, Any]:
        """One step; `trajectory_ids` as (instance_id, repetition_id)."""
        return {
            "prompt_token_ids": row.prompt,
            "response_ids": row.response,
            "rewards": row.reward if row.last else 0.0,
            "loss_masks": row.mask,
            "stop_reasons": "length" if row.cut_off else "stop",
            "rollout_logprobs": row.logprobs,
            "trajectory_ids": [row.group, row.attempt],
            "is_last_step": row.last,
        }


def generator_output(path: Path) -> dict[str, Any]:
    """A GeneratorOutput over all rows, with SkyRL's own TrajectoryID. Needs skyrl."""
    theirs = import_module("skyrl.train.generators.base")
    found = list(read_rows(path))
    output: dict[str, Any] = dict.fromkeys(theirs.GeneratorOutput.__annotations__)
    output |= {key: [row[key] for row in found] for key in SkyRlRow.fields}
    output["trajectory_ids"] = [theirs.TrajectoryID(instance, number) for instance, number in output["trajectory_ids"]]
    return output
