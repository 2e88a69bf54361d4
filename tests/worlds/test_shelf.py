"""What lies on a drive beside the matter: nobody needs it, and it rules nothing that somebody needs."""

import random
import re
from typing import Any

import pytest

from journeyman.office.render import render
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.shelf import add_shelf
from journeyman.worlds.registry import ENVIRONMENT_TYPES, environment_type

CASES = sorted(name for name in ENVIRONMENT_TYPES if isinstance(environment_type(name), CaseType))
RULES = re.compile(
    r"\b(sign\w*|draft\w*|contracts?|agreements?|amend\w*|leases?|loans?|notices? of|bind\w*|in force|supersed\w*|"
    r"working days?|version\w*|approv\w*|effective|valid|system of record|insur\w*|limits?|mandate|deadline\w*)\b",
    re.IGNORECASE,
)


def shelf(name: str, seed: int) -> Drive:
    """The shelf alone, on an empty drive of the type's world."""
    truth: Any = environment_type(name).truth(seed, "train")
    drive = Drive(truth, random.Random(f"shelf:{name}:{seed}"))
    add_shelf(drive)
    return drive


@pytest.mark.parametrize("name", CASES)
def test_the_shelf_states_no_rule_on_papers_that_govern(name: str) -> None:
    for seed in range(3):
        for path, file in shelf(name, seed).folder.files.items():
            found = RULES.search(f"{path} {render(path, file.data).text}")
            assert found is None, (path, found)
