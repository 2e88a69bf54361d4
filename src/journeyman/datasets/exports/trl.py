"""TRL 1.16: tokenised SFT rows with labels, and RL rows for GRPOTrainer's `rollout_func` with its `env_mask`.

    trainer = GRPOTrainer(model, reward_funcs=recorded_reward, rollout_func=Replay(path), train_dataset=prompts(path))

`shuffle_dataset=False` and `num_generations` = attempts per group keep groups together.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from journeyman.datasets.exports.base import Row
from journeyman.datasets.exports.write import read_rows
from journeyman.errors import UserError

IGNORED = -100


class TrlTokens:
    """SFT: `load_dataset("json", data_files=...)` and train; labels are -100 where nothing is learned."""

    name = "trl"
    version = "1.16.0"
    fields = frozenset({"input_ids", "labels"})
    single = False
    use = 'SFTTrainer(train_dataset=load_dataset("json", data_files="rows.jsonl", split="train"))'

    def row(self, row: Row) -> dict[str, Any]:
        """Ids and labels of one segment, of equal length."""
        labels = [i if m else IGNORED for i, m in zip(row.response, row.mask, strict=True)]
        return {"input_ids": row.prompt + row.response, "labels": [IGNORED] * len(row.prompt) + labels}


class TrlRollout:
    """RL: one row a rollout, replayed by `Replay`."""

    name = "trl"
    version = "1.16.0"
    fields = frozenset(
        {"prompt", "prompt_ids", "completion_ids", "logprobs", "env_mask", "recorded_reward", "group", "episode"}
    )
    single = True
    use = "GRPOTrainer(rollout_func=Replay(path), reward_funcs=recorded_reward, train_dataset=prompts(path))"

    def row(self, row: Row) -> dict[str, Any]:
        """One rollout; the prompt column names its group, which is what TRL repeats and compares by."""
        return {
            "prompt": row.group,
            "prompt_ids": row.prompt,
            "completion_ids": row.response,
            "logprobs": row.logprobs,
            "env_mask": row.mask,
            "recorded_reward": row.reward,
            "group": row.group,
            "episode": row.episode,
        }


def prompts(path: Path) -> list[dict[str, str]]:
    """One row a group, in order: what `train_dataset` is made of (`Dataset.from_list`)."""
    return [{"prompt": group} for group in dict.fromkeys(str(row["group"]) for row in read_rows(path))]


def recorded_reward(completions: Sequence[Any], recorded_reward: Sequence[float], **_: Any) -> list[float]:
    """The reward function of a replay: what the sealed episode was graded."""
    return list(recorded_reward)


class Replay:
    """TRL's `rollout_func` over exported rows: asked for a group's prompt G times, it gives its G rollouts in order."""

    def __init__(self, path: Path) -> None:
        self._rows: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for row in read_rows(path):
            self._rows[str(row["group"])].append(row)

    def __call__(self, prompts: Sequence[str], trainer: Any = None) -> dict[str, list[Any]]:
        """The rollouts of `prompts`. Raises UserError where a group has fewer than are asked for."""
        used: dict[str, int] = defaultdict(int)
        chosen = []
        for prompt in prompts:
            found, number = self._rows.get(prompt, []), used[prompt]
            if number >= len(found):
                raise UserError(f"group {prompt!r} has {len(found)} rollouts: set num_generations to at most that")
            chosen.append(found[number])
            used[prompt] += 1
        keys = ("prompt_ids", "completion_ids", "logprobs", "env_mask", "recorded_reward")
        return {key: [row[key] for row in chosen] for key in keys}
