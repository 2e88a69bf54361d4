"""The gates in the order they run, cheapest first: a literal registry; nothing is imported before it is named."""

from functools import cache
from importlib import import_module

from journeyman.admission.gates.base import Gate
from journeyman.errors import UserError

GATES: dict[str, str] = {
    "static": "journeyman.admission.gates.static:Static",
    "assets": "journeyman.admission.gates.assets:Assets",
    "visibility": "journeyman.admission.gates.visibility:Visibility",
    "leakage": "journeyman.admission.gates.leakage:Leakage",
    "rubric_lint": "journeyman.admission.gates.rubric_lint:RubricLint",
    "no_op": "journeyman.admission.gates.no_op:NoOp",
    "reference": "journeyman.admission.gates.reference:Reference",
    "negatives": "journeyman.admission.gates.negatives:Negatives",
}


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
