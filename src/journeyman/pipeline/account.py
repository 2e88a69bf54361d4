"""What each optimiser step showed and took, told to the run's ledger; the stage's total is the sum of its steps."""

import json
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from journeyman.pipeline.seen import Seen, figures_of, used
from journeyman.pipeline.state import Run
from journeyman.store.atomic import read_lines


@dataclass
class Account:
    """Tells what every step showed and what it took since the last one; drifts are told once each."""

    run: Run
    devices: int
    since: float  # monotonic seconds
    told: set[str]  # groups that ended in an earlier process, which counted them
    ended: list[Seen] = field(default_factory=list)  # attempts since the last step, whether or not they train
    drifting: set[str] = field(default_factory=set)

    def group(self, name: str, shown: Sequence[Seen]) -> None:
        """A group ended."""
        if name not in self.told:
            self.told.add(name)
            self.ended += shown

    def step(self, step: int, learned: dict[str, float], trained_tokens: int, batch: list[Seen]) -> None:
        """One optimiser step: the learner's figures and what its batch shows."""
        now = time.monotonic()
        seconds = now - self.since
        took = {"seconds": seconds, "device_seconds": seconds * self.devices, **self.run.usd(seconds * self.devices)}
        took |= {"trained_tokens": trained_tokens, **used(one.usage for one in self.ended)}
        self.since, self.ended = now, []
        figures = learned | figures_of(batch) | {f"used/{name}": float(value) for name, value in took.items()}
        self.run.progress.figures("rl", step, figures)
        found = {name: change for name, change in learned.items() if name.startswith("inspect_")}
        for name in sorted(found.keys() - self.drifting):
            what = name.removeprefix("inspect_").replace("_", " ")
            self.run.progress.say(f"look: {what} moved by {found[name]:+.0%} while reward stood still, to step {step}")
        self.drifting = set(found)


def ended_groups(run: Run) -> set[str]:
    """Every group that ever ended in this run, used or not."""
    return {str(json.loads(line)["group"]) for line in read_lines(run.job.ledger / "groups.jsonl")}


def spent(run: Run) -> dict[str, float]:
    """What all RL steps of the run took together, those of killed processes too."""
    total: dict[str, float] = defaultdict(float)
    for line in read_lines(run.job.ledger / "figures.jsonl"):
        told = json.loads(line)
        if told["phase"] == "rl":
            for name, value in told["figures"].items():
                if name.startswith("used/"):
                    total[name.removeprefix("used/")] += value
    return {name: round(value, 3) for name, value in total.items() if name != "seconds"}
