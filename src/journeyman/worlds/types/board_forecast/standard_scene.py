"""What the standard board-forecast world adds to the truth: paper, an earlier meeting, file names."""

import random
from typing import NamedTuple

from journeyman.worlds.documents.folder import house
from journeyman.worlds.documents.mail import Person, address
from journeyman.worlds.documents.model import House
from journeyman.worlds.lexicon import shift_date
from journeyman.worlds.types.board_forecast.truth import BoardForecastTruth, ForecastVersion

METRIC_NAMES = {
    "revenue": "Revenue",
    "ebitda": "EBITDA",
    "margin": "Gross margin",
    "cash": "Closing cash",
    "debt": "Net debt",
    "capex": "Capital expenditure",
}


class Scene(NamedTuple):
    """What the standard world adds to the truth: paper, an earlier meeting, file names."""

    truth: BoardForecastTruth
    company: House
    counsel: House
    peer: House
    previous_date: str  # of the board meeting before
    previous_resolution: str  # which took note of another version, and approved none
    working: ForecastVersion  # the version the previous meeting took note of
    letter: str  # paths
    minutes: str
    resolution: str
    draft_letter: str

    def who(self, role: str) -> Person:
        """A correspondent of the company."""
        return address(self.truth.people[role], self.truth.company)

    @property
    def lawyer(self) -> Person:
        """The correspondent at counsel's firm."""
        return address(self.truth.people["counsel"], self.truth.counsel_firm)


def scene(truth: BoardForecastTruth) -> Scene:
    """The scene of a truth."""
    rng = random.Random(f"standard:finance:{truth.split}:{truth.seed}")
    previous = shift_date(truth.board_date, -56)
    number = int(truth.resolution.split("-")[1])
    earlier = rng.choice([n for n in range(2, 10) if n != number])
    return Scene(
        truth=truth,
        company=house(rng, truth.legal_name),
        counsel=house(rng, truth.counsel_firm, serif=True),
        peer=house(rng, f"{truth.peer} plc"),
        previous_date=previous,
        previous_resolution=f"{previous[:4]}-0{earlier}",
        working=truth.version("superseded"),
        letter=f"counsel/{truth.counsel_date}_clearance_letter.pdf",
        minutes=f"board/{truth.board_date}_minutes_signed.docx",
        resolution=f"board/{truth.board_date}_resolution_{truth.resolution}.pdf",
        draft_letter=f"counsel/{shift_date(truth.board_date, -5)}_clearance_letter_draft.docx",
    )
