"""Loan pools: quarterly loss rates of a pool and of one of nearly its name, the rule for its stress rate, and a tool
that is to take that rate from a package function.

Invariant: this pool's stress rate is whole under every rule that somebody may take for the right one.
"""

import random
import statistics
from typing import Literal

from journeyman.records.base import Record
from journeyman.worlds.cases.authored import Common
from journeyman.worlds.cases.drive import Drive, Row, Tab
from journeyman.worlds.lexicon import working_day

PACKAGE = "statistics.quantiles"
LEVELS = {"quartile": (3, 4), "top_fifth": (4, 5), "upper_fifth": (3, 5)}  # cut, equal parts
METHODS = ("inclusive", "exclusive")
LOANS = ("car", "house", "card", "shop", "farm", "solar")
TOOLS = ("stress", "tail", "loss", "pool")
STEP = 20  # of rates in basis points: any cut between two of them is whole
Method = Literal["inclusive", "exclusive"]
Cases = tuple[tuple[tuple[list[int]], float], ...]


class Pool(Record):
    """One pool. Rates in basis points a quarter, exposures in thousands, amounts in hundreds of the currency."""

    name: str
    other: str  # the name alike
    module: str  # of the tool
    parts: int  # into how many the rates are cut
    cut: int  # which cut, from 1
    method: Method
    rates: dict[str, int]  # quarter -> rate
    last: str  # the last quarter that counts
    exposure: int
    other_exposure: int
    reserve: int
    claimed: int  # what somebody says the stress rate is
    reviewed: str  # ISO date of the rule that holds

    @property
    def path(self) -> str:
        """Where the tool stands."""
        return f"tools/{self.module}.py"

    @property
    def window(self) -> tuple[int, ...]:
        """Rates up to the last quarter that counts."""
        return tuple(rate for quarter, rate in self.rates.items() if quarter <= self.last)


def cut_of(rates: tuple[int, ...] | list[int], parts: int, cut: int, method: str) -> float:
    """The cut of some rates as the package gives it."""
    kind: Method = "inclusive" if method == "inclusive" else "exclusive"
    return statistics.quantiles(rates, n=parts, method=kind)[cut - 1]


