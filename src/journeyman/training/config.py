"""What a training process is told, as frozen records. Torch-free: the driver checks it before a process starts."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from journeyman.records.base import Record, canonical_json, sha256_hex
from journeyman.training.credit import CreditConfig
from journeyman.training.methods import with_credit
from journeyman.training.schedule import ScheduleConfig, stands_still

Beta = Annotated[float, Field(ge=0, lt=1)]


class LoraConfig(Record):
    """Low-rank adapters; what is published is merged, so that every sampler reads it as plain weights."""

    rank: int = Field(16, ge=1)
    alpha: float = Field(32.0, gt=0)
    targets: tuple[str, ...] = Field(
        ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"), min_length=1
    )


class ModelConfig(Record):
    """How a policy is held for training."""

    device: Literal["cpu", "cuda"] = "cpu"
    dtype: Literal["float32", "bfloat16"] = "float32"
    lora: LoraConfig | None = None  # None: all parameters of the language model train
    router_balance: float = Field(
        0.0, ge=0
    )  # weight of a mixture-of-experts' load-balancing loss in SFT; the text has 1e-3


class OptimiserConfig(Record):
    """Peak learning rates and regularisation."""

    kind: Literal["adamw", "muon"] = "adamw"  # muon: hidden matrices by Muon, the rest by AdamW
    lr: float = Field(5e-5, gt=0, le=10)  # AdamW
    muon_lr: float = Field(0.01, gt=0, le=10)
    betas: tuple[Beta, Beta] = (0.9, 0.95)
    epsilon: float = Field(1e-8, gt=0)
    weight_decay: float = Field(0.0, ge=0)
    clip_norm: float | None = Field(1.0, gt=0)  # of the global gradient; None: off


class CriticConfig(Record):
    """SAO's value model; what the texts leave open is a key here."""

    pretrain_steps: int = Field(20, ge=0)  # batches on which only the critic trains, before the first policy step
    updates: int = Field(2, ge=1)  # critic updates a batch
    gamma: float = Field(1.0, gt=0, le=1)
    alpha: float = Field(1.5, gt=0)  # lambda = 1 - 1 / (alpha L), L: optimised tokens of the trajectory
    value_refresh: Literal["pre", "post"] = "pre"  # values from before or after this batch's critic updates
    value_clip: float | None = Field(None, gt=0)  # V may move this far from its old value a batch; None: off
    freeze_attention: bool = False
    max_segment_tokens: int | None = Field(
        90_000, ge=1
    )  # a longer segment is context only, and counted; None: no limit
    optimiser: OptimiserConfig = OptimiserConfig(lr=3e-6, betas=(0.9, 0.98), weight_decay=0.1)


class ForwardConfig(Record):
    """Speed only: results agree within rounding."""

    kind: Literal["auto", "lean", "packed", "rows"] = "auto"
    micro_tokens: int = Field(8192, ge=1)  # computed ids per micro-batch


def made_with(config: "SftTrainConfig | LearnerConfig", *sources: str) -> str:
    """Digest of the settings that decide what a training makes, and of those of its `sources`.

    Where it writes, speed, and a number of steps that no schedule looks at are no part of it.
    """
    aside = {
        "recipe_digest",
        "dataset",
        "initial",
        "out",
        "weights",
        "state",
        "ledger",
        "forward",
        "sharded",
        "threads",
    }
    aside |= {"save_every", "save_seconds", "progress_every"}
    if config.schedule.kind == "constant" and not config.schedule.warmup_fraction:
        aside.add("total_steps")
    settings = config.model_dump(mode="json", exclude=aside, exclude_defaults=True)
    return sha256_hex(canonical_json([settings, *sources]))


class SftTrainConfig(Record):
    """`python -m journeyman.training.sft --config FILE`."""

    dataset: Path  # a dataset directory of kind sft
    initial: Path  # policy directory to start from
    out: Path  # policy directory to write (create-only)
    state: Path  # directory of the resumable state
    name: str = "sft"
    epochs: float = Field(5.0, gt=0)
    batch_packs: int = Field(8, ge=1)  # packed sequences per update
    batch_rows: int | None = Field(None, ge=1)  # rows per update instead of packs; None: by packs
    optimiser: OptimiserConfig = OptimiserConfig(lr=1e-5, weight_decay=0.1)
    schedule: ScheduleConfig = ScheduleConfig(kind="cosine", warmup_fraction=0.05)
    model: ModelConfig = ModelConfig()
    forward: ForwardConfig = ForwardConfig()
    sharded: bool = False  # over the processes of one `accelerate launch`, which then hold a part of the model each
    seed: int = Field(0, ge=0, lt=1 << 63)
    threads: int = Field(1, ge=1)
    save_every: int = Field(50, ge=1)  # updates between resumable states
    save_seconds: float = Field(60.0, ge=0)  # after so long a state is kept whatever `save_every` says
    progress_every: int = Field(5, ge=1)  # updates between progress lines
    recipe_digest: str = ""


class LearnerConfig(Record):
    """`python -m journeyman.training.learner --config FILE`."""

    initial: Path  # policy directory of version 0
    weights: Path  # weights/vN/ are written here
    state: Path  # directory of the resumable state
    ledger: Path  # append-only file of records.sample.Update
    name: str = "rl"
    objective: dict[str, Any] = Field(default_factory=lambda: {"name": "cispo"})
    credit: CreditConfig = CreditConfig()
    reward_name: str = "signed.v1"
    total_steps: int | None = Field(None, ge=1)  # needed by a schedule with warm-up or cosine
    optimiser: OptimiserConfig = OptimiserConfig()
    schedule: ScheduleConfig = ScheduleConfig()
    model: ModelConfig = ModelConfig()
    forward: ForwardConfig = ForwardConfig()
    sharded: bool = False  # as in SftTrainConfig
    seed: int = Field(0, ge=0, lt=1 << 63)
    threads: int = Field(1, ge=1)
    recipe_digest: str = ""

    @model_validator(mode="before")
    @classmethod
    def _credit_goes_with_the_method(cls, values: Any) -> Any:
        return with_credit(values)

    @model_validator(mode="after")
    def _some_step_moves_a_weight(self) -> "LearnerConfig":
        if self.total_steps is not None and (why := stands_still(self.total_steps, self.schedule)):
            raise ValueError(why)
        return self
