"""Chat templates as the field writes them: the sandboxed jinja environment transformers uses, without transformers.

A rendered text depends on the template and the messages only: the clock a template asks for is handed in.
"""

import json
from datetime import datetime
from typing import Any, NoReturn

from jinja2 import Template, TemplateError, nodes
from jinja2.exceptions import TemplateSyntaxError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from journeyman.errors import UserError


class _Generation(Extension):
    """`{% generation %}` marks assistant text for transformers; here its body is simply rendered."""

    tags = {"generation"}

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _tojson(value: Any, ensure_ascii: bool = False, indent: int | None = None, **options: Any) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, **options)


def _raise(message: str) -> NoReturn:
    raise TemplateError(message)


def compile_template(source: str, name: str, now: datetime) -> Template:
    """Compile a chat template. `now` answers `strftime_now`. Raises UserError where its syntax is wrong."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols]
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = now.strftime
    try:
        return environment.from_string(source)
    except TemplateSyntaxError as error:
        raise UserError(
            f"the chat template of {name} does not compile: {error.message} (line {error.lineno})"
        ) from None
