"""Finished groups on their way to the learner: FIFO, stale groups withheld, each group used exactly once. Torch-free.

Staleness of a group = current version - oldest version among its trained tokens; it is checked when a batch is
assembled and again when the batch is popped. Filtered groups (no advantage, too few valid members) take no place.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from journeyman.errors import UserError
from journeyman.records.base import Record

G = TypeVar("G")


class BufferConfig(Record):
    """How batches are made."""

    groups_per_batch: int = 64
    max_staleness: int | None = None  # versions; None: no limit, only measured
    max_consecutive_filtered: int = 256  # then the run stops instead of spinning
    count_filtered_groups: bool = False  # True: filtered groups take a place in the batch


@dataclass(frozen=True)
class Finished(Generic[G]):
    """A graded group. `oldest_version` None: it has no trained token."""

    id: str
    oldest_version: int | None
    kept: bool  # whether it has an advantage (`credit(...).kept`)
    payload: G


@dataclass
class GroupBuffer(Generic[G]):
    """Mutable queue of one job. `consumed`: ids that a learner has trained on (from its cursor, on resume)."""

    config: BufferConfig
    consumed: set[str] = field(default_factory=set)
    waiting: deque[Finished[G]] = field(default_factory=deque)
    known: set[str] = field(default_factory=set)
    stale: list[str] = field(default_factory=list)  # ids withheld for staleness
    filtered: list[str] = field(default_factory=list)  # ids without a training signal
    consecutive_filtered: int = 0

    def add(self, group: Finished[G]) -> bool:
        """Queue a finished group; False where it was seen before (idempotent) or is filtered.

        Raises UserError after `max_consecutive_filtered` groups in a row without a training signal.
        """
        if group.id in self.known or group.id in self.consumed:
            return False
        self.known.add(group.id)
        if group.kept:
            self.consecutive_filtered = 0
        else:
            self.filtered.append(group.id)
            self.consecutive_filtered += 1
            if self.consecutive_filtered >= self.config.max_consecutive_filtered:
                raise UserError(
                    f"{self.consecutive_filtered} groups in a row had no advantage: the tasks are all solved or all "
                    "out of reach; change the mixture, the temperature or max_consecutive_filtered"
                )
            if not self.config.count_filtered_groups:
                return False
        self.waiting.append(group)
        return True

    def _fresh(self, groups: Iterable[Finished[G]], version: int) -> list[Finished[G]]:
        kept = []
        for group in groups:
            limit = self.config.max_staleness
            if limit is not None and group.oldest_version is not None and version - group.oldest_version > limit:
                self.stale.append(group.id)
            else:
                kept.append(group)
        return kept

    def ready(self, version: int) -> bool:
        """Whether a full batch waits, after withholding what is stale at `version`."""
        self.waiting = deque(self._fresh(self.waiting, version))
        return len(self.waiting) >= self.config.groups_per_batch

    def pop(self, version: int, current: Callable[[], int] | None = None) -> list[Finished[G]] | None:
        """The oldest full batch, or None. `current` reads the version again at the moment of taking."""
        if not self.ready(version):
            return None
        if current is not None and not self.ready(current()):
            return None
        return [self.waiting.popleft() for _ in range(self.config.groups_per_batch)]

    def commit(self, groups: Sequence[Finished[G]]) -> None:
        """The learner has answered for these: they are never given again."""
        self.consumed |= {group.id for group in groups}

    def give_back(self, groups: Sequence[Finished[G]]) -> None:
        """The learner did not answer: queue them again at the front, in order."""
        self.waiting.extendleft(group for group in reversed(groups) if group.id not in self.consumed)
