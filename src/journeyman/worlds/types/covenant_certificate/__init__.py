"""law.covenant_certificate: which document governs the quarter, and does the tested ratio comply."""

import random

from journeyman.records.task import Domain, Plan, Split
from journeyman.worlds.base import WorldDraft
from journeyman.worlds.types.covenant_certificate.compact import realise
from journeyman.worlds.types.covenant_certificate.plans import demonstrations
from journeyman.worlds.types.covenant_certificate.truth import AXES, FORBIDDEN, CovenantTruth, draw


class CovenantCertificate:
    """A compliance certificate from a credit agreement, its amendment, a ledger extract and a waiver."""

    name = "law.covenant_certificate"
    domain: Domain = "law"
    practice_area = "banking and finance"
    axes = AXES
    forbidden = FORBIDDEN

    def truth(self, seed: int, split: Split) -> CovenantTruth:
        """The frozen ground truth of one world."""
        return draw(seed, split)

    def compact(self, truth: CovenantTruth) -> WorldDraft:
        """Four short text files and one `key: value` certificate."""
        return realise(truth)

    def standard(self, truth: CovenantTruth) -> WorldDraft:
        """20-40 office files from the same truth."""
        from journeyman.worlds.types.covenant_certificate.standard import (
            standard,
        )  # office files wait until they are needed

        return standard(truth)

    def demonstrations(self, truth: CovenantTruth, rng: random.Random, count: int) -> tuple[Plan, ...]:
        """Runs of an expert who is right part of the time."""
        return demonstrations(truth, rng, count)
