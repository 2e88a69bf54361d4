"""What people say in passing cannot be told from its wording, and none of them signs a paper of the world."""

import random
from collections import Counter
from typing import Any

import pytest

from journeyman.office.render import render
from journeyman.worlds.cases.authored import RUMOUR
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.hearsay import put_hearsay
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.rubric import shown
from journeyman.worlds.cases.wording import WORDS
from journeyman.worlds.registry import ENVIRONMENT_TYPES, environment_type

CASES = sorted(name for name in ENVIRONMENT_TYPES if isinstance(environment_type(name), CaseType))


def heard(name: str, seed: int) -> tuple[Any, Drive, dict[str, str]]:
    """A world's truth, its drive with what people say on it, and the text of that by path."""
    kind = environment_type(name)
    assert isinstance(kind, CaseType)
    truth = kind.truth(seed, "train")
    drive = Drive(truth, random.Random(f"{name}:{seed}"))
    kind.drive(truth, drive)
    before = set(drive.folder.files)
    put_hearsay(kind, truth, drive)
    new = {path: file for path, file in drive.folder.files.items() if path not in before}
    return truth, drive, {path: render(path, file.data).text for path, file in new.items()}


def test_there_are_at_least_a_dozen_ways_to_say_it_and_no_split_shares_one() -> None:
    ways = [way for words in WORDS.values() for way in (*words.hearsay, *words.aside)]
    assert sum(len(words.hearsay) for words in WORDS.values()) >= 12
    assert len(set(ways)) == len(ways)


@pytest.mark.parametrize("name", CASES)
def test_nobody_who_signs_a_paper_says_a_value_in_passing(name: str) -> None:
    for seed in range(3):
        truth, drive, texts = heard(name, seed)
        assert drive.paths[RUMOUR] in texts
        for path, text in texts.items():
            assert not any(signer in text for signer in drive.signers - {truth.people[truth.stakeholder]}), path


def test_a_right_value_is_said_as_casually_in_a_share_of_worlds() -> None:
    kind = environment_type("finance.bank_reconciliation")
    assert isinstance(kind, CaseType)
    files: Counter[int] = Counter()
    for seed in range(40):
        truth, drive, texts = heard(kind.name, seed)
        files[len(texts)] += 1
        for path in set(texts) - {drive.paths[RUMOUR]}:
            assert any(value in texts[path] for value in shown(kind, truth, {}).values()), path
            assert path not in drive.paths.values()
    assert set(files) == {1, 2}
    assert 10 <= files[2] <= 30
