"""finance.board_forecast: which forecast version may the board use, and to whom may it be released."""

import random

from journeyman.records.task import Domain, Plan, Split
from journeyman.worlds.base import WorldDraft
from journeyman.worlds.types.board_forecast.compact import realise
from journeyman.worlds.types.board_forecast.plans import demonstrations
from journeyman.worlds.types.board_forecast.truth import AXES, FORBIDDEN, BoardForecastTruth, draw


class BoardForecast:
    """A forecast section for the board: stale, withdrawn and approved versions, and a narrower legal clearance."""

    name = "finance.board_forecast"
    domain: Domain = "finance"
    practice_area = "corporate finance"
    axes = AXES
    forbidden = FORBIDDEN

    def truth(self, seed: int, split: Split) -> BoardForecastTruth:
        """The frozen ground truth of one world."""
        return draw(seed, split)

    def compact(self, truth: BoardForecastTruth) -> WorldDraft:
        """Four short text files and one `key: value` memo."""
        return realise(truth)

    def standard(self, truth: BoardForecastTruth) -> WorldDraft:
        """20-40 office files from the same truth."""
        from journeyman.worlds.types.board_forecast.standard import standard  # office files wait until they are needed

        return standard(truth)

    def demonstrations(self, truth: BoardForecastTruth, rng: random.Random, count: int) -> tuple[Plan, ...]:
        """Runs of an expert who is right part of the time."""
        return demonstrations(truth, rng, count)
