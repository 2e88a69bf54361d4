"""A drill's little world: files and service records, the tools over them, and the recorder of a worked conversation.

What tools answer here has the surface of the harness's tools, because the policy must read it; nothing else is shared.
"""

import json
import random
from dataclasses import dataclass, field
from typing import Any

from journeyman.training.base_policy import words

Message = dict[str, Any]
Call = tuple[str, dict[str, Any]]

NATIVE: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "read": (("file_path",), ("offset", "limit")),
    "edit": (("file_path", "old_string", "new_string"), ("replace_all",)),
    "write": (("file_path", "content"), ()),
    "grep": (("pattern",), ("path", "glob")),
    "glob": (("pattern",), ("path",)),
    "bash": (("command",), ("timeout_seconds", "run_in_background")),
    "task_list": ((), ()),
    "task_output": (("task_id",), ()),
    "task_stop": (("task_id",), ()),
    "todo_write": (("todos",), ()),
}

_SAID = ("read", "check", "open", "see", "take", "ask", "use", "write")


def schema(name: str, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """A function schema, as far as the chat template looks at it."""
    properties = {key: {"type": "string"} for key in required + optional}
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


@dataclass
class Scene:
    """One conversation in the making."""

    rng: random.Random
    files: dict[str, list[str]] = field(default_factory=dict)
    records: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)  # (tool, id) -> answer
    services: dict[str, tuple[str, ...]] = field(default_factory=dict)  # tool -> parameters
    messages: list[Message] = field(default_factory=list)
    out: str = ""  # where the deliverable goes
    talkative: bool = False  # says what comes before it calls

    def __post_init__(self) -> None:
        self.talkative = self.rng.random() < 0.35

    def tools(self) -> list[dict[str, Any]]:
        """The native tools (now and then only some), then the scene's services."""
        names = list(NATIVE)
        if self.rng.random() < 0.15:
            used = {call["name"] for message in self.messages for call in message.get("tool_calls", ())}
            names = [name for name in names if name in used or self.rng.random() < 0.5]
        native = [schema(name, *NATIVE[name]) for name in names]
        return native + [schema(name, parameters) for name, parameters in self.services.items()]

    def path(self, extension: str | None = None) -> str:
        """A new file path."""
        rng = self.rng
        while True:
            stem = words.nonsense(rng) if rng.random() < 0.25 else rng.choice(words.NOUNS)
            if rng.random() < 0.3:
                stem += rng.choice(("_", "-")) + rng.choice((rng.choice(words.NOUNS), words.nonsense(rng)))
            if rng.random() < 0.3:
                stem += rng.choice(("_", "_v", "-", "")) + str(rng.randrange(1, 10))
            directory = rng.choice(("", "", "", "", "", "", "out/", rng.choice(words.NOUNS) + "/"))
            found = directory + stem + (extension or rng.choice((".txt",) * 9 + (".md", ".csv", ".eml")))
            if found not in self.files:
                return found

    def ask(self, instruction: str, system: str) -> None:
        """Open the conversation."""
        if system:
            self.messages.append({"role": "system", "content": system})
        self.messages.append({"role": "user", "content": instruction})

    def act(self, *calls: Call, text: str = "") -> None:
        """One assistant turn with its calls, and what the tools answer."""
        if self.talkative and not text and self.rng.random() < 0.6:
            text = self._announce(calls[0])
        self.messages.append(
            {
                "role": "assistant",
                "content": text,
                "tool_calls": [{"name": name, "arguments": arguments} for name, arguments in calls],
            }
        )
        for name, arguments in calls:
            self.messages.append({"role": "tool", "content": self._answer(name, arguments)})

    def _announce(self, call: Call) -> str:
        """A short sentence that mostly names what the call is about."""
        rng = self.rng
        about = str(next(iter(call[1].values()), call[0]))
        if len(about) > 40:
            return ""
        form = rng.choice(("I {v} {x} now.", "Let me {v} {x}.", "Next {x}.", "Now I {v} {x} and {w} it.", "{V} {x}."))
        verb, other = rng.choice(_SAID), rng.choice(_SAID)
        return form.format(v=verb, V=verb.capitalize(), w=other, x=about)

    def say(self, text: str) -> None:
        """The assistant's last message."""
        self.messages.append({"role": "assistant", "content": text})

    def _answer(self, name: str, arguments: dict[str, Any]) -> str:
        if name == "read":
            return "\n".join(f"{n}\t{line}" for n, line in enumerate(self.files[arguments["file_path"]], 1))
        if name == "write":
            lines = arguments["content"].splitlines()
            self.files[arguments["file_path"]] = lines
            return f"wrote {arguments['file_path']} ({len(lines)} lines)"
        if name == "glob":
            return "\n".join(sorted(self.files))
        if name == "grep":
            hits = [
                f"{path}:{n}:{line}"
                for path, lines in sorted(self.files.items())
                for n, line in enumerate(lines, 1)
                if arguments["pattern"] in line
            ]
            return "\n".join(hits)
        return json.dumps(self.records[name, next(iter(arguments.values()), "")], ensure_ascii=False)
