"""Plans by episode: what the scripted engine answers when the harness asks on behalf of a scripted expert."""

from collections.abc import Sequence
from typing import Any

from journeyman.harnesses.whitebox.plan import scripted_reply
from journeyman.records.episode import EpisodeSpec
from journeyman.records.task import Plan


class PlanBook:
    """Which plan each episode follows, over all its tries."""

    def __init__(self) -> None:
        self._plans: dict[str, Plan] = {}

    def assign(self, spec: EpisodeSpec, plan: Plan) -> None:
        """The plan of an attempt."""
        self._plans[spec.id.rpartition(".")[0]] = plan

    def answer(self, episode: str, messages: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """The next assistant message of the episode's plan."""
        return scripted_reply(self._plans[episode.rpartition(".")[0]], messages)
