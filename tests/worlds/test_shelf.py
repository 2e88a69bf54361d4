"""What lies on a drive beside the matter: nobody needs it, and it rules nothing that somebody needs."""

import datetime
import random
import re
from collections import Counter
from typing import Any

import pytest

from journeyman.office.render import render
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.noise import NOISE
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


def test_the_shelf_is_drawn_from_more_than_thirty_kinds() -> None:
    assert len(NOISE) > 30
    titles = [title for kind in NOISE for title in kind.titles]
    assert len(set(titles)) == len(titles)


def test_no_file_of_the_shelf_can_be_known_by_its_path() -> None:
    seeds = range(60)
    paths = Counter(path for seed in seeds for path in shelf("law.contract_renewal", seed).folder.files)
    assert max(paths.values()) <= len(seeds) // 10
    folders = Counter(
        f for seed in seeds for f in {p.split("/")[0] for p in shelf("law.contract_renewal", seed).folder.files}
    )
    assert max(folders.values()) < len(seeds) * 2 // 3


@pytest.mark.parametrize("name", CASES[::6])
def test_the_shelf_is_of_working_days_close_to_the_worlds_day(name: str) -> None:
    for seed in range(6):
        drive = shelf(name, seed)
        now = datetime.date.fromisoformat(drive.today)
        for path, file in drive.folder.files.items():
            day = datetime.date.fromisoformat(file.as_of)
            assert day.weekday() < 5, path
            assert 0 < (now - day).days < 120, path


@pytest.mark.parametrize("name", CASES)
def test_some_of_the_shelf_lies_among_the_papers_of_the_matter(name: str) -> None:
    kind = environment_type(name)
    assert isinstance(kind, CaseType)
    among = 0
    for seed in range(3):
        truth = kind.truth(seed, "train")
        drive = Drive(truth, random.Random(seed))
        kind.drive(truth, drive)
        before = set(drive.folder.files)
        add_shelf(drive)
        own = {path.split("/")[0] for path in before}
        among += sum(path.split("/")[0] in own for path in set(drive.folder.files) - before)
    assert among > 3


def test_the_fees_of_a_contract_end_shortly_before_its_notice() -> None:
    for seed in range(30):
        truth: Any = environment_type("law.contract_renewal").truth(seed, "train")
        kind = environment_type("law.contract_renewal")
        assert isinstance(kind, CaseType)
        drive = Drive(truth, random.Random(seed))
        kind.drive(truth, drive)
        paid = re.findall(r"20\d\d-\d\d", render("f.xlsx", drive.folder.files["contracts/fees.xlsx"].data).text)
        received = datetime.date.fromisoformat(truth.c.received)
        assert 0 < (received - datetime.date.fromisoformat(f"{max(paid)}-01")).days < 70
