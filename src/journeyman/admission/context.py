"""What admission knows beside the task: capabilities that attempts will have, held-out work, detectors of shortcuts.

Invariant: frozen before the first candidate is looked at, so that a decision never depends on its neighbours.
"""

from dataclasses import dataclass, field

from journeyman.admission.contamination import HeldOut

CAPABILITIES = frozenset({"files", "services", "office"})  # what a box of this installation gives every policy


@dataclass(frozen=True)
class Context:
    """Shared by all candidates of one admission."""

    heldout: HeldOut = field(default_factory=HeldOut)
    capabilities: frozenset[str] = CAPABILITIES
