"""Cash books: a bank statement and a ledger of one month that differ by items that can be named, all but a rest.

Invariant: exactly one of two cheques is outstanding at the month's end, and the rest is not zero.
"""

from journeyman.records.base import Record
from journeyman.worlds.base import Rows
from journeyman.worlds.cases.authored import Common
from journeyman.worlds.cases.drive import Drive, Tab, money
from journeyman.worlds.documents.folder import day
from journeyman.worlds.lexicon import shift_date, working_day

CHARGES = ("card", "transfer", "custody", "overdraft")
_WAYS = ("night safe", "counter", "courier")
_PAID = (
    "Direct debit, power",
    "Direct debit, water",
    "Direct debit, telephone",
    "Direct debit, waste",
    "Transfer out, rent",
    "Transfer out, wages",
    "Transfer out, tax",
    "Transfer out, supplier 311",
    "Transfer out, supplier 327",
    "Transfer out, supplier 340",
)
_RECEIVED = (
    "Transfer in, customer 102",
    "Transfer in, customer 118",
    "Transfer in, customer 126",
    "Transfer in, customer 131",
    "Takings by card, till 1",
    "Takings by card, till 2",
    "Takings by card, till 3",
)
BANK, CHARGE = "1100", "6800"  # ledger accounts


class CashMonth(Record):
    """One account in one month. Whole units of the currency."""

    period: str  # "2026-04"
    last_period: str
    end: str  # ISO date of the last day
    statement: int  # balance the bank shows
    book: int  # balance of the ledger account
    cheques: dict[str, int]  # number -> amount
    cleared: str  # the one the bank has paid by the month's end
    open: str  # the one it has not
    transit: int  # deposit the ledger has and the bank has not
    charge: int  # the bank took it, the ledger lacks it
    charge_kind: str
    last_charge: int  # of the month before, booked long ago
    suspense: int  # balance of a look-alike account


def simulate(common: Common) -> CashMonth:
    """A month; which side the rest is on follows the axis `rest`."""
    rng, figures, axes = common.rng, common.figures, common.axes
    end = f"{common.today[:7]}-01"
    end = shift_date(end, -1)
    charge, last_charge = figures.draw(24, 180), figures.draw(24, 180)
    outstanding, cleared = figures.draw(310, 980), figures.draw(310, 980)
    rest = figures.draw(12, 290) * (1 if axes["rest"] == "bank" else -1)

    def balances() -> tuple[tuple[int, int], tuple[int, ...]]:
        statement, transit = rng.randint(4000, 9000), rng.randint(300, 2000)
        bank = statement + transit - outstanding
        return (statement, transit), (bank, bank - rest)

    statement, transit = figures.settle(balances)
    numbers = rng.sample(range(400, 990), 2)
    opened, paid = (str(n) for n in (numbers if axes["order"] == "first" else reversed(numbers)))
    return CashMonth(
        period=end[:7],
        last_period=shift_date(f"{end[:7]}-01", -1)[:7],
        end=end,
        statement=statement,
        book=statement + transit - outstanding - rest + charge,
        cheques={opened: outstanding, paid: cleared},
        cleared=paid,
        open=opened,
        transit=transit,
        charge=charge,
        charge_kind=axes["charge"],
        last_charge=last_charge,
        suspense=rng.randint(10, 900),
    )


def erp_rows(m: CashMonth) -> dict[str, Rows]:
    """The ledger: the bank account, its charges, a look-alike account, the month open and the one before closed."""
    return {
        "erp": {
            "accounts": [
                {"account": BANK, "title": "Bank, current account", "balance": m.book},
                {"account": "1190", "title": "Bank, clearing", "balance": m.suspense},
                {"account": CHARGE, "title": "Bank charges", "balance": m.last_charge},
            ],
            "periods": [{"period": m.last_period, "status": "closed"}, {"period": m.period, "status": "open"}],
            "journals": [
                {"journal_id": "J-1", "debit": CHARGE, "credit": BANK, "amount": m.last_charge, "period": m.last_period}
            ],
        }
    }


