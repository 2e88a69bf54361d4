"""The whole loop in miniature: a random policy of a few thousand parameters that now and then ends its turn.

It speaks with the shipped tokenizer and knows nothing, so no test depends on learned weights. Episodes differ in
length only, which is what the recipe's shaping rewards: RL has something to learn from the first group on.
"""

import json
import shutil
from pathlib import Path

from journeyman.pipeline.state import SHIPPED_POLICY

END = 1  # id of the shipped tokenizer's end of turn
WIDTH = 32

RECIPE = """
name = "miniature"
seed = 3
stages = {stages}

[policy]
base = "{policy}"
max_tokens = 24

[tasks]
types = ["finance.board_forecast", "operations.warehouse_exception"]
train = 4
heldout = 2
seed = 1
heldout_seed = 900

[expert]
per_task = 2

[sft]
epochs = 1
batch_rows = 4
optimiser = {{ lr = 1e-5 }}

[rl]
steps = {steps}
groups_per_step = 2
group_size = 4
count_filtered_groups = {count_filtered}
keep_every = 1
optimiser = {{ lr = 1e-4 }}

[rl.credit.shaping]
extreme_start = 1
extreme_ramp = 24
gate_extreme = false

[merge]
steps_back = [0, 1]

[evaluation]
attempts = 1

[options]
concurrency = 4
{tracking}"""
UNTRACKED = "\n[tracking]\nto = []\n"
STAGES = ("tasks", "demonstrations", "sft", "rl", "merge", "evaluate", "report")


def write_policy(directory: Path) -> Path:
    """A random Llama of the smallest useful size; returns its directory."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    vocabulary = json.loads((SHIPPED_POLICY / "config.json").read_text())["vocab_size"]
    torch.manual_seed(5)
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=WIDTH,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        initializer_range=0.02,
        bos_token_id=None,
        eos_token_id=END,
        pad_token_id=0,
    )
    model = LlamaForCausalLM(config).float()
    with torch.no_grad():  # one coordinate is the same everywhere, and the end of a turn has more of it
        embedding = model.get_input_embeddings().weight
        embedding[:, 0] = 0.3
        embedding[END, 0] = 1.3
    model.save_pretrained(directory)
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        shutil.copy(SHIPPED_POLICY / name, directory / name)
    return directory


def write_recipe(
    path: Path,
    policy: Path,
    steps: int = 2,
    count_filtered: bool = True,
    stages: tuple[str, ...] = STAGES,
    tracking: str = UNTRACKED,
) -> Path:
    """The miniature recipe for a policy; returns its path. `tracking`: that section; "" is the default, TensorBoard."""
    text = RECIPE.format(
        policy=policy,
        steps=steps,
        count_filtered=str(count_filtered).lower(),
        stages=json.dumps(list(stages)),
        tracking=tracking,
    )
    path.write_text(text)
    return path
