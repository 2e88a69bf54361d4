"""finance.three_way_match: what of an invoice is payable by contract, order and receipt, and is it released."""

from collections.abc import Mapping

from journeyman.records.task import Domain, PlanStep, ServiceGrant, Size
from journeyman.worlds.cases.authored import CURRENCIES, RUMOUR, SITES, Common
from journeyman.worlds.cases.derivation import Derivation, Step, Value
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import CaseTruth, Claim, Field, Remark, Source, Systems, Trap, spelled
from journeyman.worlds.criteria import check, none_of
from journeyman.worlds.families import purchasing
from journeyman.worlds.families.purchasing import Purchase
from journeyman.worlds.lexicon import working_day
from journeyman.worlds.scripts import call

DERIVATION = Derivation(
    ("ordered", "changed_from", "change", "prices", "received", "rejected", "invoiced", "total", "tolerance"),
    Step("governing", "choose", ("ordered", "changed_from", "change"), lambda o, f, c: c if o >= f else "contract"),
    Step("price", "look_up", ("governing", "prices"), lambda g, prices: prices[g]),
    Step("accepted", "difference", ("received", "rejected"), lambda a, b: a - b),
    Step("quantity", "limit", ("accepted", "invoiced"), min),
    Step("payable", "product", ("quantity", "price"), lambda q, p: q * p),
    Step("variance", "difference", ("total", "payable"), lambda t, p: t - p),
    Step("decision", "decide", ("variance", "tolerance"), lambda v, t: "hold" if v > t else "approve"),
)


class MatchTruth(CaseTruth):
    """One invoice to be matched."""

    purchase: Purchase
    other_vendor: str  # the name alike
    vendor: str
    goods: str
    invoice: str
    receipt: str
    site: str


