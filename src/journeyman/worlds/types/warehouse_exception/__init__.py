"""operations.warehouse_exception: find a fit dock, reserve it once although the first write times out, and report."""

import random

from journeyman.records.task import Domain, Plan, Split
from journeyman.worlds.base import WorldDraft
from journeyman.worlds.types.warehouse_exception.compact import realise
from journeyman.worlds.types.warehouse_exception.plans import demonstrations
from journeyman.worlds.types.warehouse_exception.truth import AXES, FORBIDDEN, WarehouseTruth, draw


class WarehouseException:
    """A dock exception handled through a live WMS and ticketing system."""

    name = "operations.warehouse_exception"
    domain: Domain = "operations"
    practice_area = "logistics"
    axes = AXES
    forbidden = FORBIDDEN

    def truth(self, seed: int, split: Split) -> WarehouseTruth:
        """The frozen ground truth of one world."""
        return draw(seed, split)

    def compact(self, truth: WarehouseTruth) -> WorldDraft:
        """One short file and two live services."""
        return realise(truth)

    def standard(self, truth: WarehouseTruth) -> WorldDraft:
        """20-40 office files from the same truth."""
        from journeyman.worlds.types.warehouse_exception.standard import (
            standard,
        )  # office files wait until they are needed

        return standard(truth)

    def demonstrations(self, truth: WarehouseTruth, rng: random.Random, count: int) -> tuple[Plan, ...]:
        """Runs of an expert who is right part of the time."""
        return demonstrations(truth, rng, count)
