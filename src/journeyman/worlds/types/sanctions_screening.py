"""law.sanctions_screening: whether a customer that was hit is blocked or cleared, by list, number and stake."""

from collections.abc import Mapping

from journeyman.records.task import Domain, PlanStep, ServiceGrant, Size
from journeyman.worlds.cases.authored import CURRENCIES, RUMOUR, Common
from journeyman.worlds.cases.derivation import Derivation, Step, Value
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import CaseTruth, Claim, Field, Remark, Source, Systems, Trap, decimal
from journeyman.worlds.criteria import all_of, check, none_of
from journeyman.worlds.families import sanctions
from journeyman.worlds.families.sanctions import CONTROL, Hit
from journeyman.worlds.scripts import call


def _in_force(lists: Mapping[str, str], day: str) -> str:
    """Day of the latest list that is not later than `day`."""
    return max(when for when in lists if when <= day)


DERIVATION = Derivation(
    ("lists", "checked_on", "owners", "holders", "limit", "deals", "stages"),
    Step("list", "choose", ("lists", "checked_on"), _in_force),
    Step("party", "look_up", ("lists", "list"), lambda lists, when: lists[when]),
    Step("own", "look_up", ("owners", "party"), lambda owners, party: owners.get(party, 0)),
    Step("reach", "filter", ("holders",), lambda h: tuple(n for n, share in h.items() if share >= CONTROL)),
    Step("through", "sum", ("owners", "reach"), lambda owners, reach: sum(owners[n] for n in reach)),
    Step("stake", "sum", ("own", "through"), lambda own, through: own + through),
    Step("verdict", "compare", ("stake", "limit"), lambda stake, limit: "block" if stake >= limit else "clear"),
    Step("offers", "filter", ("deals", "stages"), lambda d, s: sum(v for i, v in d.items() if s[i] == "offer")),
)


class ScreeningTruth(CaseTruth):
    """One hit to be decided."""

    h: Hit


