"""finance.comparable_multiples: equity value from the median multiple of the companies that are peers."""

from collections.abc import Mapping

from journeyman.records.task import Domain, PlanStep
from journeyman.worlds.cases.authored import CURRENCIES, RUMOUR, Common
from journeyman.worlds.cases.derivation import Derivation, Step, Value
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import CaseTruth, Field, Remark, Source, Trap, decimal
from journeyman.worlds.families import listed
from journeyman.worlds.families.listed import Peers, median, multiple


def _multiples(values: Mapping[str, int], earnings: Mapping[str, int], outsider: str) -> tuple[int, ...]:
    """Multiples of everybody but the outsider."""
    return tuple(multiple(values[n], earnings[n]) for n in values if n != outsider)


def _outsider(sectors: Mapping[str, str], sector: str) -> str:
    """The candidate of another sector."""
    return next(name for name, own in sectors.items() if own != sector)


DERIVATION = Derivation(
    ("sectors", "sector", "values", "earnings_by_year", "year", "target_earnings", "gross_debt", "held"),
    Step("outsider", "filter", ("sectors", "sector"), _outsider),
    Step("earnings", "look_up", ("earnings_by_year", "year"), lambda by_year, year: by_year[year]),
    Step("multiples", "ratio", ("values", "earnings", "outsider"), _multiples),
    Step("median", "rank", ("multiples",), median),
    Step("worth", "product", ("median", "target_earnings"), lambda m, e: m * e // 100),
    Step("net_debt", "difference", ("gross_debt", "held"), lambda d, c: d - c),
    Step("equity", "difference", ("worth", "net_debt"), lambda w, d: w - d),
)


RULES = (  # of the compact world; the standard one has a paper on the method
    ("multiples", "value over earnings"),
    ("worth", "median by earnings"),
    ("equity", "worth less debt, net of cash"),
)


class MultiplesTruth(CaseTruth):
    """One target to be valued."""

    peers: Peers
    sector: str
    other_sector: str
    year: str


class ComparableMultiples(CaseType[MultiplesTruth]):
    """A valuation from market data, two years of earnings and an agreed method."""

    name = "finance.comparable_multiples"
    domain: Domain = "finance"
    practice_area = "investment banking"
    own_axes = {
        "sector": listed.SECTORS,
        "other_sector": listed.SECTORS,
        "outsider": ("first", "second", "third", "fourth"),
        "stage": ("pitch", "offer", "signing", "closing"),
        "side": ("buyer", "seller"),
        "listing": ("main", "growth", "foreign"),
        "currency": CURRENCIES,
    }
    setting = {"stage": "Stage", "side": "We act for the", "listing": "Listing"}
    forbidden = tuple((("sector", s), ("other_sector", s)) for s in listed.SECTORS)
    roles = ("director", "associate", "analyst", "client_cfo", "counsel", "vice_president")
    stakeholders = ("director", "associate", "client_cfo", "counsel", "vice_president")
    deliverables = ("valuation", "workbook", "brief")
    derivation = DERIVATION
    fields = (
        Field(
            "out", "Candidate left out", "outsider", "{value} is left out, its business is {other_sector}", ("scope",)
        ),
        Field(
            "median",
            "Median multiple",
            "median",
            "The median multiple of the {sector} peers on {year} earnings is {value}",
            ("values", "earnings"),
            3.0,
            decimal,
        ),
        Field("worth", "Value of the target", "worth", "The value of {company} is {value}", ("values", "target")),
        Field("debt", "Net debt", "net_debt", "Net debt of {company} is {value}", ("target", "scope"), 1.0),
        Field("equity", "Equity value", "equity", "The equity value of {company} is {value}", ("values", "target")),
    )
    asks = {
        "train": (
            "Please value {company} by its {sector} peers. We need the equity value on {year} earnings.",
            "What is {company} worth by its {sector} peers? Please work out the equity value on {year} earnings.",
            "We need an equity value of {company} from {year} multiples of {sector} peers. Please calculate it.",
            "Could you derive the value of {company} from its {sector} peers? Please use {year} earnings.",
        ),
        "validation": (
            "How much equity value do {sector} peers give {company} on {year} earnings? Please work it out.",
            "Peers in {sector} are to give us a value of {company}. Please take {year}.",
        ),
        "heldout": (
            "Before talks begin, {company} needs a value. Would you derive it from {sector} multiples of {year}?",
            "From {year} multiples in {sector}, would you derive the equity value of {company}?",
            "An equity value of {company} is wanted. Would you base it on {sector} peers of {year}?",
        ),
    }
    meaning = (
        "Name the candidate left out, give the median multiple with two decimals and amounts in whole millions, "
        "rounded down."
    )
    rumoured = "last_year"

    def draw(self, common: Common) -> MultiplesTruth:
        """The facts of one world."""
        made = listed.simulate(common)
        return MultiplesTruth(
            **common.given, peers=made, sector=made.sector, other_sector=made.other_sector, year=made.year
        )

    def facts(self, truth: MultiplesTruth) -> dict[str, Value]:
        """The derivation's facts."""
        p = truth.peers
        return {
            "sectors": p.sectors,
            "sector": p.sector,
            "values": p.values,
            "earnings_by_year": p.earnings,
            "year": p.year,
            "target_earnings": p.target_earnings,
            "gross_debt": p.gross_debt,
            "held": p.target_cash,
        }

    def traps(self, truth: MultiplesTruth) -> tuple[Trap, ...]:
        """A peer left out instead of the outsider, last year's earnings, debt without the cash."""
        p = truth.peers
        peer = next(n for n in p.sectors if n != p.outsider)
        return (
            Trap(
                "wrong_peer",
                "lookalike",
                "outsider",
                peer,
                "out",
                "{value} is left out, though its business is {sector}",
                ("scope",),
            ),
            Trap(
                "last_year",
                "cutoff",
                "year",
                p.last_year,
                "median",
                "The median is given as {value}, on earnings of the year before",
                ("old", RUMOUR),
            ),
            Trap(
                "gross_debt",
                "exception",
                "held",
                0,
                "debt",
                "Net debt is given as {value}, the cash not taken off",
                ("target",),
            ),
        )

    def sources(self, truth: MultiplesTruth) -> tuple[Source, ...]:
        """Scope, values, earnings of two years, target."""
        p, axes, today = truth.peers, truth.axes, truth.frozen_time[:10]

        def rows(by_name: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
            return tuple((name, str(value)) for name, value in by_name.items())

        target = (
            ("earnings", str(p.target_earnings)),
            ("debt", str(p.gross_debt)),
            ("cash", str(p.target_cash)),
        )
        return (
            Source("scope", "scope.txt", f"{axes['stage']} for the {axes['side']}", (*rows(p.sectors), *RULES), today),
            Source("values", "values.txt", f"{axes['listing']} market {truth.currency}", rows(p.values), today),
            Source("earnings", f"earnings-{p.year}.txt", p.sector, rows(p.earnings[p.year]), today),
            Source("old", f"earnings-{p.last_year}.txt", p.sector, rows(p.earnings[p.last_year]), today),
            Source("target", "target.txt", f"{truth.company} {p.year}", target, today),
        )

    def looks(self, truth: MultiplesTruth, values: Mapping[str, Value]) -> tuple[str | PlanStep, ...]:
        """Who is a peer, what they are worth, the earnings of the year taken, and the target."""
        earnings = "earnings" if values["year"] == truth.peers.year else "old"
        return ("scope", "values", earnings, "target")

    def remarks(self, truth: MultiplesTruth) -> tuple[Remark, ...]:
        """Why a candidate is left out."""
        p = truth.peers
        return (
            Remark(
                "reason",
                f"the main business of {p.outsider} is {p.other_sector}",
                ((p.outsider,),),
                (p.other_sector,),
                "says what the main business of the candidate left out is",
                ("scope",),
                rivals=tuple(n for n in p.sectors if n != p.outsider),
            ),
        )

    def drive(self, truth: MultiplesTruth, drive: Drive) -> None:
        """Data, method, accounts, and what argues otherwise."""
        listed.put_data(drive, truth.peers, "analyst", "director")
        listed.put_profiles(drive, truth.peers, "analyst", "director")
