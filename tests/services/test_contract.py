"""Definitions keep their word, and a lying one is caught."""

from typing import Any

import pytest
from typing_extensions import TypedDict

from journeyman.services.contract import fuzz_contract
from journeyman.services.definition import ServiceDefinition, tool
from journeyman.services.definitions import SERVICES
from journeyman.services.tables import Session, Table


class Done(TypedDict):
    """A number."""

    count: int


@tool("use", writes=True)
def claims_idempotent(db: Session, item: str) -> Done:
    """Adds a row each time."""
    db.insert("things", {"thing": db.next_id("things", "X-"), "item": item})
    return {"count": 1}


@tool("use")
def claims_to_read(db: Session, item: str) -> Done:
    """Writes."""
    db.update("things", {"thing": "X-0"}, item=item)
    return {"count": 0}


@tool("use")
def claims_a_number(db: Session) -> Done:
    """Returns text."""
    return {"count": "many"}  # type: ignore[typeddict-item]


@tool("use")
def divides(db: Session, item: str) -> Done:
    """Raises."""
    return {"count": 1 // len(item)}


LIAR = ServiceDefinition(
    name="liar",
    title="Liar",
    tables=(Table("things", {"thing": "text", "item": "text"}),),
    tool_list=(claims_idempotent, claims_to_read, claims_a_number, divides),
    roles={"user": frozenset({"use"}), "guest": frozenset()},
)


@pytest.mark.parametrize("service", list(SERVICES))
def test_shipped_services_keep_their_contract(service: str, state: Any) -> None:
    assert fuzz_contract(service, state, calls=300) == ()


def test_lies_are_named() -> None:
    lies = "\n".join(fuzz_contract(f"{__name__}:LIAR", {"liar": {"things": [{"thing": "X-0", "item": "a"}]}}))
    assert "left a second effect" in lies
    assert "declared a read, yet state changed" in lies
    assert "not the declared shape" in lies
    assert "crashed" in lies
