"""The ids of an episode's turns: unique on record, while the names that clients give are each run's own.

A turn is recorded under its client's name; under NAME~rRUN where another run took that name first; under ~NUMBER where
the client gives none. What an aborted call leaves has the call's id and ~INDEX.
"""

from journeyman.records.turn import Turn


class TurnIds:
    """Ids given so far."""

    def __init__(self) -> None:
        self._first: dict[str, int] = {}  # name -> the run that took it first
        self._unnamed = 0

    def give(self, name: str, run: int) -> str:
        """The id of the turn that a run's client names so; "": it names none."""
        if not name:
            self._unnamed += 1
            return f"~{self._unnamed}"
        return name if self._first.setdefault(name, run) == run else f"{name}~r{run}"

    def found(self, turn: Turn) -> str:
        """Take a turn on record into account; returns the name its client gave."""
        name, _, rest = turn.turn_id.partition("~")
        if not name:
            self._unnamed = max(self._unnamed, int(rest.partition("~")[0]))
        elif not rest.startswith("r"):
            self._first.setdefault(name, turn.run)
        return name
