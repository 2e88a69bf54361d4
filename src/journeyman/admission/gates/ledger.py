"""The services' books are true: the ledger explains the final state, and its calls made again give that state again.

Invariant: both ways (G-10). A row changed without an entry, or an entry without its row, is a fault of the service.
"""

from collections.abc import Iterator

from journeyman.admission.gates.base import Candidate, quarantined, verdict
from journeyman.admission.variation import Sealed
from journeyman.records.admission import GateResult
from journeyman.records.outcome import Quarantined
from journeyman.services.base import LedgerEntry
from journeyman.services.definitions import load_service

Rows = dict[str, dict[str, dict[str, object]]]  # table -> key -> row


class Ledger:
    """The sealed reference's ledger, replayed, is the sealed reference's state."""

    name = "ledger"

    async def check(self, candidate: Candidate) -> GateResult:
        """Name each row that the ledger does not explain, and say where repeating the calls gives something else."""
        sealed = await candidate.sealed_reference()
        if isinstance(sealed, Quarantined):
            return quarantined(self.name, candidate.reference, sealed)
        faults = [fault for service in sealed.evidence.state for fault in _unexplained(sealed, service)]
        if sealed.task.services:
            state, ledger = sealed.replayed(sealed.work.calls)
            told = [(e.outcome, e.committed, e.effect) for e in sealed.evidence.ledger]
            if told != [(e.outcome, e.committed, e.effect) for e in ledger] or state != sealed.evidence.state:
                faults.append("the same calls from the same state gave another ledger or another state")
        return verdict(self.name, faults, entries=len(sealed.evidence.ledger))


def _unexplained(sealed: Sealed, service: str) -> Iterator[str]:
    """Rows of the final state that the initial state and the ledger's effects do not give."""
    expected = {table.name: {} for table in load_service(service).tables}  # type: Rows
    keys = {table.name: table.key for table in load_service(service).tables}
    defaults = {table.name: dict(table.defaults) for table in load_service(service).tables}
    for name, rows in sealed.state.get(service, {}).items():
        expected[name] = {str(row[keys[name]]): defaults[name] | row for row in rows}
    for entry in sealed.evidence.ledger:
        if entry.service == service:
            _apply(expected, keys, entry)
    for name, rows in sealed.evidence.state[service].items():
        found = {str(row[keys[name]]): row for row in rows}
        for key in sorted(found.keys() | expected[name].keys()):
            if found.get(key) != expected[name].get(key):
                yield f"{service}.{name}.{key} is {found.get(key)}, and the ledger explains {expected[name].get(key)}"


def _apply(expected: Rows, keys: dict[str, str], entry: LedgerEntry) -> None:
    for name, rows in entry.effect.items():
        for row in rows:
            key = str(row[keys[name]])
            if row.get("_deleted"):
                expected[name].pop(key, None)
            else:
                expected[name][key] = row
