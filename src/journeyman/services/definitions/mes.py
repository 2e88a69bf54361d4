"""Manufacturing execution system: batches with their readings, shifts with their stops.

A batch is decided once; a stop is coded to one cause at a time and keeps its minutes.
"""

from typing import Annotated, Literal

from typing_extensions import TypedDict

from journeyman.services.definition import Refused, ServiceDefinition, tool
from journeyman.services.tables import Row, Session, Table

BatchId = Annotated[str, "Batch number"]
ShiftId = Annotated[str, "Shift, as the line and the day name it"]


class Batch(TypedDict):
    """One batch; `size` counts pieces."""

    batch_id: str
    size: int
    made_on: str
    status: str


class BatchLine(TypedDict):
    """One line of a batch list."""

    batch_id: str
    product: str
    status: str


class Batches(TypedDict):
    """Several batches."""

    batches: list[BatchLine]


class Reading(TypedDict):
    """One measured piece; a void reading was withdrawn by the laboratory."""

    piece: str
    value: int
    status: str


class Readings(TypedDict):
    """Readings of one batch in the order they were taken."""

    readings: list[Reading]


class BatchStatus(TypedDict):
    """A batch's status after a decision."""

    batch_id: str
    status: str


class Shift(TypedDict):
    """One shift on one line."""

    shift_id: str
    minutes: int
    made: int
    scrapped: int


class Stop(TypedDict):
    """A stop of the line."""

    stop_id: str
    cause: str
    minutes: int


class Stops(TypedDict):
    """Stops of one shift in their order."""

    stops: list[Stop]


def _find_batch(db: Session, batch_id: str) -> Row:
    row = db.one("batches", batch_id=batch_id)
    if row is None:
        raise Refused(f"batch {batch_id} not found")
    return row


@tool("batches.read")
def get_batch(db: Session, batch_id: BatchId) -> Batch:
    """Look up one batch."""
    row = _find_batch(db, batch_id)
    return {
        "batch_id": row["batch_id"],
        "size": row["size"],
        "made_on": row["made_on"],
        "status": row["status"],
    }


@tool("batches.read")
def list_batches(
    db: Session,
    status: Annotated[
        Literal["waiting", "released", "blocked", "reworked"] | None, "Only batches in this status"
    ] = None,
) -> Batches:
    """List batches."""
    rows = db.rows("batches") if status is None else db.rows("batches", status=status)
    return {
        "batches": [{"batch_id": r["batch_id"], "product": r["product"], "status": r["status"]} for r in rows],
    }


@tool("batches.read")
def list_readings(db: Session, batch_id: BatchId) -> Readings:
    """List the readings of a batch."""
    _find_batch(db, batch_id)
    rows = db.rows("readings", batch_id=batch_id)
    return {"readings": [{"piece": r["piece"], "value": r["value"], "status": r["status"]} for r in rows]}


@tool("batches.decide", writes=True)
def decide_batch(
    db: Session, batch_id: BatchId, decision: Annotated[Literal["release", "rework", "block"], "What becomes of it"]
) -> BatchStatus:
    """Release a waiting batch, send it to rework, or block it. A decision is final."""
    status = {"release": "released", "rework": "reworked", "block": "blocked"}[decision]
    now = _find_batch(db, batch_id)["status"]
    if now not in ("waiting", status):
        raise Refused(f"batch {batch_id} is {now} already")
    db.update("batches", {"batch_id": batch_id}, status=status, decided_by=db.actor)
    return {"batch_id": batch_id, "status": status}


def _find_shift(db: Session, shift_id: str) -> Row:
    row = db.one("shifts", shift_id=shift_id)
    if row is None:
        raise Refused(f"shift {shift_id} not found")
    return row


@tool("shifts.read")
def get_shift(db: Session, shift_id: ShiftId) -> Shift:
    """Minutes and pieces of one shift, stops not taken off."""
    row = _find_shift(db, shift_id)
    return {
        "shift_id": row["shift_id"],
        "minutes": row["minutes"],
        "made": row["made"],
        "scrapped": row["scrapped"],
    }


@tool("shifts.read")
def list_stops(db: Session, shift_id: ShiftId) -> Stops:
    """List the stops of a shift as they are coded now."""
    _find_shift(db, shift_id)
    rows = db.rows("stops", shift_id=shift_id)
    return {"stops": [{"stop_id": r["stop_id"], "cause": r["cause"], "minutes": r["minutes"]} for r in rows]}


@tool("stops.code", writes=True)
def recode_stop(db: Session, stop_id: Annotated[str, "Stop number"], cause: Annotated[str, "Cause, one word"]) -> Stop:
    """Code a stop to another cause."""
    row = db.one("stops", stop_id=stop_id)
    if row is None:
        raise Refused(f"stop {stop_id} not found")
    if db.one("causes", cause=cause) is None:
        raise Refused(f"cause {cause} is not in the list of causes")
    db.update("stops", {"stop_id": stop_id}, cause=cause, coded_by=db.actor)
    return {"stop_id": stop_id, "cause": cause, "minutes": row["minutes"]}


_READ = frozenset({"batches.read", "shifts.read"})

MES = ServiceDefinition(
    name="mes",
    title="Manufacturing execution system",
    tables=(
        Table(
            "batches",
            {
                "batch_id": "text",
                "product": "text",
                "size": "integer",
                "made_on": "text",
                "status": "text",
                "decided_by": "text",
            },
            {"status": "waiting", "decided_by": ""},
        ),
        Table(
            "readings",
            {"reading_id": "text", "batch_id": "text", "piece": "text", "value": "integer", "status": "text"},
            {"status": "valid"},
        ),
        Table("shifts", {"shift_id": "text", "minutes": "integer", "made": "integer", "scrapped": "integer"}),
        Table(
            "stops",
            {"stop_id": "text", "shift_id": "text", "cause": "text", "minutes": "integer", "coded_by": "text"},
            {"coded_by": "terminal"},
        ),
        Table("causes", {"cause": "text", "title": "text"}, {"title": ""}),
    ),
    tool_list=(get_batch, list_batches, list_readings, decide_batch, get_shift, list_stops, recode_stop),
    roles={
        "viewer": _READ,
        "planner": _READ | {"stops.code"},
        "quality": _READ | {"batches.decide"},
    },
)