class ThreeWayMatch(CaseType[MatchTruth]):
    """A supplier invoice against contract, order and receipt, with a live ERP to hold or approve it in."""

    name = "finance.three_way_match"
    domain: Domain = "finance"
    practice_area = "accounting and close"
    own_axes = {
        "governing": ("contract", "change"),
        "decision": ("hold", "approve"),
        "goods": purchasing.GOODS,
        "unit": purchasing.UNITS,
        "cause": purchasing.CAUSES,
        "change": purchasing.CHANGES,
        "site": SITES,
        "currency": CURRENCIES,
    }
    setting = {"site": "Site"}
    roles = ("buyer", "clerk", "controller", "treasurer", "auditor", "plant_manager")
    stakeholders = ("clerk", "controller", "treasurer", "auditor", "plant_manager")
    deliverables = ("match", "reconciliation", "note")
    derivation = DERIVATION
    fields = (
        Field(
            "document",
            "Price document",
            "governing",
            "The {value} is the price document for the order of {vendor}",
            ("rules",),
            group="authority",
        ),
        Field("price", "Unit price", "price", "The unit price of {goods} is {value}", ("contract", "change"), 1.0),
        Field(
            "quantity",
            "Payable quantity",
            "quantity",
            "The payable quantity is {value}: received less rejected",
            ("erp.receipts.{receipt}",),
        ),
        Field(
            "payable",
            "Payable amount",
            "payable",
            "Of invoice {invoice} the amount {value} is payable",
            ("contract", "change"),
        ),
        Field(
            "excess",
            "Excess over payable",
            "variance",
            "The invoice exceeds what is payable by {value}",
            ("erp.invoices.{invoice}",),
        ),
        Field(
            "decision", "Decision", "decision", "The decision is {value} at a tolerance of {tolerance}", ("rules",), 1.0
        ),
    )
    asks = {
        "train": (
            "Please match invoice {invoice} of {vendor} against contract, order and receipt. Then hold it or "
            "approve what is payable.",
            "Invoice {invoice} for {goods} has come in. Please match it and act on it in the erp.",
            "Invoice {invoice} of {vendor} waits at the {site}. Please match it and decide what happens to it.",
            "We have invoice {invoice} for {goods} from {vendor}. Please match it and settle it in the erp.",
        ),
        "validation": (
            "For {vendor} we need invoice {invoice} matched. Please decide whether it is held or approved.",
            "The {site} wants invoice {invoice} matched. Please decide it in the erp.",
        ),
        "heldout": (
            "{vendor} sent invoice {invoice} for {goods}. Would you match it and settle it in the erp?",
            "From the {site} comes invoice {invoice} of {vendor}. Would you match it, then settle it?",
            "Would you settle invoice {invoice} of {vendor} in the erp, once it is matched?",
        ),
    }
    meaning = (
        "Give the price document as contract or {purchase.change}, and the decision as hold or approve. Invoice and "
        "receipt are in the erp."
    )
    rumoured = "billed_quantity"

    def draw(self, common: Common) -> MatchTruth:
        """The facts of one world."""
        made = purchasing.simulate(
            common, changed=common.axes["governing"] == "change", over=common.axes["decision"] == "hold"
        )
        stem = common.given["other_party"].split()[0]
        return MatchTruth(
            **common.given,
            purchase=made,
            vendor=common.given["other_party"],
            other_vendor=f"{stem} Trading Ltd",
            goods=made.goods,
            invoice=made.invoice_id,
            receipt=made.receipt_id,
            site=common.axes["site"],
        )

    def facts(self, truth: MatchTruth) -> dict[str, Value]:
        """The derivation's facts."""
        p = truth.purchase
        return {
            "ordered": p.order_date,
            "changed_from": p.change_date,
            "change": p.change,
            "prices": p.prices,
            "received": p.received,
            "rejected": p.rejected,
            "invoiced": p.invoiced,
            "total": p.total,
            "tolerance": p.tolerance,
        }

    def traps(self, truth: MatchTruth) -> tuple[Trap, ...]:
        """The document that does not hold, rejected units paid, and the quantity as billed."""
        p = truth.purchase
        other = next(d for d in p.prices if d != p.governing)
        receipt, bill = f"erp.receipts.{p.receipt_id}", f"erp.invoices.{p.invoice_id}"
        return (
            Trap(
                "other_document",
                "supersession",
                "governing",
                other,
                "price",
                "The unit price is given as {value}, which does not hold on the order's date",
                ("contract", "change"),
            ),
            Trap(
                "rejected_paid",
                "exception",
                "rejected",
                0,
                "quantity",
                "The payable quantity is given as {value}, rejected units included",
                (receipt,),
            ),
            Trap(
                "billed_quantity",
                "claim",
                "quantity",
                p.invoiced,
                "quantity",
                "The payable quantity is given as {value}, as billed",
                (bill, RUMOUR),
            ),
        )

    def sources(self, truth: MatchTruth) -> tuple[Source, ...]:
        """Contract, change and rules."""
        p = truth.purchase
        return (
            Source(
                "rules",
                "rules.txt",
                f"{truth.company} rules at the {truth.site}",
                (
                    (f"orders before {p.change_date}", "contract"),
                    (f"orders since {p.change_date}", p.change),
                    ("tolerance", str(p.tolerance)),
                    (f"{p.cause} {p.unit}", "not payable"),
                ),
                p.change_date,
            ),
            Source(
                "contract",
                "contract.txt",
                f"{truth.vendor} contract",
                (("price", str(p.contract_price)),),
                p.contract_date,
            ),
            Source(
                "change",
                f"{p.change}.txt",
                f"{truth.vendor} {p.change}",
                (("price", str(p.changed_price)),),
                p.change_date,
            ),
        )

    def looks(self, truth: MatchTruth, values: Mapping[str, Value]) -> tuple[str | PlanStep, ...]:
        """The invoice, its receipt, the rules, and the document taken to hold."""
        document = "contract" if values["governing"] == "contract" else "change"
        invoice = call(("erp__get_invoice", {"invoice_id": truth.purchase.invoice_id}))
        receipt = call(("erp__get_receipt", {"order_id": truth.purchase.order_id}))
        return (invoice, receipt, "rules", document)

    def systems(self, truth: MatchTruth, size: Size) -> Systems:
        """The ERP; more of it in the standard world."""
        tools = ("get_invoice", "get_receipt", "hold_invoice", "approve_invoice")
        more = ("list_invoices",) if size == "standard" else ()
        grant = ServiceGrant(service="erp", actor="clerk", tools=(*tools, *more))
        return Systems((grant,), purchasing.erp_rows(truth.purchase, truth.vendor, truth.other_vendor))

    def acts(self, truth: MatchTruth, values: Mapping[str, Value]) -> tuple[PlanStep, ...]:
        """Hold the invoice, or approve what is payable."""
        return (self._act(truth.purchase.invoice_id, values["decision"], values["payable"]),)

    @staticmethod
    def _act(invoice: str, decision: str, payable: int) -> PlanStep:
        if decision == "hold":
            return call(("erp__hold_invoice", {"invoice_id": invoice, "reason": "over tolerance"}))
        return call(("erp__approve_invoice", {"invoice_id": invoice, "amount": str(payable)}))

    def wrong_acts(self, truth: MatchTruth) -> dict[str, tuple[PlanStep, ...]]:
        """Nothing done, another invoice touched, the opposite done."""
        values, p = self.right(truth), truth.purchase
        opposite = "approve" if values["decision"] == "hold" else "hold"
        return {
            "omitted_update": (),
            "wrong_record": (self._act(p.other_invoice_id, values["decision"], values["payable"]),),
            "unauthorised_payment": (self._act(p.invoice_id, opposite, p.total),),
        }

    def claims(self, truth: MatchTruth) -> tuple[Claim, ...]:
        """The invoice ends as decided, after the receipt was looked at; no other invoice is touched."""
        values, p = self.right(truth), truth.purchase
        held = values["decision"] == "hold"
        expect = {"status": "held"} if held else {"status": "approved", "approved": values["payable"]}
        invoices = {"service": "erp", "table": "invoices"}
        ends = check("service_rows", **invoices, where={"invoice_id": p.invoice_id}, expect=expect)
        other = check("service_rows", **invoices, where={"invoice_id": p.other_invoice_id}, expect={"status": "open"})
        bad = check(
            "service_rows", **invoices, where={"invoice_id": p.invoice_id, "status": "approved" if held else "held"}
        )
        order = check(
            "ledger_order",
            first={"service": "erp", "tool": "get_receipt", "where": {"order_id": p.order_id}},
            then={"service": "erp", "tool": "hold_invoice" if held else "approve_invoice"},
        )
        done = check(
            "ledger_count",
            service="erp",
            tool="hold_invoice" if held else "approve_invoice",
            where={"invoice_id": p.invoice_id},
            committed=True,
        )
        looked = check("all_of", checks=[c.model_dump(mode="json") for c in (order, done)])
        asks, record = (
            "Invoice {invoice} is held or approved in the erp after the receipt was looked at",
            f"erp.invoices.{p.invoice_id}",
        )
        return (
            Claim("settled", f"Invoice {{invoice}} ends {expect['status']} in the erp", 3.0, ends, asks, (record,)),
            Claim(
                "looked_first",
                "The receipt of {invoice} was looked at before it was settled",
                1.0,
                looked,
                asks,
                (f"erp.receipts.{p.receipt_id}",),
            ),
            Claim(
                "error_other_invoice",
                "An invoice of {other_vendor} was changed",
                -2.0,
                none_of(other),
                asks,
                (f"erp.invoices.{p.other_invoice_id}",),
            ),
            Claim(
                "error_opposite",
                f"Invoice {{invoice}} ends {'approved' if held else 'held'}, which its figures do not bear",
                -2.0,
                bad,
                asks,
                (record,),
            ),
        )

    def remarks(self, truth: MatchTruth) -> tuple[Remark, ...]:
        """Why units are not paid."""
        p = truth.purchase
        return (
            Remark(
                "cause",
                f"{p.rejected} {p.unit} were rejected",
                (spelled(p.rejected),),
                ("rejected", "refused", "returned", "sent back"),
                f"says how many {p.unit} were rejected",
                ("receipt",),
                ("accepted",),
            ),
        )

    def drive(self, truth: MatchTruth, drive: Drive) -> None:
        """Contract, change, order, receipt, invoice, open items and the matching rules."""
        p = truth.purchase
        purchasing.put_contract(drive, p, truth.vendor, "buyer")
        purchasing.put_trail(drive, p, truth.vendor, truth.other_vendor, "buyer", "clerk")
        drive.paper(
            "rules",
            "policies/matching_rules.docx",
            "Rules for matching invoices",
            by="controller",
            dated=working_day(p.contract_date, 20),
            reference="POL/AP/3",
            rules=(
                "The document in force on the day of the order sets the price, not the one in force today.",
                "Payable is what was received less what was rejected, and never more than was billed.",
                f"An invoice that exceeds what is payable by more than {drive.truth.currency} {p.tolerance} is held; "
                "otherwise what is payable is approved.",
                "Freight that the contract does not mention is not payable.",
                "Say in the result which document set the price: contract, or the kind of paper that changed it "
                f"({p.change}).",
            ),
        )
