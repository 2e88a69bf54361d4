"""How many tasks each gate let through, stopped, or could not judge, and why (Z-08). Counts sum, always."""

import re
from collections import Counter
from collections.abc import Sequence

from journeyman.admission.gates import GATES
from journeyman.records.admission import Admission
from journeyman.records.base import Record


class GateCount(Record):
    """One row: `entered = passed + failed + quarantined`."""

    gate: str
    entered: int
    passed: int
    failed: int
    quarantined: int
    reasons: dict[str, int]  # reason with its particulars removed -> how often it stopped a task


class Funnel(Record):
    """All rows in gate order; raw = admitted + failed + quarantined over all gates."""

    raw: int
    admitted: int
    gates: tuple[GateCount, ...]

    def counts(self) -> dict[str, dict[str, int]]:
        """gate -> counts, as the manifest of a release holds them."""
        return {
            row.gate: {
                "entered": row.entered,
                "passed": row.passed,
                "failed": row.failed,
                "quarantined": row.quarantined,
            }
            for row in self.gates
        }

    @property
    def quarantined(self) -> int:
        """Tasks no gate could judge because something of ours failed."""
        return sum(row.quarantined for row in self.gates)


def funnel(admissions: Sequence[Admission]) -> Funnel:
    """Count decisions. Gates appear in the registry's order, then any others in the order met."""
    met = dict.fromkeys(result.gate for admission in admissions for result in admission.gates)
    names = [name for name in GATES if name in met] + [name for name in met if name not in GATES]
    rows = []
    for name in names:
        results = [result for admission in admissions for result in admission.gates if result.gate == name]
        stopped = [r for r in results if not r.passed]
        lost = sum("quarantined" in r.figures for r in stopped)
        rows.append(
            GateCount(
                gate=name,
                entered=len(results),
                passed=len(results) - len(stopped),
                failed=len(stopped) - lost,
                quarantined=lost,
                reasons=dict(Counter(_kind(r.reason) for r in stopped).most_common()),
            )
        )
    return Funnel(raw=len(admissions), admitted=sum(a.admitted for a in admissions), gates=tuple(rows))


def _kind(reason: str) -> str:
    """The reason without names and numbers, so that equal causes count together."""
    return re.sub(r"\([^()]*\)|'[^']*'|\d[\d.]*|\b\w*[_/.-]\w[\w/.-]*", "…", reason).strip()[:120]
