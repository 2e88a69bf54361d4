"""consulting.vendor_benchmark: which look-alike is under contract, and which of its rates count."""

import random

from journeyman.records.task import Domain, Plan, Split
from journeyman.worlds.base import WorldDraft
from journeyman.worlds.types.vendor_benchmark.compact import realise
from journeyman.worlds.types.vendor_benchmark.plans import demonstrations
from journeyman.worlds.types.vendor_benchmark.truth import AXES, FORBIDDEN, VendorBenchmarkTruth, draw


class VendorBenchmark:
    """A rate benchmark with look-alike entities and a period cut-off."""

    name = "consulting.vendor_benchmark"
    domain: Domain = "consulting"
    practice_area = "procurement"
    axes = AXES
    forbidden = FORBIDDEN

    def truth(self, seed: int, split: Split) -> VendorBenchmarkTruth:
        """The frozen ground truth of one world."""
        return draw(seed, split)

    def compact(self, truth: VendorBenchmarkTruth) -> WorldDraft:
        """Four short text files and one `key: value` benchmark."""
        return realise(truth)

    def standard(self, truth: VendorBenchmarkTruth) -> WorldDraft:
        """20-40 office files from the same truth."""
        from journeyman.worlds.types.vendor_benchmark.standard import (
            standard,
        )  # office files wait until they are needed

        return standard(truth)

    def demonstrations(self, truth: VendorBenchmarkTruth, rng: random.Random, count: int) -> tuple[Plan, ...]:
        """Runs of an expert who is right part of the time."""
        return demonstrations(truth, rng, count)
