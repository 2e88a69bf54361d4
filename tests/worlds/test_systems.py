"""Systems of record keep their contract on worlds as they are made, and on small states of those no live type uses."""

from typing import Any

import pytest

from journeyman.records.task import ServiceGrant
from journeyman.services.contract import fuzz_contract
from journeyman.services.definitions import SERVICES
from journeyman.services.world import open_world
from journeyman.worlds.registry import ENVIRONMENT_TYPES, make_world

STATES: dict[str, dict[str, Any]] = {
    "crm": {
        "accounts": [
            {"account_id": "A-1", "name": "Norvane plc", "owner": "Ada"},
            {"account_id": "A-2", "name": "Norvane Retail Ltd", "parent": "A-1"},
        ],
        "opportunities": [{"opportunity_id": "O-1", "account_id": "A-2", "amount": 40}],
        "notes": [{"note_id": "N-1", "account_id": "A-1", "text": "asks for terms"}],
    },
    "mailbox": {
        "messages": [
            {"message_id": "M-1", "sender": "ada@norvane.example", "subject": "Terms", "body": "Please."},
            {"message_id": "M-2", "sender": "owner", "subject": "Re: Terms", "folder": "sent"},
        ]
    },
    "calendar": {
        "events": [{"event_id": "E-1", "title": "Close", "person": "Ada", "day": "2026-04-01", "start": 9, "end": 11}]
    },
    "documents": {
        "documents": [
            {"document_id": "D-1", "folder": "board", "name": "Minutes", "status": "final", "text": "Agreed."},
            {"document_id": "D-2", "folder": "board", "name": "Paper", "text": "Draft."},
        ]
    },
}


@pytest.mark.parametrize("service", sorted(STATES))
def test_a_system_keeps_its_contract_on_a_small_state(service: str) -> None:
    assert fuzz_contract(service, {service: STATES[service]}, calls=300) == ()


@pytest.mark.parametrize("name", sorted(ENVIRONMENT_TYPES))
def test_systems_keep_their_contract_on_the_worlds_of_every_type(name: str) -> None:
    for size in ("compact", "standard"):
        draft = make_world(name, 1, "train", size)  # type: ignore[arg-type]
        for grant in draft.services:
            assert fuzz_contract(grant.service, draft.state, calls=120) == ()


def test_nobody_is_booked_twice_and_a_final_document_stays() -> None:
    grants = (
        ServiceGrant(service="calendar", actor="assistant", tools=("book_event", "list_events")),
        ServiceGrant(service="documents", actor="approver", tools=("save_document", "set_document_status")),
    )
    world = open_world(grants, {s: STATES[s] for s in ("calendar", "documents")}, "2026-04-01T08:00:00Z")
    event = {"title": "Audit", "person": "Ada", "day": "2026-04-01", "start": 10, "end": 12}
    assert world.call("calendar__book_event", event).error == "Ada is in Close from 9 to 11"
    assert world.call("calendar__book_event", {**event, "start": 11}).ok
    assert world.call("documents__save_document", {"document_id": "D-1", "text": "x"}).error == "document D-1 is final"
    assert world.call("documents__save_document", {"document_id": "D-2", "text": "x"}).result == {
        "document_id": "D-2",
        "version": 2,
        "status": "draft",
    }


def test_every_family_of_systems_of_the_curriculum_is_there() -> None:
    families = {"crm", "erp", "wms", "tms", "mes", "grc", "ticketing", "property", "mailbox", "calendar", "documents"}
    assert set(SERVICES) <= families
