"""A fault in each layer of an attempt: what it is recorded as, and what the siblings' baseline makes of it.

One group of four attempts (reference, a negative, reference, no-op) on a real compact task with live services, real
boxes, gateway and service host; the policy is a script. The first try of attempt 0 is broken by killing, or by raising
inside, the layer named. Read off the disk: the outcome, its layer, whether any grade lies beside the seal, and the
group's baseline with the broken member, without it, and after its next try.
"""

import asyncio
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.episodes.faulty import MORE, SIX, Fault
from tests.episodes.scene import baseline, credit_of, members, scene

from journeyman.episodes.run_many import Finished
from journeyman.errors import JourneymanError
from journeyman.pipeline.stages.making import Wanted, make_one
from journeyman.pipeline.workplace import ready_task
from journeyman.records.outcome import Quarantined
from journeyman.store.seal import verify_seal
from journeyman.tokens.tiny import write_tiny_tokenizer

TYPE = "operations.warehouse_exception"


@dataclass(frozen=True)
class Row:
    """What one fault came to."""

    fault: Fault
    layer: str
    cause: str
    no_reward: bool
    sealed: bool
    siblings: float  # baseline of the three siblings alone
    broken: float  # baseline of the group with the broken member in it
    restarted: float  # baseline once the next try has succeeded
    calm: float  # baseline of the same group without any fault

    @property
    def holds(self) -> bool:
        """Whether the fault stayed in its place."""
        named = self.layer == self.fault.layer and self.no_reward and self.sealed
        return named and abs(self.broken - self.siblings) < 1e-9 and self.restarted == self.calm


async def measure(fault: Fault, root: Path, calm: float) -> Row:
    """Inject one fault without restarts, then resume the same group with them."""
    ready = ready_task(next((root / "tasks").iterdir()))
    group = members(ready)
    name = fault.name.replace(" ", "-")
    async with scene(root / name, root / "tokenizer", fault, lambda key: key.endswith("/0.0")) as found:
        at_once = 1 if "host killed" in fault.name else 4
        broken, *siblings = await found.group(ready, group, concurrency=at_once)
        graded = list(found.job.grades_dir(broken.spec.key).glob("*.json"))
        again = await found.group(ready, group, restarts=1, concurrency=at_once)
    outcome = broken.outcome
    quarantined = isinstance(outcome, Quarantined)
    return Row(
        fault=fault,
        layer=outcome.layer if isinstance(outcome, Quarantined) else "graded",
        cause=outcome.cause if isinstance(outcome, Quarantined) else "",
        no_reward=quarantined and broken.reward is None and not graded,
        sealed=_sealed(broken.directory),
        siblings=baseline(siblings),
        broken=_learnt([broken, *siblings]),
        restarted=baseline(again),
        calm=calm,
    )


def _learnt(group: list[Finished]) -> float:
    """The baseline that the learner's credit subtracts: reward minus advantage, the same for every valid member."""
    credit = credit_of(group)
    found = {round(shaped.reward - advantage, 12) for _, shaped, advantage in credit.valid}
    return found.pop() if len(found) == 1 else float("nan")


def _sealed(directory: Path) -> bool:
    try:
        verify_seal(directory)
    except JourneymanError:
        return False
    return True


async def main() -> int:
    """Print the table; 0 only if every row holds."""
    with tempfile.TemporaryDirectory(prefix="jm-faults-") as made:
        root = Path(made)
        write_tiny_tokenizer(root / "tokenizer")
        ready = ready_task(make_one(Wanted(TYPE, 7, "train", "compact"), root / "tasks"))
        async with scene(root / "calm", root / "tokenizer") as found:
            calm = baseline(await found.group(ready, members(ready)))
        print(f"group of 4 on {ready.task.slug}; baseline without any fault {calm:.4f}\n")
        print(
            f"{'injected':<34}{'recorded as':<40}{'reward':<8}{'sealed':<8}{'siblings':>9}{'with it':>9}"
            f"{'restarted':>11}  holds"
        )
        rows = []
        for fault in (*SIX, *MORE):
            row = await measure(fault, root, calm)
            rows.append(row)
            recorded = f"quarantined {row.layer}: {row.cause}"
            print(
                f"{fault.name:<34}{recorded:<40}{'none' if row.no_reward else 'THERE':<8}"
                f"{'yes' if row.sealed else 'NO':<8}{row.siblings:>9.4f}{row.broken:>9.4f}{row.restarted:>11.4f}"
                f"  {'yes' if row.holds else 'NO'}",
                flush=True,
            )
    good = sum(row.holds for row in rows)
    print(
        f"\n{good} of {len(rows)} faults: the layer named, sealed, no reward, siblings' baseline unchanged, and the "
        "next try as if nothing had been"
    )
    return 0 if good == len(rows) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
