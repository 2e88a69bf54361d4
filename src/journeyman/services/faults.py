"""Declared, seeded faults: which call of which tool misbehaves and how. The same episode seed gives the same faults."""

import hashlib
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import ValidationError, model_validator

from journeyman.errors import UserError
from journeyman.records.base import Record, first_fault

Effect = Literal["timeout_after_commit", "timeout_before_commit", "unavailable", "crash"]


class Fault(Record):
    """One declared fault. Calls are counted per tool, and only calls that would have succeeded count.

    `timeout_*` and `unavailable` are part of the task: the policy sees them. `crash` is a failure of ours, for tests
    of the failure contract: it quarantines the episode with layer "service".
    """

    tool: str
    effect: Effect
    call: int | None = None  # the 1-based call that is hit; None: `rate` decides
    rate: float | None = None  # share of calls hit, drawn from the episode's seed; None: `call` decides

    @model_validator(mode="after")
    def _one_trigger(self) -> "Fault":
        if (self.call is None) == (self.rate is None):
            raise ValueError("a fault needs either `call` or `rate`")
        return self

    def strikes(self, call: int, seed: int) -> bool:
        """Whether the `call`-th call (1-based) of the tool is hit in an episode with `seed`."""
        if self.rate is None:
            return call == self.call
        draw = hashlib.sha256(f"{seed}/{self.tool}/{call}".encode()).digest()
        return int.from_bytes(draw[:8], "big") / 2**64 < self.rate


def read_faults(service: str, declared: Sequence[dict[str, Any]], tools: Sequence[str]) -> tuple[Fault, ...]:
    """The faults of a grant. Raises UserError naming what is wrong."""
    faults = []
    for entry in declared:
        try:
            fault = Fault.model_validate(entry)
        except ValidationError as error:
            raise UserError(f"fault {entry} of service {service}: {first_fault(error, 'fault')}") from None
        if fault.tool not in tools:
            raise UserError(f"fault of service {service} names unknown tool {fault.tool!r}; known: {', '.join(tools)}")
        faults.append(fault)
    return tuple(faults)
