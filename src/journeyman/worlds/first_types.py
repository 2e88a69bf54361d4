"""How the answer follows in the first four types, which were written before `cases`: their derivations, for comparison.

Invariant: solved with a truth's facts, each gives what the type's own compact reference writes or does.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from journeyman.worlds.cases.derivation import Derivation, Step, Value


class FirstType(NamedTuple):
    """One of the four: its derivation, the facts of a truth, and the steps its reference states, by key."""

    derivation: Derivation
    facts: Callable[[Any], dict[str, Value]]
    states: dict[str, str]  # key of the compact deliverable -> step


def _approved(statuses: dict[str, str]) -> str:
    return next(v for v, status in statuses.items() if status == "approved")


_FORECAST = Derivation(
    ("statuses", "figures", "asked", "clearances"),
    Step("version", "choose", ("statuses",), _approved),
    Step("headline", "look_up", ("version", "figures"), lambda v, figures: figures[v]),
    Step("cleared", "look_up", ("clearances",), lambda c: c["counsel"]),
    Step("conflict", "compare", ("version", "asked"), lambda v, asked: asked if asked != v else ""),
)
_COVENANT = Derivation(
    ("period", "amended", "thresholds", "entity", "ratios", "direction", "waivers"),
    Step("document", "choose", ("period", "amended"), lambda p, a: "amendment" if p in a else "agreement"),
    Step("threshold", "look_up", ("document", "thresholds"), lambda d, t: t[d]),
    Step("ratio", "look_up", ("entity", "period", "ratios"), lambda e, p, r: r[e, p]),
    Step(
        "result",
        "compare",
        ("ratio", "threshold", "direction"),
        lambda r, t, d: "met" if (r <= t if d == "maximum" else r >= t) else "breach",
    ),
    Step("waiver", "look_up", ("period", "waivers"), lambda p, w: w[p]),
)
_BENCHMARK = Derivation(
    ("contract", "names", "cutoff", "rates", "other"),
    Step("vendor", "match", ("contract", "names"), lambda c, names: next(n for n in names if n == c)),
    Step("excluded", "filter", ("vendor", "names"), lambda v, names: next(n for n in names if n != v)),
    Step("rate", "look_up", ("vendor", "cutoff", "rates"), lambda v, q, r: r[v, q]),
    Step("peer", "look_up", ("other", "cutoff", "rates"), lambda o, q, r: r[o, q]),
    Step("lower", "compare", ("rate", "peer"), lambda r, p: "vendor" if r < p else "peer"),
)
_DOCK = Derivation(
    ("kind", "docks", "capacity", "reserved", "pallets"),
    Step("fitting", "filter", ("kind", "docks"), lambda kind, docks: [d for d, k in docks.items() if k == kind]),
    Step("free", "difference", ("capacity", "reserved"), lambda c, r: {d: c[d] - r[d] for d in c}),
    Step("dock", "decide", ("fitting", "free", "pallets"), lambda f, free, n: next(d for d in f if free[d] >= n)),
)

FIRST_TYPES: dict[str, FirstType] = {
    "finance.board_forecast": FirstType(
        _FORECAST,
        lambda t: {
            "statuses": {v.id: v.status for v in t.versions},
            "figures": {v.id: v.headline for v in t.versions},
            "asked": t.note_version,
            "clearances": {"counsel": t.cleared},
        },
        {"version": "version", "cleared": "cleared", "conflict": "conflict"},
    ),
    "law.covenant_certificate": FirstType(
        _COVENANT,
        lambda t: {
            "period": t.period,
            "amended": t.amendment_periods,
            "thresholds": t.thresholds,
            "entity": t.entity,
            "ratios": {(x.entity, x.period): x.ratio for x in t.ledger if x.covenant == t.covenant},
            "direction": t.direction,
            "waivers": {q: {"signed": "signed", "unsigned": "draft"}[state] for q, state in t.waivers.items()},
        },
        {"document": "document", "result": "result", "waiver": "waiver"},
    ),
    "consulting.vendor_benchmark": FirstType(
        _BENCHMARK,
        lambda t: {
            "contract": t.vendor,
            "names": (t.vendor, t.lookalike),
            "cutoff": t.cutoff,
            "rates": {(r.entity, r.period): r.rate for r in t.rates},
            "other": t.peer,
        },
        {"vendor": "vendor", "excluded": "excluded", "rate": "rate", "peer": "peer", "lower": "lower"},
    ),
    "operations.warehouse_exception": FirstType(
        _DOCK,
        lambda t: {
            "kind": t.kind,
            "docks": {d.dock: d.kind for d in t.docks},
            "capacity": {d.dock: d.capacity for d in t.docks},
            "reserved": {d.dock: d.reserved for d in t.docks},
            "pallets": t.pallets,
        },
        {"resolution": "dock"},
    ),
}