class SanctionsScreening(CaseType[ScreeningTruth]):
    """Two owners of one name, a holder between, two lists, and a live customer system to act in."""

    name = "law.sanctions_screening"
    domain: Domain = "law"
    practice_area = "regulatory and data"
    own_axes = {
        "control": ("whole", "minor"),
        "verdict": ("block", "clear"),
        "regime": ("trade", "finance", "arms", "energy"),
        "segment": ("retail", "freight", "health", "software"),
        "channel": ("branch", "broker", "portal"),
        "reason": ("renewal", "order", "payment"),
        "country": ("Germany", "France", "Ireland", "Poland"),
        "currency": CURRENCIES,
    }
    setting = {"channel": "Came by", "reason": "Held at", "country": "Country", "currency": "Pays in"}
    roles = ("analyst", "compliance", "partner", "counsel", "controller", "director")
    stakeholders = ("compliance", "partner", "counsel", "controller", "director")
    deliverables = ("review", "note", "log")
    derivation = DERIVATION
    fields = (
        Field("list", "List in force", "list", "The list of {value} is in force", ("lists", "rules")),
        Field(
            "stake",
            "Stake of the listed party, percent",
            "stake",
            "{party} holds {value} percent",
            ("owners", "holder"),
            3.0,
            decimal,
        ),
        Field("verdict", "Block or clear", "verdict", "{h.customer} is to: {value}", ("rules", "owners"), 1.0),
        Field("offers", "Open offers", "offers", "Open offers are {value}", ("crm.accounts.{h.account}",)),
    )
    asks = {
        "train": (
            "Please decide the hit on account {h.account}. We have to know whether it stays blocked.",
            "Is {h.customer} to be blocked under the {axes[regime]} list? Please decide.",
            "Please decide whether {h.account}, which came by the {axes[channel]}, may be served again.",
            "Account {h.account} in {axes[country]} is held at its {axes[reason]}. Please decide the case.",
        ),
        "validation": (
            "May we serve {h.customer} in {axes[country]}? Please decide the hit.",
            "The {axes[regime]} hit on {h.account} is open. Please settle it.",
        ),
        "heldout": (
            "A {axes[regime]} list hit {h.customer}. Would you settle the case?",
            "A {axes[reason]} of {h.account} is held until somebody looks at its owners. Would you do that?",
            "Would you settle whether account {h.account} stays shut?",
        ),
    }
    meaning = (
        "Give the list by its day, the stake in percent with two decimals, and the verdict as block or clear. Then "
        "set {h.account} to blocked or active in the crm."
    )
    rumoured = "namesake_added"

    def draw(self, common: Common) -> ScreeningTruth:
        """The facts of one world."""
        axes = common.axes
        made = sanctions.simulate(common, controls=axes["control"] == "whole", block=axes["verdict"] == "block")
        return ScreeningTruth(**common.given, h=made)

    def facts(self, truth: ScreeningTruth) -> dict[str, Value]:
        """The derivation's facts."""
        return {name: getattr(truth.h, name) for name in DERIVATION.facts}

    def traps(self, truth: ScreeningTruth) -> tuple[Trap, ...]:
        """The list before, the namesake, the holder between misread, lost offers counted."""
        h, right = truth.h, self.right(truth)
        stem, holder = h.listed.rsplit(" ", 1)[0], next(iter(h.holders))
        named = sum(share for party, share in h.owners.items() if party.startswith(f"{stem} "))
        said = (
            "without what it holds through another owner" if right["through"] else "with an owner it does not control"
        )
        return (
            Trap(
                "list_before",
                "supersession",
                "list",
                h.old_list,
                "list",
                "The list of {value} is used, which was replaced",
                ("lists",),
            ),
            Trap(
                "namesake_added",
                "lookalike",
                "own",
                named,
                "stake",
                "The stake is given as {value}, with a party that only bears the name",
                ("owners", RUMOUR),
            ),
            Trap(
                "holder_misread",
                "exception",
                "through",
                0 if right["through"] else h.owners[holder],
                "stake",
                f"The stake is given as {{value}}, {said}",
                ("holder", "owners"),
            ),
            Trap(
                "lost_offers",
                "cutoff",
                "offers",
                sum(h.deals.values()),
                "offers",
                "Open offers are given as {value}, with one that is lost",
                ("crm.accounts.{h.account}",),
            ),
        )

    def sources(self, truth: ScreeningTruth) -> tuple[Source, ...]:
        """Rules, lists, owners and the holder between."""
        h, axes, today = truth.h, truth.axes, truth.frozen_time[:10]
        between, share = next(iter(h.holders.items()))
        rules = (("block from", f"{decimal(h.limit)} percent"), ("half of an owner", "means all it has"))
        lists = tuple((f"list {when}", party) for when, party in h.lists.items())
        owners = tuple((party, decimal(held)) for party, held in h.owners.items())
        held = ((f"{h.listed} has of {between}", decimal(share)),)
        return (
            Source("rules", "rules.txt", f"{axes['regime']} rules", rules, h.old_list),
            Source("lists", "lists.txt", f"{axes['country']} lists, last one holds", lists, max(h.lists)),
            Source("owners", "owners.txt", f"{axes['segment']} {h.account} owners", owners, today),
            Source("holder", "holder.txt", f"{axes['channel']} {axes['reason']}", held, today),
        )

    def looks(self, truth: ScreeningTruth, values: Mapping[str, Value]) -> tuple[str | PlanStep, ...]:
        """Lists, rules and owners, then the offers."""
        return (
            "rules",
            "lists",
            "owners",
            "holder",
            call(("crm__list_opportunities", {"account_id": truth.h.account})),
        )

    def aside(self, truth: ScreeningTruth) -> frozenset[str]:
        """The holder's register where the holder is not controlled."""
        return frozenset() if self.right(truth)["reach"] else frozenset({"holder"})

    def systems(self, truth: ScreeningTruth, size: Size) -> Systems:
        """The customer system; more of it in the standard world."""
        more = ("get_account", "find_accounts", "list_notes") if size == "standard" else ()
        tools = ("list_opportunities", "set_account_status", *more)
        grant = ServiceGrant(service="crm", actor="account_manager", tools=tools)
        return Systems((grant,), sanctions.crm_rows(truth.h, truth.axes["segment"], truth.people["analyst"]))

    def acts(self, truth: ScreeningTruth, values: Mapping[str, Value]) -> tuple[PlanStep, ...]:
        """Block the account or set it active."""
        return (self._act(truth.h.account, values["verdict"]),)

    @staticmethod
    def _act(account: str, verdict: str) -> PlanStep:
        status = "blocked" if verdict == "block" else "active"
        return call(("crm__set_account_status", {"account_id": account, "status": status}))

    def wrong_acts(self, truth: ScreeningTruth) -> dict[str, tuple[PlanStep, ...]]:
        """Nothing done, the account of a name alike, the opposite, closed for good."""
        verdict, h = self.right(truth)["verdict"], truth.h
        opposite = "clear" if verdict == "block" else "block"
        closed = call(("crm__set_account_status", {"account_id": h.account, "status": "closed"}))
        return {
            "omitted_update": (),
            "wrong_record": (self._act(h.other_account, "block"),),
            "opposite": (self._act(h.account, opposite),),
            "closed": (closed,),
        }

    def claims(self, truth: ScreeningTruth) -> tuple[Claim, ...]:
        """The account ends as decided, after its offers were looked at; the other one stays as it was."""
        verdict, h = self.right(truth)["verdict"], truth.h
        ends, bad = ("blocked", "active") if verdict == "block" else ("active", "blocked")
        accounts = {"service": "crm", "table": "accounts"}
        asks, record = "Account {h.account} is blocked or set active in the crm", f"crm.accounts.{h.account}"
        settled = check("service_rows", **accounts, where={"account_id": h.account}, expect={"status": ends})
        changed = {"service": "crm", "tool": "set_account_status", "where": {"account_id": h.account}}
        looked = check(
            "ledger_order",
            first={"service": "crm", "tool": "list_opportunities", "where": {"account_id": h.account}},
            then=changed,
        )
        done = check("ledger_count", **changed, committed=True, min=1)
        same = check("service_rows", **accounts, where={"account_id": h.other_account}, expect={"status": "active"})
        wrong = check("service_rows", **accounts, where={"account_id": h.account, "status": bad}, min=1)
        return (
            Claim("settled", f"Account {{h.account}} ends {ends}", 3.0, settled, asks, (record,)),
            Claim(
                "looked_first",
                "The offers of {h.account} were looked at before its status was set",
                1.0,
                all_of(looked, done),
                asks,
                (record,),
            ),
            Claim(
                "error_other_account",
                "The account of {h.other_customer} was changed",
                -2.0,
                none_of(same),
                asks,
                (f"crm.accounts.{h.other_account}",),
            ),
            Claim(
                "error_opposite",
                f"Account {{h.account}} ends {bad}, which the stake does not bear",
                -2.0,
                wrong,
                asks,
                (record,),
            ),
        )

    def remarks(self, truth: ScreeningTruth) -> tuple[Remark, ...]:
        """Which party is listed."""
        listed = truth.h.listed
        return (
            Remark(
                "party",
                f"{listed} is listed",
                ((listed, listed.rsplit(" ", 1)[1]),),
                ("listed", "on the list", "list of"),
                "says which party, with its number, is listed",
                ("lists",),
                ("unlisted", "delisted"),
            ),
        )

    def drive(self, truth: ScreeningTruth, drive: Drive) -> None:
        """Policy and lists, then the owners."""
        sanctions.put_rules(drive, truth.h, "compliance", "partner")
        sanctions.put_owners(drive, truth.h, "analyst", "counsel", "compliance")
