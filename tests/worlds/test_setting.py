"""What a request names of its world, the world tells: in a document, in a system, or by its outcome."""

import re

import pytest

from journeyman.office.render import render
from journeyman.records.task import Size, Split
from journeyman.worlds.base import WorldDraft
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.families import privacy
from journeyman.worlds.registry import ENVIRONMENT_TYPES, environment_type, make_world
from journeyman.worlds.variety import shown_values

CASES = sorted(name for name in ENVIRONMENT_TYPES if isinstance(environment_type(name), CaseType))
DRAWS: tuple[tuple[Split, int], ...] = (("train", 0), ("train", 1), ("validation", 2), ("heldout", 3), ("heldout", 4))
OUTCOME = "the answer itself, or a step of it: requests list the values a field may take"
STRUCTURAL = {  # own axis that no document words -> why
    "decision": OUTCOME,
    "verdict": OUTCOME,
    "duty": OUTCOME,
    "funds": OUTCOME,
    "outcome": OUTCOME,
    "route": OUTCOME,
    "rest": OUTCOME,
    "binding": OUTCOME,
    "bound": OUTCOME,
    "reading": OUTCOME,
    "holds": OUTCOME,
    "coded": OUTCOME,
    "governing": OUTCOME,
    "trigger": OUTCOME,
    "strict": OUTCOME,
    "area": OUTCOME,
    "balance": OUTCOME,
    "idle": "why an exception does not hold, told by its dates and hands; requests name the officer as a role",
    "faults": "how many the program has; requests use the word otherwise",
    "order": "which of the two cheques is open; requests use the word otherwise",
    "outsider": "which of the peers is no peer; requests use the word otherwise",
    "part": "whether the lease began within the year; requests use the word otherwise",
    "season": "the season of the world's day and of every day close to it",
}


def told(draft: WorldDraft) -> str:
    """All that documents and systems of a world say."""
    files = (f"{path} {render(path, file.data).text}" for path, file in draft.files.items())
    return " ".join((*files, *shown_values(draft.state))).casefold()


def says(text: str, value: str) -> bool:
    """Whether a word of `text` begins with `value`."""
    return re.search(rf"\b{re.escape(value.casefold().replace('_', ' '))}", text) is not None


@pytest.mark.parametrize("size", ["compact", "standard"])
@pytest.mark.parametrize("name", CASES)
def test_what_a_request_names_is_found_in_its_world(name: str, size: Size) -> None:
    kind = environment_type(name)
    assert isinstance(kind, CaseType)
    for split, seed in DRAWS:
        draft = make_world(name, seed, split, size)
        world, request = told(draft), draft.instruction.casefold()
        for axis in set(kind.own_axes) - set(STRUCTURAL):
            value = draft.axes[axis]
            assert not says(request, value) or says(world, value), (split, seed, axis, value)
        if size == "standard":
            for axis in kind.setting:
                assert says(world, draft.axes[axis]), (split, seed, axis)


@pytest.mark.parametrize("seed", range(40))
def test_an_order_of_a_season_is_done_in_that_season(seed: int) -> None:
    truth = environment_type("operations.work_order").truth(seed, "train")
    season = {12: "winter", 3: "spring", 6: "summer", 9: "autumn"}
    for day in (truth.frozen_time, truth.repair.needed_on):
        month = int(day[5:7])
        assert season[month // 3 * 3 or 12] == truth.axes["season"], day


def test_local_time_is_that_of_the_country_on_the_day() -> None:
    assert [privacy.summer_time(d) for d in ("2026-03-28", "2026-03-29", "2026-10-24", "2026-10-25")] == [
        False,
        True,
        True,
        False,
    ]
    for seed in range(60):
        truth = environment_type("law.breach_notice").truth(seed, "train")
        for day in (*truth.b.events.values(), truth.b.sent):
            winter = privacy.UTC_PLUS[truth.axes["country"]]
            assert truth.b.plus == winter + privacy.summer_time(day[:10]), day
