"""What every record is: frozen, closed, and identified by the sha256 of its canonical JSON."""

import hashlib
import json
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError


def canonical_json(value: Any) -> bytes:
    """UTF-8 JSON with sorted keys and no spaces; NaN and infinities are refused (ValueError)."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def sha256_hex(data: bytes) -> str:
    """Lower-case hex sha256 of `data`."""
    return hashlib.sha256(data).hexdigest()


_SELF_TOLD = ("value_error", "json_invalid", "missing", "extra_forbidden")  # their texts say enough without the value


def first_fault(error: ValueError, whole: str = "") -> str:
    """The first thing that reading a record found wrong, as `place: what`; `whole` names it where no key does."""
    if not isinstance(error, ValidationError):
        return str(error).splitlines()[0]
    first = error.errors(include_url=False)[0]
    place = ".".join(map(str, first["loc"])) or whole
    what = first["msg"].removeprefix("Value error, ")
    given = first["input"]
    if first["type"] not in _SELF_TOLD and isinstance(given, str | int | float):
        what = f"{what} (got {given[:80] if isinstance(given, str) else given!r})"
    return f"{place}: {what}" if place else what


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


class Checked(Record):
    """A record that carries the digest of its own content, so that one changed byte on disk shows."""

    check: str = ""  # digest of the record with an empty `check`; "" before `checked()`

    def checked(self) -> Self:
        """This record with its check."""
        return self.model_copy(update={"check": self.model_copy(update={"check": ""}).digest()})

    def is_what(self, data: bytes) -> bool:
        """Whether `data` is this record exactly as it was written."""
        return data == self.canonical() and self == self.checked()
