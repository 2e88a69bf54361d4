"""Turns that call live systems, with arguments of the types the systems declare: a harness refuses "60" for 60."""

from typing import Any

from journeyman.records.task import PlanStep, ToolCall
from journeyman.services.definitions import load_service


def as_declared(step: PlanStep) -> PlanStep:
    """The step with digits as numbers wherever the tool declares a whole number and no text."""
    return step.model_copy(update={"calls": tuple(_declared(call) for call in step.calls)})


def _declared(call: ToolCall) -> ToolCall:
    service, found, tool = call.tool.partition("__")
    if not found:
        return call
    properties: dict[str, Any] = load_service(service).tools[tool].parameters["properties"]
    return ToolCall(
        tool=call.tool,
        arguments={name: _value(properties.get(name, {}), value) for name, value in call.arguments.items()},
    )


def _value(schema: dict[str, Any], value: Any) -> Any:
    kinds = {option.get("type") for option in (schema, *schema.get("anyOf", ()))}
    whole = "integer" in kinds and "string" not in kinds
    return int(value) if whole and isinstance(value, str) and value.lstrip("-").isdigit() else value
