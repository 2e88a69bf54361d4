"""finance.bank_reconciliation: bank side against ledger side, and the one charge that is missing, posted once."""

from collections.abc import Mapping

from journeyman.records.task import Domain, PlanStep, ServiceGrant, Size
from journeyman.worlds.cases.authored import CURRENCIES, RUMOUR, Common
from journeyman.worlds.cases.derivation import Derivation, Step, Value
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import CaseTruth, Claim, Field, Source, Systems, Trap
from journeyman.worlds.criteria import check
from journeyman.worlds.families import cash
from journeyman.worlds.families.cash import BANK, CHARGE, CashMonth
from journeyman.worlds.scripts import call

DERIVATION = Derivation(
    ("cheques", "paid", "statement", "transit", "book", "charges", "period"),
    Step("open_cheque", "match", ("cheques", "paid"), lambda cheques, paid: next(n for n in cheques if n != paid)),
    Step("outstanding", "look_up", ("cheques", "open_cheque"), lambda cheques, number: cheques[number]),
    Step("charge", "look_up", ("charges", "period"), lambda charges, period: charges[period]),
    Step("bank_side", "sum", ("statement", "transit", "outstanding"), lambda s, t, o: s + t - o),
    Step("ledger_side", "difference", ("book", "charge"), lambda b, c: b - c),
    Step("rest", "difference", ("bank_side", "ledger_side"), lambda b, x: b - x),
)
FAULT = {"tool": "post_journal", "effect": "timeout_after_commit", "call": 1}


class ReconciliationTruth(CaseTruth):
    """One account to be reconciled."""

    cash: CashMonth
    period: str
    bank: str
    site: str


