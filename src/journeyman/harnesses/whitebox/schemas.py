"""The native tools as the policy sees them, and the check of a call's arguments against them.

The texts say what a tool does and guarantees, not when to use it (F-10).
"""

from typing import Any

Schema = dict[str, Any]

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def _tool(name: str, text: str, required: dict[str, str], optional: dict[str, str] | None = None) -> Schema:
    properties = {key: {"type": kind} for key, kind in {**required, **(optional or {})}.items()}
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": text, "parameters": parameters}}


def _todo_tool() -> Schema:
    item = {
        "type": "object",
        "properties": {
            "content": {"type": "string"},
            "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
        },
        "required": ["content", "status"],
    }
    schema = _tool("todo_write", "Replace the todo list. It outlives context compaction.", {"todos": "array"})
    schema["function"]["parameters"]["properties"]["todos"]["items"] = item
    return schema


NATIVE: dict[str, Schema] = {
    schema["function"]["name"]: schema
    for schema in (
        _tool(
            "read",
            "Show a text file as numbered lines. offset and limit select a range. "
            "The file's state is recorded; edit and write accept only that state.",
            {"file_path": "string"},
            {"offset": "integer", "limit": "integer"},
        ),
        _tool(
            "edit",
            "Replace old_string in a file that was read. One match is expected; replace_all takes every match.",
            {"file_path": "string", "old_string": "string", "new_string": "string"},
            {"replace_all": "boolean"},
        ),
        _tool(
            "write",
            "Create a file, or overwrite one that was read.",
            {"file_path": "string", "content": "string"},
        ),
        _tool(
            "grep",
            "List lines that match a regular expression, with file and line number. Long results are cut and say so.",
            {"pattern": "string"},
            {"path": "string", "glob": "string"},
        ),
        _tool(
            "glob",
            "List paths that match a file name pattern. Long results are cut and say so.",
            {"pattern": "string"},
            {"path": "string"},
        ),
        _tool(
            "bash",
            "Run a command in a new shell; directory and variables do not carry over. "
            "run_in_background returns a task id at once.",
            {"command": "string"},
            {"timeout_seconds": "number", "run_in_background": "boolean"},
        ),
        _tool("task_list", "List background tasks.", {}),
        _tool("task_output", "Show a background task's output and state.", {"task_id": "string"}),
        _tool("task_stop", "Stop a background task.", {"task_id": "string"}),
        _todo_tool(),
    )
}


def problem(schema: Schema, arguments: dict[str, Any]) -> str:
    """Why these arguments do not fit, in one line; "" where they do. An optional argument may be null."""
    parameters = schema["function"].get("parameters") or {}
    return _object_problem(parameters, arguments, "")


def _object_problem(spec: dict[str, Any], value: dict[str, Any], where: str) -> str:
    properties: dict[str, Any] = spec.get("properties", {})
    required = spec.get("required", ())
    for name in required:
        if value.get(name) is None:
            return f"missing argument {where}{name}"
    for name, item in value.items():
        if name not in properties:
            return f"unknown argument {where}{name}; known: {', '.join(properties) or 'none'}"
        if item is not None and (wrong := _value_problem(properties[name], item, f"{where}{name}")):
            return wrong
    return ""


def _value_problem(spec: dict[str, Any], value: Any, where: str) -> str:
    kind = spec.get("type")
    types = _TYPES.get(kind) if isinstance(kind, str) else None
    if types and (not isinstance(value, types) or (isinstance(value, bool) and bool not in types)):
        return f"argument {where} is not of type {kind}"
    if "enum" in spec and value not in spec["enum"]:
        return f"argument {where} is not one of {', '.join(map(str, spec['enum']))}"
    if kind == "array" and "items" in spec:
        for index, item in enumerate(value):
            if wrong := _value_problem(spec["items"], item, f"{where}[{index}]"):
                return wrong
    if kind == "object" and spec.get("properties"):
        return _object_problem(spec, value, f"{where}.")
    return ""
