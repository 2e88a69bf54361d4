#!/usr/bin/env python3
"""Command line of an episode's services, for use inside a box: one file, standard library only.

    python3 service_cli.py                                 list the services
    python3 service_cli.py wms --help                      list its tools
    python3 service_cli.py wms get_order --order-id SO-1   call one; prints the result as one line of JSON

Exit status: 0 the call succeeded, 1 the service refused or did not answer, 2 the command line is wrong.
The socket is JM_SERVICES_SOCKET (default /run/jm/services.sock), the secret JM_SERVICES_TOKEN.
"""

import http.client
import json
import os
import socket
import sys
from typing import Any


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=60)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def ask(method: str, path: str, body: Any = None) -> Any:
    """One request to the services. Raises OSError where they cannot be reached."""
    connection = _UnixConnection(os.environ.get("JM_SERVICES_SOCKET", "/run/jm/services.sock"))
    headers = {"Authorization": "Bearer " + os.environ.get("JM_SERVICES_TOKEN", "")}
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def read_flags(flags: "list[str]", parameters: "dict[str, Any]") -> "dict[str, Any]":
    """`--order-id SO-1` or `--order-id=SO-1` as {"order_id": "SO-1"}. Raises ValueError with a line for the user."""
    arguments: dict[str, Any] = {}
    rest = list(flags)
    while rest:
        flag = rest.pop(0)
        name, given, value = flag.partition("=")
        if not name.startswith("--"):
            raise ValueError(f"unexpected {flag!r}; arguments are given as --name value")
        if not given:
            if not rest:
                raise ValueError(f"{name} needs a value")
            value = rest.pop(0)
        key = name[2:].replace("-", "_")
        kind = parameters.get("properties", {}).get(key, {}).get("type")
        arguments[key] = json.loads(value) if kind in ("array", "object", "boolean") else value
    return arguments


def usage(service: "dict[str, Any]") -> str:
    """The tools of a service, one line each with their flags."""
    lines = [f"{service['service']}: {service['title']} (you act as {service['actor']})"]
    for tool in service["tools"]:
        required = tool["parameters"].get("required", [])
        names = ["--" + name.replace("_", "-") for name in tool["parameters"].get("properties", {})]
        shown = [name if name[2:].replace("-", "_") in required else f"[{name}]" for name in names]
        lines.append(f"  {' '.join([tool['name'], *shown])}\n      {tool['description']}")
    return "\n".join(lines)


def run(arguments: "list[str]") -> "tuple[int, str]":
    """(exit status, text). Raises OSError where the services cannot be reached, ValueError for a wrong command line."""
    if not arguments or arguments[0] in ("-h", "--help"):
        answer = ask("GET", "/")
        return (0, "services: " + ", ".join(answer["services"])) if "services" in answer else (1, answer["error"])
    service = ask("GET", "/" + arguments[0])
    if "tools" not in service:
        return 1, service["error"]
    if len(arguments) == 1 or arguments[1] in ("-h", "--help"):
        return 0, usage(service)
    schemas = {tool["name"]: tool["parameters"] for tool in service["tools"]}
    answer = ask("POST", f"/{arguments[0]}/{arguments[1]}", read_flags(arguments[2:], schemas.get(arguments[1], {})))
    if answer["ok"]:
        return 0, json.dumps(answer["result"], separators=(",", ":"), ensure_ascii=False)
    return 1, "error: " + answer["error"]


def main() -> int:
    """Entry point."""
    try:
        status, text = run(sys.argv[1:])
    except OSError as error:
        status, text = 1, f"error: the services cannot be reached: {error}"
    except ValueError as error:
        status, text = 2, f"error: {error}"
    print(text, file=sys.stdout if status == 0 else sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