def put_papers(drive: Drive, m: CashMonth, clerk: str, controller: str) -> None:
    """Statement, cheque register, deposit slips, the closing rules, last month's reconciliation."""
    currency, name = drive.truth.currency, drive.truth.legal_name
    deposits = _credited(drive, m)
    drive.paper(
        "statement",
        f"bank/statement_{m.period}.pdf",
        f"Statement {m.period}",
        dated=m.end,
        paper=drive.other,
        facts=(("Account of", name), ("Closing day", day(m.end))),
        grid=(("Day", "Entry", f"Out {currency}", f"In {currency}"), _statement(drive, m, deposits)),
    )
    cheques = tuple((f"Cheque {number}", amount) for number, amount in m.cheques.items())
    drive.book(
        "cheques",
        f"ledger/cheques_{m.period}.xlsx",
        "Cheque register",
        Tab("Cheques", ("Cheque", f"Amount {currency}"), cheques, (1,), title=f"Cheques written in {m.period}"),
        by=clerk,
        dated=m.end,
    )
    drive.export(
        "deposits",
        f"ledger/deposits_{m.period}.csv",
        ("deposit", "amount", "in_ledger", "at_bank"),
        (("night safe", m.transit, m.end, "in transit"), *((k, n, on, "credited") for on, k, n in deposits)),
        m.end,
    )
    _put_rules(drive, m, clerk, controller)


def _credited(drive: Drive, m: CashMonth) -> tuple[tuple[str, str, int], ...]:
    """Deposits that ledger and bank both have: day, way, amount; newest first."""
    rng = drive.rng
    made = [(shift_date(m.end, -9), "counter", m.transit + 411)]
    made += [(shift_date(m.end, -n), rng.choice(_WAYS), rng.randint(60, 420)) for n in rng.sample(range(3, 25), 9)]
    return tuple(sorted(((working_day(on), way, n) for on, way, n in made), reverse=True))


def _statement(
    drive: Drive, m: CashMonth, deposits: tuple[tuple[str, str, int], ...]
) -> tuple[tuple[str, str, str, str], ...]:
    """The month's entries from the balance it opens with to the one it closes with."""
    rng = drive.rng
    lines = [(on, f"Deposit, {way}", n) for on, way, n in deposits]
    lines += [
        (working_day(shift_date(m.end, -rng.randint(2, 24))), what, -rng.randint(40, 390))
        for what in rng.sample(_PAID, 8)
    ]
    lines += [
        (working_day(shift_date(m.end, -rng.randint(2, 24))), what, rng.randint(40, 390))
        for what in rng.sample(_RECEIVED, 6)
    ]
    lines.append(
        (working_day(shift_date(m.end, -rng.randint(2, 12))), f"Cheque {m.cleared} paid", -m.cheques[m.cleared])
    )
    lines.append((m.end, f"{m.charge_kind.capitalize()} charge", -m.charge))
    opening = m.statement - sum(n for _, _, n in lines)
    shown = [(on, what, money(-n) if n < 0 else "", money(n) if n > 0 else "") for on, what, n in sorted(lines)]
    return (("", "Opening balance", "", money(opening)), *shown, ("", "Closing balance", "", money(m.statement)))


def _put_rules(drive: Drive, m: CashMonth, clerk: str, controller: str) -> None:
    drive.paper(
        "rules",
        "policies/closing_rules.docx",
        "Closing the cash books",
        by=controller,
        dated=working_day(m.end, -200),
        reference="POL/CL/2",
        rules=(
            "Bank side: the balance of the statement, plus deposits in transit, less cheques the bank has not paid.",
            "Transfers, direct debits and takings are booked from the bank's own file: they are on both sides.",
            "Ledger side: the balance of the account, less charges of the month that were not booked.",
            f"Charges are booked by journal, debit {CHARGE}, credit {BANK}, in the month of the statement, once.",
            "What remains is stated as it is, bank side less ledger side. It is never booked away.",
            "When the system does not answer, look at its journals before you post again.",
        ),
    )
    drive.paper(
        "last",
        f"ledger/reconciliation_{m.last_period}.docx",
        f"Reconciliation {m.last_period}",
        by=clerk,
        dated=working_day(m.end, -25),
        facts=(("Account", BANK), ("Charge booked", money(m.last_charge)), ("Rest", "0")),
        body=("Closed. Nothing is carried over.",),
    )
    drive.mail(
        "",
        "mail/charge_advice.eml",
        sender=clerk,
        to=controller,
        dated=m.end,
        subject=f"Charges of {m.period}",
        body="The bank took a charge again. I have not booked it yet; it is on the statement.",
        answer="Please book it once, in the month it belongs to.",
    )
