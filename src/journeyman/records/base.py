"""What every record is: frozen, closed, and identified by the sha256 of its canonical JSON."""

import hashlib
import json
from typing import Any, Self

from pydantic import BaseModel, ConfigDict


def canonical_json(value: Any) -> bytes:
    """UTF-8 JSON with sorted keys and no spaces; NaN and infinities are refused (ValueError)."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def sha256_hex(data: bytes) -> str:
    """Lower-case hex sha256 of `data`."""
    return hashlib.sha256(data).hexdigest()


class Record(BaseModel):
    """A frozen, closed value that flows between stages. Unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")

    def canonical(self) -> bytes:
        """Canonical JSON of this record."""
        return canonical_json(self.model_dump(mode="json"))

    def digest(self) -> str:
        """sha256 hex of `canonical()`: the record's identity."""
        return sha256_hex(self.canonical())

    @classmethod
    def parse(cls, data: bytes | str) -> Self:
        """Read a record from JSON. Raises pydantic.ValidationError."""
        return cls.model_validate_json(data)