class BankReconciliation(CaseType[ReconciliationTruth]):
    """Statement, cheques and a live ledger whose first answer gets lost."""

    name = "finance.bank_reconciliation"
    domain: Domain = "finance"
    practice_area = "accounting and close"
    own_axes = {
        "rest": ("bank", "ledger"),
        "order": ("first", "second"),
        "charge": cash.CHARGES,
        "site": ("depot", "plant", "shop", "office", "hotel", "clinic"),
        "deposit": ("night", "counter", "courier"),
        "rhythm": ("monthly", "weekly"),
        "signer": ("one", "two"),
        "currency": CURRENCIES,
    }
    setting = {
        "site": "Site",
        "deposit": "Deposits by",
        "rhythm": "Statements come",
        "currency": "Books in",
        "signer": "Hands on a cheque",
    }
    roles = ("clerk", "controller", "treasurer", "auditor", "cfo", "branch_manager")
    stakeholders = ("controller", "treasurer", "auditor", "cfo", "branch_manager")
    deliverables = ("reconciliation", "report", "log")
    derivation = DERIVATION
    fields = (
        Field(
            "open",
            "Outstanding cheques",
            "outstanding",
            "Cheques of {value} are outstanding at the end of {period}",
            ("statement", "cheques"),
        ),
        Field("bank", "Bank side", "bank_side", "The bank side of {period} is {value}", ("statement", "deposits"), 2.0),
        Field("charge", "Charge to book", "charge", "The charge of {period} to book is {value}", ("statement",), 2.0),
        Field("ledger", "Ledger side", "ledger_side", "The ledger side of {period} is {value}", ("erp.accounts.1100",)),
        Field(
            "rest",
            "Bank side less ledger side",
            "rest",
            "The rest of {period} is {value}, bank side less ledger side",
            ("statement",),
            2.0,
        ),
    )
    asks = {
        "train": (
            "Please reconcile account 1100 of {company} with the bank for {period}. Post the charge that is missing.",
            "Account 1100 of the {site} and its bank differ in {period}. Please find out why and book what is missing.",
            "Please close the {period} cash book of the {site}. Whatever the bank charged has to be booked.",
            "{company} needs account 1100 reconciled with its bank for {period}. Please also post the bank's charge.",
        ),
        "validation": (
            "Why do bank and ledger of the {site} differ in {period}? Please reconcile them and post the charge.",
            "Account 1100 of {company} waits for its {period} reconciliation. Please do it, the charge included.",
        ),
        "heldout": (
            "For {period} account 1100 of the {site} has to agree with the bank. Would you reconcile it?",
            "Account 1100 and the bank of {company} disagree for {period}. Would you explain it?",
            "Would you reconcile the {period} books of the {site} with {bank}?",
        ),
    }
    meaning = "Give both sides as corrected, and what rests as bank less ledger. Post the charge once."
    rumoured = "last_months_charge"

    def draw(self, common: Common) -> ReconciliationTruth:
        """The facts of one world."""
        made = cash.simulate(common)
        return ReconciliationTruth(
            **common.given, cash=made, period=made.period, bank=common.given["other_party"], site=common.axes["site"]
        )

    def facts(self, truth: ReconciliationTruth) -> dict[str, Value]:
        """The derivation's facts."""
        m = truth.cash
        return {
            "cheques": m.cheques,
            "paid": m.cleared,
            "statement": m.statement,
            "transit": m.transit,
            "book": m.book,
            "charges": {m.period: m.charge, m.last_period: m.last_charge},
            "period": m.period,
        }

    def traps(self, truth: ReconciliationTruth) -> tuple[Trap, ...]:
        """The paid cheque taken for the open one, last month's charge, the rest booked away."""
        m = truth.cash
        return (
            Trap(
                "paid_cheque",
                "lookalike",
                "open_cheque",
                m.cleared,
                "open",
                "Outstanding cheques are given as {value}, the one that was paid",
                ("statement", "cheques"),
            ),
            Trap(
                "last_months_charge",
                "cutoff",
                "charge",
                m.last_charge,
                "charge",
                "The charge is given as {value}, that of the month before",
                ("erp.journals.J-1", RUMOUR),
            ),
            Trap(
                "rest_hidden",
                "claim",
                "rest",
                0,
                "rest",
                "The rest is given as {value}, as if all agreed",
                ("statement",),
                -3.0,
            ),
        )

    def sources(self, truth: ReconciliationTruth) -> tuple[Source, ...]:
        """Statement, cheques and deposits."""
        m, axes = truth.cash, truth.axes
        statement = (
            ("balance", str(m.statement)),
            (f"cheque {m.cleared}", "paid"),
            (f"{m.charge_kind} charge", str(m.charge)),
            ("charges", "debit 6800, credit 1100"),
        )
        cheques = tuple((f"cheque {number}", str(amount)) for number, amount in m.cheques.items())
        return (
            Source(
                "statement", "statement.txt", f"{axes['rhythm']} {truth.currency} statement {m.end}", statement, m.end
            ),
            Source("cheques", "cheques.txt", f"{truth.company} cheques, {axes['signer']} hand", cheques, m.end),
            Source(
                "deposits",
                "deposits.txt",
                f"{axes['deposit']} deposits of the {truth.site}",
                (
                    ("transit", str(m.transit)),
                    ("bank side", "statement plus transit less open cheques"),
                    ("ledger side", "account 1100 less charge"),
                ),
                m.end,
            ),
        )

    def looks(self, truth: ReconciliationTruth, values: Mapping[str, Value]) -> tuple[str | PlanStep, ...]:
        """Statement, cheques, deposits, and the account; rules and last month need no look in the small world."""
        return ("statement", "cheques", "deposits", call(("erp__get_account", {"account": BANK})))

    def systems(self, truth: ReconciliationTruth, size: Size) -> Systems:
        """The ledger; the first posting commits and its answer is lost."""
        tools = ("get_account", "list_journals", "post_journal")
        more = ("list_accounts",) if size == "standard" else ()
        grant = ServiceGrant(service="erp", actor="accountant", tools=(*tools, *more), faults=(FAULT,))
        return Systems((grant,), cash.erp_rows(truth.cash))

    @staticmethod
    def _post(amount: int, period: str) -> PlanStep:
        entry = {"debit": CHARGE, "credit": BANK, "amount": str(amount), "period": period}
        return call(("erp__post_journal", entry))

    def acts(self, truth: ReconciliationTruth, values: Mapping[str, Value]) -> tuple[PlanStep, ...]:
        """Post the charge, then look whether it is there."""
        period = truth.cash.period
        return (self._post(values["charge"], period), call(("erp__list_journals", {"period": period})))

    def wrong_acts(self, truth: ReconciliationTruth) -> dict[str, tuple[PlanStep, ...]]:
        """Posted again blindly, not at all, without looking, or the rest booked away too."""
        m, values = truth.cash, self.right(truth)
        post = self._post(m.charge, m.period)
        look = call(("erp__list_journals", {"period": m.period}))
        away = self._post(abs(values["rest"]), m.period)
        return {
            "blind_retry": (post, post, look),
            "omitted_update": (),
            "unverified": (post,),
            "booked_away": (post, look, away),
        }

    def claims(self, truth: ReconciliationTruth) -> tuple[Claim, ...]:
        """The charge is in the ledger once, it was looked for after the lost answer, nothing else was posted."""
        m = truth.cash
        rows = {"service": "erp", "table": "journals"}
        entry = {"debit": CHARGE, "credit": BANK, "amount": m.charge, "period": m.period}
        once = check("service_rows", **rows, where={"period": m.period, "amount": m.charge}, expect=entry, min=1, max=1)
        posted = check("ledger_count", service="erp", tool="post_journal", where={"amount": m.charge}, committed=True)
        looked = check(
            "ledger_order",
            first={"service": "erp", "tool": "post_journal"},
            then={"service": "erp", "tool": "list_journals", "where": {"period": m.period}},
        )
        seen = check("ledger_count", service="erp", tool="list_journals", where={"period": m.period}, outcome="ok")
        verified = check("all_of", checks=[c.model_dump(mode="json") for c in (posted, looked, seen)])
        twice = check("service_rows", **rows, where={"period": m.period}, min=2)
        asks = "The charge of {period} is posted once, debit 6800, credit 1100"
        account = ("erp.accounts.1100", "statement")
        return (
            Claim("posted", f"The charge of {m.charge} is in the ledger of {m.period} once", 3.0, once, asks, account),
            Claim(
                "verified",
                "After the lost answer the journals were looked at",
                1.0,
                verified,
                "The journals are looked at after an answer that was lost",
                account,
            ),
            Claim("error_second_posting", f"More than one entry was posted in {m.period}", -3.0, twice, asks, account),
        )

    def drive(self, truth: ReconciliationTruth, drive: Drive) -> None:
        """Statement, registers, rules and the month before."""
        cash.put_papers(drive, truth.cash, "clerk", "controller")
