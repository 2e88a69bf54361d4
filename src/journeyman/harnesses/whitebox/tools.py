"""Executes one tool call: at most one round trip to the sandbox or the services, and text for the policy.

Invariant: what the policy got wrong is an observation marked as error; what is ours raises the Failure of its layer.
"""

import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from journeyman.harnesses.base import HarnessRun
from journeyman.harnesses.whitebox.prompt import todo_text
from journeyman.harnesses.whitebox.schemas import NATIVE, Schema, problem
from journeyman.records.turn import ToolEvent

BASH_SECONDS = 120.0
SERVICE_MARK = "__"


class Observation(NamedTuple):
    """What the policy is told."""

    text: str
    is_error: bool = False


class Call(NamedTuple):
    """One call as the gateway hands it over: `invalid` is the reason why it could not be read, or ""."""

    id: str
    name: str
    raw: str
    invalid: str = ""


@dataclass
class Toolbox:
    """The tools of one run, native and services', and the run's todo list."""

    run: HarnessRun
    schemas: dict[str, Schema]
    todos: list[dict[str, str]] = field(default_factory=list)
    events: list[ToolEvent] = field(default_factory=list)

    @classmethod
    async def open(cls, run: HarnessRun, names: Sequence[str]) -> "Toolbox":
        """Native tools by name, then the episode's granted service tools. Raises ServiceFailure."""
        schemas = {name: NATIVE[name] for name in names}
        if run.services is not None:
            schemas.update({schema["function"]["name"]: schema for schema in await run.services.tools()})
        return cls(run, schemas)

    async def dispatch(self, call: Call, turn_id: str, seconds_left: float = BASH_SECONDS) -> Observation:
        """Execute one call and keep its event. Raises SandboxFailure, ServiceFailure."""
        started = time.monotonic()
        arguments, invalid = _arguments(call)
        if not invalid and call.name not in self.schemas:
            invalid = f"unknown tool {call.name!r}; available: {', '.join(self.schemas)}"
        wrong = invalid or problem(self.schemas[call.name], arguments)
        if wrong:
            observation = Observation(f"error: {wrong}", True)
        else:
            observation = await self.execute(call.name, arguments, call.id, seconds_left)
        event = ToolEvent(
            call_id=call.id,
            turn_id=turn_id,
            tool=call.name,
            arguments=arguments,
            dispatched=not wrong,
            valid=not invalid,
            is_error=observation.is_error,
            seconds=round(time.monotonic() - started, 6),
        )
        self.events.append(event)
        return observation

    async def execute(self, name: str, arguments: dict[str, Any], call_id: str, seconds_left: float) -> Observation:
        """Execute a well-formed call. Raises SandboxFailure, ServiceFailure."""
        if name in _NATIVE:
            arguments = {key: value for key, value in arguments.items() if value is not None}
            return await _NATIVE[name](self, arguments, seconds_left)
        assert self.run.services is not None
        result = await self.run.services.call(name, arguments, call_id)
        if not result.ok:
            return Observation(f"error: {result.error}", True)
        return Observation(json.dumps(result.result, ensure_ascii=False))

    async def _box(self, op: str, args: dict[str, Any], timeout_seconds: float = BASH_SECONDS) -> dict[str, Any]:
        return await self.run.sandbox.call(op, args, timeout_seconds)


def _arguments(call: Call) -> tuple[dict[str, Any], str]:
    """The arguments as an object, or why they are none."""
    if call.invalid:
        return {}, f"malformed call: {call.invalid}"
    try:
        arguments = json.loads(call.raw or "{}")
    except ValueError as error:
        return {}, f"malformed call: the arguments are not JSON ({error})"
    if not isinstance(arguments, dict):
        return {}, "malformed call: the arguments are not an object"
    return arguments, ""


def _told(reply: dict[str, Any], text: Callable[[dict[str, Any]], str]) -> Observation:
    if "error" in reply:
        return Observation(f"error: {reply['error']}", True)
    return Observation(text(reply))


async def _read(box: Toolbox, args: dict[str, Any], _: float) -> Observation:
    wanted = {"path": args["file_path"], "offset": args.get("offset"), "limit": args.get("limit")}
    return _told(await box._box("read", wanted), lambda reply: str(reply["text"]))


async def _edit(box: Toolbox, args: dict[str, Any], _: float) -> Observation:
    path = args["file_path"]
    wanted = {"path": path, "old": args["old_string"], "new": args["new_string"], "all": args.get("replace_all", False)}
    return _told(await box._box("edit", wanted), lambda reply: f"edited {path} ({reply['replaced']} replaced)")


async def _write(box: Toolbox, args: dict[str, Any], _: float) -> Observation:
    path = args["file_path"]
    reply = await box._box("write", {"path": path, "content": args["content"]})
    return _told(reply, lambda done: f"wrote {path} ({done['lines']} lines)")


async def _grep(box: Toolbox, args: dict[str, Any], _: float) -> Observation:
    return _told(await box._box("grep", args), lambda reply: str(reply["text"]))


async def _glob(box: Toolbox, args: dict[str, Any], _: float) -> Observation:
    return _told(await box._box("glob", args), lambda reply: str(reply["text"]))


async def _bash(box: Toolbox, args: dict[str, Any], seconds_left: float) -> Observation:
    if args.get("run_in_background"):
        reply = await box._box("task_start", {"command": args["command"]})
        return _told(reply, lambda started: f"started task {started['task_id']}")
    limit = min(float(args.get("timeout_seconds", BASH_SECONDS)), box.run.budget.command_seconds, seconds_left)
    limit = max(limit, 0.1)
    reply = await box._box("exec", {"command": args["command"], "timeout_seconds": limit}, limit)
    if "error" in reply:
        return Observation(f"error: {reply['error']}", True)
    text = str(reply["output"]).rstrip("\n")
    if reply["timed_out"]:
        return Observation(f"{text}\nerror: timed out after {limit:g} s; all its processes were killed".lstrip(), True)
    if reply["exit_code"]:
        return Observation(f"{text}\n[exit code {reply['exit_code']}]".lstrip(), True)
    return Observation(text or "[no output]")


async def _task_list(box: Toolbox, args: dict[str, Any], _: float) -> Observation:
    rows = (await box._box("task_list", {})).get("tasks", [])
    lines = [f"{row['task_id']} {row['state']}: {row['command']}" for row in rows]
    return Observation("\n".join(lines) or "no background tasks")


async def _task_output(box: Toolbox, args: dict[str, Any], _: float) -> Observation:
    return _told(await box._box("task_output", args), lambda reply: f"[{reply['state']}]\n{reply['output']}".rstrip())


async def _task_stop(box: Toolbox, args: dict[str, Any], _: float) -> Observation:
    return _told(await box._box("task_stop", args), lambda reply: f"task {args['task_id']} {reply['state']}")


async def _todo_write(box: Toolbox, args: dict[str, Any], _: float) -> Observation:
    box.todos[:] = [{"content": todo["content"], "status": todo["status"]} for todo in args["todos"]]
    return Observation(todo_text(box.todos) or "the todo list is empty")


_NATIVE: dict[str, Callable[[Toolbox, dict[str, Any], float], Awaitable[Observation]]] = {
    "read": _read,
    "edit": _edit,
    "write": _write,
    "grep": _grep,
    "glob": _glob,
    "bash": _bash,
    "task_list": _task_list,
    "task_output": _task_output,
    "task_stop": _task_stop,
    "todo_write": _todo_write,
}
