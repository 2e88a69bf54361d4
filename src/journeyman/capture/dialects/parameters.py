"""What every dialect asks of a request's fields: each is honoured, asks for nothing, or is refused by its own name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from journeyman.capture.dialects.base import CallRequest, Refusal, Structure
from journeyman.capture.dialects.refusing import fields_of, invalid, named, only, refuse, shallow, shown
from journeyman.engines.base import EngineIdentity
from journeyman.errors import EngineFailure
from journeyman.records.episode import Sampling

_MOST = (1 << 31) - 1  # what servers hold such numbers in
_LIMITS: dict[str, tuple[float, float, str]] = {  # least, most, and how that is said
    "temperature": (0.0001, 10.0, "0, or a number from 0.0001 to 10"),  # below, logits overflow
    "top_p": (5e-324, 1.0, "a number above 0, up to 1"),
    "top_k": (-1, _MOST, f"an integer from -1 to {_MOST}"),
    "max_tokens": (1, _MOST, f"an integer from 1 to {_MOST}"),
}
_SEEDS = 1 << 63
_USUAL = Sampling()


@dataclass(frozen=True)
class Fields:
    """A dialect's fields by what becomes of them."""

    read: frozenset[str]  # the dialect reads them itself
    numbers: Mapping[str, tuple[type, str]]  # sampling numbers: wire name -> (int or float, field of Sampling)
    neutral: Mapping[str, tuple[Any, ...]]  # values that ask for nothing; any other is refused
    no_effect: Mapping[str, str]  # accepted whatever they say, and why they change nothing that is sampled
    remedies: Mapping[str, str] = field(default_factory=dict)  # what to do instead of "leave it out"

    def check(self, body: Any) -> None:
        """Raises Refusal naming the first field that cannot be honoured."""
        if not isinstance(body, dict):
            raise Refusal(400, "invalid_request", "the body is not a JSON object")
        for name, value in body.items():
            if name in self.read or name in self.numbers or name in self.no_effect:
                continue
            remedy = self.remedies.get(name, "leave it out")
            if name not in self.neutral:
                refuse(name, f"{named(name)} is not known here: {remedy}")
            if value not in self.neutral[name]:
                refuse(name, f"{name}={shown(value)} cannot be honoured by this engine: {remedy}")

    def sampling(self, body: dict[str, Any], default: Sampling) -> Sampling:
        """`default` with the numbers that the request sets. Raises Refusal, also where two names say two numbers."""
        given: dict[str, Any] = {}
        said: dict[str, str] = {}  # the name that set it
        for name, (kind, attribute) in self.numbers.items():
            value = body.get(name)
            if value is None:
                continue
            low, high, allowed = _LIMITS[attribute]
            right = isinstance(value, int | float if kind is float else int) and not isinstance(value, bool)
            if not right or not (low <= value <= high or (value == 0 and attribute == "temperature")):
                raise Refusal(400, "invalid_value", f"{name}={shown(value)}: use {allowed}", name)
            if given.setdefault(attribute, kind(value)) != value:
                other = f"{said[attribute]}={shown(given[attribute])}"
                raise Refusal(400, "invalid_value", f"{name}={shown(value)} beside {other}: send one of them", name)
            said[attribute] = name
        return default.model_copy(update=given) if given else default


def seed_of(body: dict[str, Any]) -> int | None:
    """The request's seed. Raises Refusal where no engine could use it."""
    seed = body.get("seed")
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < _SEEDS):
        text = f"seed={shown(seed)}: use an integer from 0 to {_SEEDS - 1}"
        raise Refusal(400, "invalid_value", text, "seed")
    return seed


def stream_options(body: dict[str, Any], *known: str) -> dict[str, Any]:
    """The stream's options. Raises Refusal where one is not known, or asks for padding."""
    options = fields_of(body.get("stream_options"), "stream_options")
    for name, value in options.items():
        if name not in known and value not in (None, False):
            text = f"stream_options.{named(name)}={shown(value)} cannot be honoured: leave it out"
            refuse("stream_options", text)
        if value is not None and not isinstance(value, bool):
            invalid("stream_options", f"stream_options.{named(name)}={shown(value)}: use true or false")
    return options


def structure_of(wanted: Any, param: str) -> Structure | None:
    """What a `response_format` asks for; its schema may lie flat (Responses, Messages) or under json_schema (Chat)."""
    if wanted is None:
        return None
    form = wanted if isinstance(wanted, dict) else {}
    kind = form.get("type")
    if kind in ("text", "json_object"):
        only(form, ("type",), param, param)
        return None if kind == "text" else Structure({"type": "object"}, param)
    outer = form.get("json_schema", form) if kind == "json_schema" else None
    if not isinstance(outer, dict) or not isinstance(schema := outer.get("schema"), dict):
        refuse(param, f"{param}={shown(wanted)} is not known here: use text, json_object or json_schema")
    if outer is not form:
        only(form, ("type", "json_schema"), param, param)
    only(outer, ("type", "name", "schema", "strict"), param, param)
    shallow(schema, param)
    return Structure(schema, param)


def check_engine(asked: CallRequest, engine: EngineIdentity, default: Sampling = _USUAL) -> None:
    """Raises Refusal where a call asks for what its engine does not have.

    `default`: the episode's own sampling; EngineFailure where that, which no client asked for, cannot be had.
    """
    if (limit := engine.sampling.refusal(asked.sampling)) is not None:
        if getattr(asked.sampling, limit.field) == getattr(default, limit.field):
            raise EngineFailure(limit.cause, limit.text)
        raise Refusal(400, "unsupported_parameter", limit.text, limit.field)
    if asked.forced is not None and engine.needs_messages:
        refuse("tool_choice", f"tool_choice: the {engine.kind} engine cannot be made to call a tool: use auto")
    if asked.structure is not None and not engine.grammar:
        param = asked.structure.param
        refuse(param, f"{param}: the {engine.kind} engine cannot sample under a JSON schema: leave it out")


def not_found(previous: Any) -> Refusal:
    """The refusal of a `previous_response_id` that names no reply of this run."""
    text = f"previous_response_id={shown(previous)} is no reply that this run was told: send the history as input"
    return Refusal(400, "previous_response_not_found", text, "previous_response_id")
