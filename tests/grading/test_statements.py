"""A statement is met in whatever words say it, and not by its opposite, by both at once, or by a question."""

from typing import Any

import pytest

from journeyman.grading.checks import decide
from journeyman.grading.evidence import SealedEvidence
from tests.grading.making import check

COUNTS = {"holds": ["count", "counts", "counted"], "fails": ["left out", "excluded", "void"]}
BINDS = {"holds": ["bind", "binds", "binding", "lower"]}
PAPERS = (["loan agreement", "loan"], ["indenture", "bond"])
STANDSTILL: dict[str, Any] = {"about": [["standstill"]], **COUNTS}
PIECE: dict[str, Any] = {"about": [["piece 1"]], **COUNTS, "true": False}
ENCRYPTED: dict[str, Any] = {"about": [["encrypted"]], **COUNTS, "true": False}
LOAN: dict[str, Any] = {"about": [PAPERS[0]], **BINDS, "rivals": PAPERS[1]}
INDENTURE: dict[str, Any] = {"about": [PAPERS[1]], **BINDS, "rivals": PAPERS[0]}
RESERVES: dict[str, Any] = {"about": [["reserves"]], **BINDS, "rivals": ["loan"]}
SEVEN: dict[str, Any] = {"about": [["7", "seven"]], "holds": ["rejected", "refused"]}
OFFERS: dict[str, Any] = {"about": [["46"], ["offers", "offer"]], **COUNTS, "true": False}
BOILER: dict[str, Any] = {"about": [["boiler"]], "holds": ["recoverable"], "fails": ["capital"], "true": False}
MENTIONS: dict[str, Any] = {"about": [["mentions"]], "holds": ["persons", "respondents"], "true": False}
COMMITTEE: dict[str, Any] = {"about": [["committee"]], "holds": ["use", "used", "taken"]}
STOP: dict[str, Any] = {"about": [["S-488"]], "holds": ["wrong", "wrongly"], "fails": ["right", "rightly"]}

TIMED_OUT: dict[str, Any] = {"about": [["timed out"]], "holds": ["timed out"]}


def met(text: str, **args: Any) -> bool:
    evidence = SealedEvidence("e", "", written={"out.md": text.encode()})
    return decide(check("states", path="out.md", **args), evidence).met


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("The standstill agreement of 8 September 2022 counts, because both parties signed it", STANDSTILL),
        ("The standstill, which both parties signed and did not revoke, counts.", STANDSTILL),
        ("| Standstill | counts |\n\nThe standstill **counts**; more is not needed.", STANDSTILL),
        ("I do not know much. The standstill does not count.", {**STANDSTILL, "true": False}),
        ("Records that are encrypted are not counted", ENCRYPTED),
        ("Not counted: encrypted records", ENCRYPTED),
        ("We left out what is encrypted, as the rules want.", ENCRYPTED),
        ("The reading of piece 1 is void.", PIECE),
        ("The limit of the loan agreement binds, not that of the indenture.", LOAN),
        ("It is not the indenture but the loan agreement that binds.", LOAN),
        ("The indenture allows 5.36, the loan agreement 4.23, which is lower.", LOAN),
        ("The indenture, not the loan agreement, binds.", INDENTURE),
        ("Free reserves of 1,807 are the binding limit", RESERVES),
        ("7 of the 42 rolls received were rejected", SEVEN),
        ("Of 42 rolls seven were rejected and 35 accepted.", SEVEN),
        ("Rejected: 7", SEVEN),
        ("46 offers (not yet joined) are not counted", OFFERS),
        ("Boiler works are capital and not recoverable", BOILER),
        ("Mentions are not respondents", MENTIONS),
        ("Mentions count answers, not persons.", MENTIONS),
        ("The price of the committee was used, not including fees.", COMMITTEE),
        ("S-488 was coded wrongly, the others rightly.", STOP),
        ("The reservation call timed out; it was not repeated.", TIMED_OUT),
    ],
)
def test_right_answers_in_natural_words_are_met(text: str, args: dict[str, Any]) -> None:
    assert met(text, **args)


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("", STANDSTILL),
        ("I do not know if the standstill counts; the standstill does not count.", STANDSTILL),
        ("Does the standstill count?", STANDSTILL),
        ("It is unclear whether the standstill counts.", STANDSTILL),
        ("The standstill counts. The standstill does not count.", STANDSTILL),
        ("The standstill, signed by nobody, counts. The standstill does not count.", {**STANDSTILL, "true": False}),
        ("The standstill counts and is void.", STANDSTILL),
        ("It is not true that the standstill counts.", STANDSTILL),
        ("It is not true that the standstill does not count.", {**STANDSTILL, "true": False}),
        ("The standstill counts.", {**STANDSTILL, "none": ["counts"]}),
        ("All four pieces count.", PIECE),
        ("Piece 1 counts, piece 2 does not count.", PIECE),
        ("The limit of the indenture does not bind, only the limit of the loan agreement does.", INDENTURE),
        ("The limit of the loan agreement binds, not that of the indenture.", INDENTURE),
        ("The indenture, not the loan agreement, binds.", LOAN),
        ("7 were accepted, 35 rejected", SEVEN),
        ("17 were rejected, 7.5 percent", SEVEN),
        ("46 people are not counted", OFFERS),
        ("Boiler works are recoverable.", BOILER),
        ("We did not use the committee price", COMMITTEE),
        ("S-488 was coded right", STOP),
    ],
)
def test_opposites_and_half_answers_are_not(text: str, args: dict[str, Any]) -> None:
    assert not met(text, **args)
