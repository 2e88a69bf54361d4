"""The report of a run: what was evaluated, how sure we are, what it cost, what is missing; JSON and page agree."""

from typing import Literal

from pydantic import Field

from journeyman.records.base import Checked, Record


class Interval(Record):
    """A mean over tasks with a 95 % t interval clustered by task."""

    value: float
    low: float | None = None  # None: fewer than two tasks, so no interval and no ranking
    high: float | None = None
    n: int  # tasks


class Rate(Record):
    """A count with its denominator; both are always printed."""

    count: int
    of: int


class TypeResult(Record):
    """One arm on one environment type."""

    tasks: int
    graded: int
    reward: Interval | None  # None: nothing graded
    perfect: Rate
    sampled_tokens: Interval | None


class CriterionResult(Record):
    """How often one criterion was MET. A negative one names an error: lower is better."""

    environment_type: str
    criterion: str
    example: str  # its proposition in one of the tasks
    group: str
    negative: bool
    met: Interval
    verdicts: int


class Arm(Record):
    """One policy at one temperature on the held-out tasks. Means are over graded attempts, never over failures."""

    policy: str
    temperature: float
    attempted: int  # distinct attempts
    graded: int
    tries: int  # attempts and their restarts
    reward: Interval | None  # the reported reward; None: nothing graded
    signed: Interval | None
    bounds: tuple[float, float] | None  # mean reward if every ungraded attempt had scored 0, or 1
    k: int
    pass_one: Interval | None
    pass_all: Interval | None  # pass^k over the tasks with at least k graded attempts; None where there is none
    perfect: Rate
    effort: dict[str, Interval]  # per graded episode: tokens, turns, calls, seconds, USD
    types: dict[str, TypeResult]
    criteria: tuple[CriterionResult, ...]
    stops: dict[str, int]
    failures: dict[str, dict[str, int]]  # layer -> cause -> tries
    rates: dict[str, Rate]

    @property
    def label(self) -> str:
        """Policy and how it was sampled."""
        return f"{self.policy}, {'greedy' if self.temperature == 0 else f'T = {self.temperature:g}'}"


class Comparison(Record):
    """Paired by task: `policy` minus `baseline`."""

    policy: str
    baseline: str
    temperature: float
    scope: str  # "all" or an environment type
    difference: Interval
    p_value: float | None  # two-sided, t; None where there is no interval
    verdict: Literal["better", "worse", "no difference shown", "no ranking"]


class Curve(Record):
    """One quantity over the optimiser's steps."""

    name: str
    title: str
    panel: Literal["reward", "behaviour", "optimiser"]
    steps: tuple[int, ...]
    values: tuple[float, ...]


class ShownToken(Record):
    """One sampled token as text. `logprob` None where the source gave none."""

    text: str
    logprob: float | None = None


class ShownTurn(Record):
    """What was appended before the model sampled, and what it sampled."""

    context: str
    tokens: tuple[ShownToken, ...]


class ShownVerdict(Record):
    """One criterion of the shown episode."""

    criterion: str
    proposition: str
    weight: float
    met: bool
    evidence: str


class ShownEpisode(Record):
    """One sealed episode, token by token."""

    episode: str
    environment_type: str
    instruction: str
    reward: float
    verdicts: tuple[ShownVerdict, ...]
    turns: tuple[ShownTurn, ...]


class Pricing(Record):
    """How cost was computed: measured usage times frozen, dated rates."""

    as_of: str
    priced_as: str  # the model whose rates were taken
    provider: str
    input_usd: float  # per million tokens
    cache_read_usd: float | None  # None: cached tokens cost the input rate
    output_usd: float
    source: str = ""
    note: str = ""  # what a reader should know about the choice


class Report(Checked):
    """Everything on the page."""

    format: str = "journeyman-report-1"
    name: str
    reward_name: str
    pass_reward: float  # an attempt passes iff its reward is at least this and no error criterion is MET
    policies: tuple[str, ...]  # in the order they are told: base, sft, rl, merged
    arms: tuple[Arm, ...]
    comparisons: tuple[Comparison, ...]
    curves: tuple[Curve, ...] = ()
    sample: ShownEpisode | None = None
    pricing: Pricing | None = None
    facts: dict[str, str] = Field(default_factory=dict)  # recipe, tasks, seeds, machine, durations

    def arm(self, policy: str, temperature: float) -> Arm | None:
        """The arm of a policy at a temperature; None where it was not evaluated."""
        return next((a for a in self.arms if (a.policy, a.temperature) == (policy, temperature)), None)

    @property
    def temperatures(self) -> tuple[float, ...]:
        """Temperatures evaluated, warmest first."""
        return tuple(sorted({arm.temperature for arm in self.arms}, reverse=True))
