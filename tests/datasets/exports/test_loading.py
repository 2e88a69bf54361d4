"""Exports loaded and trained on by the projects themselves, where they are installed."""

from pathlib import Path

import pytest

from journeyman.datasets.exports.base import make_target
from journeyman.datasets.exports.write import export

from .made import rl_dataset, run_with, sft_dataset

MODEL = """
import sys, torch
from pathlib import Path
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
words = Tokenizer(models.WordLevel({f"w{i}": i for i in range(64)}, unk_token="w0"))
words.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, pad_token="w0", eos_token="w63", unk_token="w0")
torch.manual_seed(0)
model = LlamaForCausalLM(LlamaConfig(vocab_size=64, hidden_size=16, intermediate_size=24, num_hidden_layers=1,
    num_attention_heads=2, num_key_value_heads=1, pad_token_id=0, eos_token_id=63, bos_token_id=63))
path, out = Path(sys.argv[1]), sys.argv[2]
settings = dict(output_dir=out, use_cpu=True, bf16=False, report_to=[], max_steps=1, save_strategy="no",
    logging_steps=1, disable_tqdm=True, gradient_checkpointing=False)
"""
SFT = (
    MODEL
    + """
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer
seen = []
class Watched(SFTTrainer):
    def compute_loss(self, model, inputs, *a, **k):
        seen.append(sorted([x for x in row.tolist() if x != -100] for row in inputs["labels"]))
        return super().compute_loss(model, inputs, *a, **k)
data = load_dataset("json", data_files=str(path / "rows.jsonl"), split="train", cache_dir=out)
Watched(model=model, processing_class=tokenizer, train_dataset=data,
    args=SFTConfig(per_device_train_batch_size=3, **settings)).train()
assert seen == [[[7, 8], [11, 13, 14], [18]]], seen
print("trained")
"""
)
GRPO = (
    MODEL
    + """
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer
from journeyman.datasets.exports.trl import Replay, prompts, recorded_reward
seen = []
class Watched(GRPOTrainer):
    def _compute_loss(self, model, inputs):
        keep = (inputs["completion_mask"] * inputs["tool_mask"]).bool()
        seen.append((sorted(ids[k].tolist() for ids, k in zip(inputs["completion_ids"], keep)),
            sorted(round(float(a), 4) for a in inputs["advantages"])))
        return super()._compute_loss(model, inputs)
data = Dataset.from_list([row for row in prompts(path) if row["prompt"] == "g0"])
Watched(model=model, processing_class=tokenizer, reward_funcs=recorded_reward, train_dataset=data,
    rollout_func=Replay(path), args=GRPOConfig(per_device_train_batch_size=4, num_generations=4, scale_rewards="none",
    loss_type="cispo", shuffle_dataset=False, max_completion_length=16, **settings)).train()
(ids, advantages), = seen
assert ids == [[12, 13, 16, 17], [23, 24], [31, 32], [42]], ids
assert advantages == [-0.625, -0.125, 0.125, 0.625], advantages
print("trained")
"""
)


@pytest.mark.slow
def test_trl_trains_on_exactly_the_sft_tokens(tmp_path: Path) -> None:
    export(sft_dataset(tmp_path / "d"), make_target("sft", "trl"), tmp_path / "out")
    assert "trained" in run_with("trl", SFT, tmp_path / "out", tmp_path / "work")


@pytest.mark.slow
def test_trl_trains_one_grpo_step_on_exactly_the_sampled_tokens_with_the_recorded_rewards(tmp_path: Path) -> None:
    export(rl_dataset(tmp_path / "d"), make_target("rl", "trl"), tmp_path / "out")
    assert "trained" in run_with("trl", GRPO, tmp_path / "out", tmp_path / "work")


@pytest.mark.slow
def test_verl_takes_every_row_as_its_own_output(tmp_path: Path) -> None:
    export(rl_dataset(tmp_path / "d"), make_target("rl", "verl"), tmp_path / "out")
    code = """
import sys
from pathlib import Path
from journeyman.datasets.exports.verl import outputs
found = outputs(Path(sys.argv[1]))
one = found["g0", 0].as_dict()
assert len(found) == 7 and one["response_mask"].tolist() == [1, 1, 0, 0, 1, 1], one
assert one["rollout_log_probs"].shape == one["responses"].shape
print("loaded")
"""
    assert "loaded" in run_with("verl", code, tmp_path / "out")


@pytest.mark.slow
def test_skyrl_takes_the_rows_as_a_generator_output(tmp_path: Path) -> None:
    export(rl_dataset(tmp_path / "d"), make_target("rl", "skyrl"), tmp_path / "out")
    code = """
import sys
from pathlib import Path
from journeyman.datasets.exports.skyrl import generator_output
from skyrl.train.generators.base import GeneratorOutput
from skyrl.train.utils.trainer_utils import validate_generator_output
found = generator_output(Path(sys.argv[1]))
assert set(found) == set(GeneratorOutput.__annotations__)
validate_generator_output(9, found, step_wise=True)
assert [t.to_string() for t in found["trajectory_ids"]][5:7] == ["g1_1", "g1_1"]
print("loaded")
"""
    assert "loaded" in run_with("skyrl", code, tmp_path / "out")
