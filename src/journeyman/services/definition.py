"""A service is defined once; MCP tools, HTTP routes, CLI flags and the policy's schemas are all derived from it.

A tool is a typed function `(session, **parameters) -> TypedDict` with a docstring, the permission it needs and the
semantics it declares (T-05). Definitions are compiled when their module is imported, once per process.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model

from journeyman.records.base import first_fault
from journeyman.services.tables import Table

Handler = Callable[..., Any]


class Refused(Exception):
    """The system of record declines, in words for the caller ("order SO-9 not found"). Never a failure of ours."""


class _Arguments(BaseModel):
    """Base of the parameter models: unknown arguments are errors, numbers are accepted where text is wanted."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True, str_strip_whitespace=True)


def _without_titles(schema: Any) -> Any:
    """A JSON schema without pydantic's `title` annotations."""
    if isinstance(schema, dict):
        return {
            key: {name: _without_titles(part) for name, part in value.items()}
            if key in ("properties", "$defs")
            else _without_titles(value)
            for key, value in schema.items()
            if key != "title"
        }
    return [_without_titles(part) for part in schema] if isinstance(schema, list) else schema


@dataclass(frozen=True)
class ToolDefinition:
    """One tool: its function and what it promises. `writes=False` promises that state never changes."""

    function: Handler
    permission: str
    writes: bool = False
    idempotent: bool = True  # repeating a successful call with the same arguments leaves one effect
    retry: str = ""  # what to do when the outcome of a call is unknown; told to the caller

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.__name__

    @cached_property
    def description(self) -> str:
        """First paragraph of the docstring, then the declared repeat semantics of a write."""
        text = " ".join(inspect.cleandoc(self.function.__doc__ or "").split("\n\n")[0].split())
        if not self.writes:
            return text
        repeat = "Safe to repeat." if self.idempotent else "Repeating it acts again."
        return " ".join(part for part in (text, repeat, self.retry) if part)

    @cached_property
    def arguments(self) -> type[BaseModel]:
        """The parameter model, compiled once. `Annotated[str, "..."]` gives a parameter its description."""
        hints = get_type_hints(self.function, include_extras=True)
        fields: dict[str, Any] = {}
        for parameter in list(inspect.signature(self.function).parameters.values())[1:]:
            annotation = hints[parameter.name]
            notes = [note for note in getattr(annotation, "__metadata__", ()) if isinstance(note, str)]
            default = ... if parameter.default is inspect.Parameter.empty else parameter.default
            fields[parameter.name] = (annotation, Field(default, description=notes[0] if notes else None))
        model: type[BaseModel] = create_model(f"{self.name}_arguments", __base__=_Arguments, **fields)
        return model

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """JSON schema of the parameters, without noise."""
        schema = _without_titles(self.arguments.model_json_schema())
        schema.pop("additionalProperties", None)
        schema.setdefault("properties", {})
        return dict(schema)

    @cached_property
    def result(self) -> TypeAdapter[Any]:
        """Adapter of the declared return type."""
        return TypeAdapter(get_type_hints(self.function)["return"])

    @cached_property
    def result_schema(self) -> dict[str, Any]:
        """JSON schema of the result."""
        return dict(_without_titles(self.result.json_schema()))

    def read_arguments(self, arguments: Any) -> dict[str, Any]:
        """Validated arguments by parameter name. Raises Refused, in one line, for what the caller got wrong."""
        try:
            return dict(self.arguments.model_validate(arguments))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            known = ", ".join(self.arguments.model_fields) or "none"
            if first["type"] == "extra_forbidden":
                raise Refused(f"unknown argument {where}; {self.name} takes: {known}") from None
            if first["type"] == "missing":
                raise Refused(f"missing argument {where}; {self.name} takes: {known}") from None
            raise Refused(f"{first_fault(error, 'arguments')}") from None


def tool(
    permission: str, *, writes: bool = False, idempotent: bool = True, retry: str = ""
) -> Callable[[Handler], ToolDefinition]:
    """Declare the decorated function a tool."""

    def declare(function: Handler) -> ToolDefinition:
        return ToolDefinition(function, permission, writes, idempotent, retry)

    return declare


@dataclass(frozen=True)
class ServiceDefinition:
    """A system of record: tables, tools, and which permissions each role (`ServiceGrant.actor`) has."""

    name: str
    title: str
    tables: tuple[Table, ...]
    tool_list: tuple[ToolDefinition, ...]
    roles: Mapping[str, frozenset[str]]

    @cached_property
    def tools(self) -> dict[str, ToolDefinition]:
        """Tools by name."""
        return {definition.name: definition for definition in self.tool_list}

    @cached_property
    def function_schemas(self) -> dict[str, dict[str, Any]]:
        """OpenAI function schemas by tool name, named service__tool; built once."""
        return {
            name: {
                "type": "function",
                "function": {
                    "name": f"{self.name}__{name}",
                    "description": definition.description,
                    "parameters": definition.parameters,
                },
            }
            for name, definition in self.tools.items()
        }
