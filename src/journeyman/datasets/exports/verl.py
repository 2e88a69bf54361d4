"""verl 0.9: AgentLoopOutput rows, one a trajectory; verl takes no trajectory of several segments."""

from importlib import import_module
from pathlib import Path
from typing import Any

from journeyman.datasets.exports.base import Row
from journeyman.datasets.exports.write import read_rows


class VerlOutput:
    """One AgentLoopOutput. `extra_fields` carries what names the row."""

    name = "verl"
    version = "0.9.1"
    fields = frozenset(
        {
            "prompt_ids",
            "response_ids",
            "response_mask",
            "response_logprobs",
            "reward_score",
            "num_turns",
            "metrics",
            "extra_fields",
        }
    )
    single = True
    use = "outputs(path) gives AgentLoopOutput by (group, attempt): return one from an AgentLoopBase.run"

    def row(self, row: Row) -> dict[str, Any]:
        """One trajectory; turns count model calls twice over, as verl counts messages of both sides."""
        return {
            "prompt_ids": row.prompt,
            "response_ids": row.response,
            "response_mask": row.mask,
            "response_logprobs": row.logprobs,
            "reward_score": row.reward,
            "num_turns": 2 * row.turns,
            "metrics": {},
            "extra_fields": {"episode": row.episode, "group": row.group, "attempt": row.attempt},
        }


def outputs(path: Path) -> dict[tuple[str, int], Any]:
    """verl's AgentLoopOutput by (group, attempt). Needs verl."""
    record = import_module("verl.experimental.agent_loop.agent_loop").AgentLoopOutput
    made = [record(**row) for row in read_rows(path)]
    return {(one.extra_fields["group"], one.extra_fields["attempt"]): one for one in made}
