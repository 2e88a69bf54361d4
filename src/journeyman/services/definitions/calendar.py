"""A shared calendar: events of people on days. Nobody is in two events at once; hours are whole, 0 to 24."""

from typing import Annotated

from typing_extensions import TypedDict

from journeyman.services.definition import Refused, ServiceDefinition, tool
from journeyman.services.tables import Row, Session, Table

Day = Annotated[str, "ISO date"]


class Event(TypedDict):
    """One event: `start` and `end` are hours of the day."""

    event_id: str
    title: str
    person: str
    day: str
    start: int
    end: int
    status: str


class Events(TypedDict):
    """Several events."""

    events: list[Event]


class Cancelled(TypedDict):
    """An event that no longer takes place."""

    event_id: str
    status: str


def _as_event(row: Row) -> Event:
    return {
        "event_id": row["event_id"],
        "title": row["title"],
        "person": row["person"],
        "day": row["day"],
        "start": row["start"],
        "end": row["end"],
        "status": row["status"],
    }


@tool("events.read")
def list_events(db: Session, day: Day, person: Annotated[str | None, "Only events of this person"] = None) -> Events:
    """List the events of a day that take place."""
    where = {"day": day, "status": "planned"} | ({} if person is None else {"person": person})
    return {"events": [_as_event(r) for r in db.rows("events", **where)]}


@tool("events.write", writes=True, idempotent=False, retry="After a timeout check list_events first.")
def book_event(
    db: Session,
    title: Annotated[str, "What it is"],
    person: Annotated[str, "Whose calendar"],
    day: Day,
    start: Annotated[int, "Hour it begins, 0 to 23"],
    end: Annotated[int, "Hour it ends, 1 to 24"],
) -> Event:
    """Book an event in a free slot of a person's day."""
    if not 0 <= start < end <= 24:
        raise Refused(f"an event cannot last from {start} to {end}")
    busy = [
        r for r in db.rows("events", day=day, person=person, status="planned") if r["start"] < end and start < r["end"]
    ]
    if busy:
        raise Refused(f"{person} is in {busy[0]['title']} from {busy[0]['start']} to {busy[0]['end']}")
    row: Row = {"event_id": db.next_id("events", "E-"), "title": title, "person": person, "day": day}
    return _as_event(db.insert("events", {**row, "start": start, "end": end, "booked_by": db.actor}))


@tool("events.write", writes=True)
def cancel_event(db: Session, event_id: Annotated[str, "Event number"]) -> Cancelled:
    """Cancel an event."""
    if not db.update("events", {"event_id": event_id}, status="cancelled"):
        raise Refused(f"event {event_id} not found")
    return {"event_id": event_id, "status": "cancelled"}


CALENDAR = ServiceDefinition(
    name="calendar",
    title="Calendar",
    tables=(
        Table(
            "events",
            {
                "event_id": "text",
                "title": "text",
                "person": "text",
                "day": "text",
                "start": "integer",
                "end": "integer",
                "status": "text",
                "booked_by": "text",
            },
            {"status": "planned", "booked_by": ""},
        ),
    ),
    tool_list=(list_events, book_event, cancel_event),
    roles={"viewer": frozenset({"events.read"}), "assistant": frozenset({"events.read", "events.write"})},
)
