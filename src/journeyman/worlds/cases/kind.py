"""The environment type of a case: worlds of both sizes and demonstrations, made of what its author gives."""

import random

from journeyman.records.task import Plan
from journeyman.worlds.base import WorldDraft
from journeyman.worlds.cases.authored import Authored, C


class CaseType(Authored[C]):
    """An `EnvironmentType` made of a derivation. Stateless; one instance serves every seed."""

    def compact(self, truth: C) -> WorldDraft:
        """A few short text files and service calls."""
        from journeyman.worlds.cases.compact import realise

        return realise(self, truth)

    def standard(self, truth: C) -> WorldDraft:
        """The same truth as 20-40 office files."""
        from journeyman.worlds.cases.standard import realise  # office files wait until they are needed

        return realise(self, truth)

    def demonstrations(self, truth: C, rng: random.Random, count: int) -> tuple[Plan, ...]:
        """Runs of an expert who falls for each trap now and then and leaves things out."""
        from journeyman.worlds.cases.plans import demonstrate

        return tuple(demonstrate(self, truth, rng, f"demo-{i}") for i in range(count))