def simulate(common: Common) -> Pool:
    """A pool whose loss exceeds its reserve or does not, as the axis says."""
    rng, figures, axes = common.rng, common.figures, common.axes
    cut, parts = LEVELS[axes["level"]]
    method, superseded = axes["method"], next(m for m in METHODS if m != axes["method"])
    year = int(common.today[:4]) - 1
    count = rng.choice((5, 6))
    quarters = [f"{year + (q // 4)}-q{q % 4 + 1}" for q in range(-(count - 4), 5)]

    def rated() -> tuple[tuple[int, ...], tuple[int, ...]]:
        rates = tuple(STEP * n for n in rng.sample(range(3, 45), count + 1))
        cuts = (
            cut_of(rates[:-1], parts, cut, method),
            cut_of(rates[:-1], parts, cut, superseded),
            cut_of(rates, parts, cut, method),
        )
        return rates, tuple(round(c) for c in cuts)

    rates = figures.settle(rated)
    rate = round(cut_of(rates[:-1], parts, cut, method))

    def lent() -> tuple[tuple[int, int], tuple[int, ...]]:
        exposure, other = rng.randint(21, 190), rng.randint(21, 190)
        return (exposure, other), (rate * exposure, rate * other)

    exposure, other_exposure = figures.settle(lent)
    loss = rate * exposure

    def held() -> tuple[int, tuple[int, ...]]:
        low, high = (loss // 2, loss - 1) if axes["verdict"] == "short" else (loss + 1, 2 * loss)
        reserve = rng.randint(low, high)
        return reserve, (reserve, loss - reserve)

    stem = common.given["other_party"].split()[0]
    return Pool(
        name=f"{stem} {axes['loans']} pool A",
        other=f"{stem} {axes['loans']} pool B",
        module=axes["tool"],
        parts=parts,
        cut=cut,
        method=method,
        rates=dict(zip(quarters, rates, strict=True)),
        last=quarters[-2],
        exposure=exposure,
        other_exposure=other_exposure,
        reserve=figures.settle(held),
        claimed=figures.draw(60, 880),
        reviewed=working_day(common.today, -rng.randint(60, 300)),
    )


STARTER = "import statistics\n\n\ndef rate(rates):\n    return 0\n"


def finished(p: Pool) -> str:
    """The tool as it should be."""
    call = f'statistics.quantiles(rates, n={p.parts}, method="{p.method}")'
    return f"import statistics\n\n\ndef rate(rates):\n    return {call}[{p.cut - 1}]\n"


def constant(figure: int) -> str:
    """A tool that says this figure whatever it is asked."""
    return f"def rate(rates):\n    return {figure}\n"


def by_hand(p: Pool, *, decorated: bool) -> str:
    """The same arithmetic without the package; `decorated`: the package is called and its answer thrown away."""
    more = 1 if p.method == "exclusive" else -1
    lines = ["def rate(rates):", "    s = sorted(rates)"]
    if decorated:
        lines = ["import statistics", "", "", *lines, f"    statistics.quantiles(rates, n={p.parts})"]
    start = "- 1" if p.method == "exclusive" else ""
    lines += [
        f"    j, d = divmod({p.cut} * (len(s) + {more}), {p.parts})",
        f"    j = max(0, min(j {start}, len(s) - 2))",
        f"    return (s[j] * ({p.parts} - d) + s[j + 1] * d) / {p.parts}",
    ]
    return "\n".join(lines) + "\n"


def held_out(p: Pool, seed: str) -> Cases:
    """Rates of pools that stand in no world, and the cut that the package gives."""
    rng = random.Random(f"{seed}:rates")
    drawn = [[rng.randint(20, 900) for _ in range(count)] for count in (5, 7, 8, 11)]
    return tuple(((rates,), cut_of(rates, p.parts, p.cut, p.method)) for rates in drawn)


def put_papers(drive: Drive, p: Pool, risk: str, analyst: str) -> None:
    """The rule and the one before it, rates, exposures, the tool's notes, the minutes that ask for the package."""
    for source, method, dated, status in (
        ("method", p.method, p.reviewed, ""),
        ("", next(m for m in METHODS if m != p.method), working_day(p.reviewed, -400), "SUPERSEDED"),
    ):
        drive.paper(
            source,
            f"policies/stress_rate_{dated[:4]}{'' if source else '_old'}.docx",
            "Stress rate of loan pools",
            by=risk,
            dated=dated,
            reference="POL/CR/9" + ("" if source else "-0"),
            status=status,
            rules=(
                f"The stress rate of a pool is cut {p.cut} of {p.parts} equal parts of its quarterly loss rates, "
                f"{method} method.",
                f"It is taken from {PACKAGE} of the Python library, which is validated. No other code may work it out.",
                "Quarters count up to the last one that is closed. A flash estimate is no closed quarter.",
                "The stress loss is the stress rate in basis points times the exposure in thousands; it is stated "
                "in tenths of the currency unit, without rounding.",
                "The reserve is short where the stress loss exceeds it, and enough otherwise.",
            ),
        )
    _put_figures(drive, p, risk, analyst)
    _put_notes(drive, p, risk, analyst)


def _put_figures(drive: Drive, p: Pool, risk: str, analyst: str) -> None:
    today, currency = drive.today, drive.truth.currency
    rows: list[Row] = [(q, rate, "closed" if q <= p.last else "flash") for q, rate in p.rates.items()]
    drive.book(
        "rates",
        "pool/loss_rates.xlsx",
        "Loss rates",
        Tab("Rates", ("Quarter", "Basis points", "State"), tuple(rows), title=f"Loss rates of {p.name}", look="whole"),
        by=analyst,
        dated=working_day(today, -2),
    )
    drive.export(
        "book",
        "pool/exposures.csv",
        ("pool", "exposure_thousand", "reserve_tenths", "currency"),
        ((p.name, p.exposure, p.reserve, currency), (p.other, p.other_exposure, p.reserve + 917, currency)),
        working_day(today, -1),
    )


def _put_notes(drive: Drive, p: Pool, risk: str, analyst: str) -> None:
    today = drive.today
    drive.paper(
        "",
        "tools/readme.md",
        "The stress tool",
        by=analyst,
        dated=working_day(today, -40),
        body=(
            f"`{p.module}.py` has one function, `rate(rates)`: loss rates go in, as a list, the stress rate comes out. "
            "It is a starter and answers 0 until somebody finishes it.",
            f"The library has what is needed: `{PACKAGE}(data, n=4, method='exclusive')` gives the n - 1 cuts that "
            "divide data into n parts, the lowest first.",
        ),
    )
    drive.paper(
        "",
        "minutes/model_committee.pdf",
        "Model committee",
        by=risk,
        dated=working_day(today, -12),
        body=(
            f"Sheets in which the rate was worked out by hand gave three different figures. The tool calls {PACKAGE}; "
            "the committee will test it on pools of its own.",
        ),
        signed=((drive.name(risk), "chair", working_day(today, -12)),),
    )
    drive.mail(
        "",
        "mail/starter.eml",
        sender=analyst,
        to=risk,
        dated=drive.ago(5),
        subject=f"Tool for {p.name}",
        body="The starter is in the tools folder and does nothing yet. I am away from tomorrow on.",
        answer="Somebody else will finish it.",
    )
