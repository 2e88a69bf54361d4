"""What the standard covenant world adds to the truth: paper, full names, a draft amendment, a flash report."""

import random
from typing import NamedTuple

from journeyman.worlds.documents.folder import house
from journeyman.worlds.documents.mail import Person, address
from journeyman.worlds.documents.model import House
from journeyman.worlds.types.covenant_certificate.truth import CovenantTruth, Document, decimal

COVENANT_NAMES = {
    "leverage": "Leverage ratio",
    "gearing": "Gearing ratio",
    "cover": "Interest cover",
    "liquidity": "Liquidity ratio",
}
ENTITY_NAMES = {"group": "Group", "parent": "Parent", "issuer": "Issuer"}
QUARTER_ENDS = {"q1": "03-31", "q2": "06-30", "q3": "09-30", "q4": "12-31"}


class Scene(NamedTuple):
    """The setting of one standard world."""

    truth: CovenantTruth
    borrower: House
    agent: House
    counsel: House
    draft_threshold: int  # hundredths, of an amendment nobody signed
    flash_ratio: int  # hundredths, from before the close
    today: str  # ISO date
    agreement: str  # paths
    amendment: str
    ledger: str
    waiver: str  # of the tested quarter

    def who(self, role: str) -> Person:
        """A correspondent of the borrower."""
        return address(self.truth.people[role], self.truth.borrower)

    @property
    def agent_contact(self) -> Person:
        """The agent's desk."""
        return address(self.truth.people["agent_contact"], self.truth.agent_bank)

    @property
    def quarter(self) -> str:
        """The tested quarter in words, "Q3 2026"."""
        return quarter(self.truth, self.truth.period)

    @property
    def covenant(self) -> str:
        """The tested covenant in words."""
        return COVENANT_NAMES[self.truth.covenant]

    @property
    def entity(self) -> str:
        """The tested entity in words."""
        return ENTITY_NAMES[self.truth.entity]

    @property
    def governing(self) -> str:
        """The governing document in words."""
        return self.document_name(self.truth.governing)

    def document_name(self, document: Document) -> str:
        """ "Agreement" or "Amendment No. 2"."""
        return "Agreement" if document == "agreement" else f"Amendment No. {self.truth.amendment_number}"

    @property
    def headroom(self) -> int:
        """Distance from the threshold in hundredths; negative in a breach."""
        t = self.truth
        gap = t.thresholds[t.governing] - t.ratio
        return gap if t.direction == "maximum" else -gap


def quarter(truth: CovenantTruth, period: str) -> str:
    """ "Q3 2026"."""
    return f"{period.upper()} {truth.year}"


def quarter_end(truth: CovenantTruth, period: str) -> str:
    """ISO date of the quarter's last day."""
    return f"{truth.year}-{QUARTER_ENDS[period]}"


def bound(scene: Scene, threshold: int) -> str:
    """ "not more than 3.90 : 1"."""
    return f"not {'more' if scene.truth.direction == 'maximum' else 'less'} than {decimal(threshold)} : 1"


def signed_decimal(hundredths: int) -> str:
    """-35 -> "-0.35"."""
    return f"{'-' if hundredths < 0 else ''}{decimal(abs(hundredths))}"


def scene(truth: CovenantTruth) -> Scene:
    """The scene of a truth."""
    rng = random.Random(f"standard:law:{truth.split}:{truth.seed}")
    used = {*truth.thresholds.values(), *truth.other_thresholds.values(), *(line.ratio for line in truth.ledger)}
    near = truth.thresholds[truth.governing]
    draft = next(v for v in (near + 35, near - 35, near + 45, near - 45, near + 57) if v not in used)
    flash = next(v for v in (truth.ratio + 13, truth.ratio - 17, truth.ratio + 23) if v not in {*used, draft})
    return Scene(
        truth=truth,
        borrower=house(rng, truth.legal_name),
        agent=house(rng, truth.agent_bank, serif=True),
        counsel=house(rng, f"{truth.people['counsel'].split()[-1]} & Partners LLP", serif=True),
        draft_threshold=draft,
        flash_ratio=flash,
        today=truth.frozen_time[:10],
        agreement="facility/facility_agreement_conformed.docx",
        amendment=f"facility/amendment_no_{truth.amendment_number}.docx",
        ledger=f"ledger/ledger_extract_{truth.year}.xlsx",
        waiver=f"waivers/{truth.period}_{truth.year}_waiver_letter.docx",
    )
