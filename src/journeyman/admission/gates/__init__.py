"""The gates in the order they run, cheapest first: a literal registry; nothing is imported before it is named."""

from functools import cache
from importlib import import_module

from journeyman.admission.gates.base import Gate
from journeyman.errors import UserError

GATES: dict[str, str] = {
    "static": "journeyman.admission.gates.static:Static",
    "assets": "journeyman.admission.gates.assets:Assets",
    "schemas": "journeyman.admission.gates.schemas:Schemas",
    "feasibility": "journeyman.admission.gates.feasibility:Feasibility",
    "visibility": "journeyman.admission.gates.visibility:Visibility",
    "discoverability": "journeyman.admission.gates.discoverability:Discoverability",
    "leakage": "journeyman.admission.gates.leakage:Leakage",
    "contamination": "journeyman.admission.gates.contamination:Contamination",
    "rubric_lint": "journeyman.admission.gates.rubric_lint:RubricLint",
    "contract": "journeyman.admission.gates.contract:Contract",
    "no_op": "journeyman.admission.gates.no_op:NoOp",
    "reference": "journeyman.admission.gates.reference:Reference",
    "ledger": "journeyman.admission.gates.ledger:Ledger",
    "accept_set": "journeyman.admission.gates.accept_set:AcceptSet",
    "negatives": "journeyman.admission.gates.negatives:Negatives",
    "generated": "journeyman.admission.gates.generated:Generated",
    "hacking": "journeyman.admission.gates.hacking:Hacking",
}

# those that read and execute nothing
STATIC_GATES = tuple(name for name in GATES if list(GATES).index(name) < list(GATES).index("no_op"))


@cache
def gate(name: str) -> Gate:
    """The gate `name`, or one given as "module:Class". Raises UserError naming the known ones."""
    module, _, attribute = GATES.get(name, name).partition(":")
    if not attribute:
        raise UserError(f"no gate {name!r}: one of {', '.join(GATES)}, or module:Class")
    try:
        made: Gate = getattr(import_module(module), attribute)()
    except (ImportError, AttributeError) as error:
        raise UserError(f"gate {name!r} cannot be loaded: {error}") from error
    return made
