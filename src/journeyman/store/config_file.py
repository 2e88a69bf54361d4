"""A config file for one process: TOML or JSON read into a frozen record; an unknown key names the nearest."""

import json
import math
import tomllib
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError

from journeyman.errors import UserError
from journeyman.records.base import Record

C = TypeVar("C", bound=Record)
_TOO_DEEP = "nests tables or lists too deep to be read: remove those"
_NAMED = "NAME"  # stands in a path for the name that a table was given


def load_config(path: Path, kind: type[C]) -> C:
    """Read and check a config file. Raises UserError: one line with the value and the remedy."""
    return parse_config(read_values(path, "the path of a config file"), kind)


def read_values(path: Path, wanted: str) -> dict[str, Any]:
    """The keys of a TOML or .json file. Raises UserError saying what is wrong, and to give what is `wanted`."""
    kind = "JSON" if path.suffix == ".json" else "TOML"
    try:
        text = path.read_bytes().decode()
        values = json.loads(text) if kind == "JSON" else toml_values(text)
    except FileNotFoundError:
        raise UserError(f"{path} does not exist: give {wanted}") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): give {wanted}") from None
    except RecursionError:
        raise UserError(f"{path} {_TOO_DEEP}") from None
    except ValueError as error:
        raise UserError(f"{path} is not {kind}: {error}") from None
    if not isinstance(values, dict):
        raise UserError(f"{path} is a {type(values).__name__}, not a table of keys: give {wanted}")
    return values


def toml_values(text: str) -> dict[str, Any]:
    """The keys of TOML text. Raises ValueError, also where it is nested too deep."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def parse_config(values: dict[str, Any], kind: type[C]) -> C:
    """Check config values. Raises UserError naming the key, the value and the nearest key or what was expected."""
    try:
        if odd := next(_not_finite(values), ""):
            raise UserError(f"{odd} is not a finite number: write one")
        return kind.model_validate(values)
    except RecursionError:
        raise UserError(f"it {_TOO_DEEP}") from None
    except ValidationError as error:
        first = min(error.errors(), key=lambda e: e["type"] != "extra_forbidden")  # a typo explains what is missing
        where = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            near = _nearest(tuple(map(str, first["loc"])), kind)
            hint = f"did you mean {near!r}?" if near else "remove it"
            raise UserError(f"unknown key {where!r}: {hint}") from None
        if first["type"] == "value_error":  # said by the record itself, in words of its own
            raise UserError(f"{where}: {first['ctx']['error']}" if where else str(first["ctx"]["error"])) from None
        raise UserError(f"{where} = {first.get('input')!r}: {first['msg']}") from None


def _not_finite(value: Any, where: str = "") -> Iterator[str]:
    """`key = value` of every number that is nan or infinite."""
    if isinstance(value, float) and not math.isfinite(value):
        yield f"{where} = {value}"
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _not_finite(inner, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _not_finite(inner, where)


def _nearest(wrong: tuple[str, ...], kind: type[BaseModel]) -> str:
    """The dotted path of the known key whose word is most like the unknown one's; "" where none is like it.

    Of several with that word: the one in the same section, else the one nearest to the top.
    """
    paths = [path for path in _paths(kind) if path != wrong]
    near = get_close_matches(wrong[-1], dict.fromkeys(path[-1] for path in paths), n=1)
    alike = [path for path in paths if path[-1] in near]
    beside = [path for path in alike if _is_section(path[:-1], wrong[:-1])]
    if beside:
        return ".".join((*wrong[:-1], beside[0][-1]))
    shortest: tuple[str, ...] = min(alike, key=len, default=())
    return ".".join(shortest)


def _is_section(pattern: tuple[str, ...], section: tuple[str, ...]) -> bool:
    same = (known in (given, _NAMED) for known, given in zip(pattern, section, strict=False))
    return len(pattern) == len(section) and all(same)


def _paths(kind: type[BaseModel]) -> Iterator[tuple[str, ...]]:
    """The path of every key of a record and of the records in it."""
    for name, field in kind.model_fields.items():
        yield (name,)
        below = (name, _NAMED) if get_origin(field.annotation) is dict else (name,)
        for part in (field.annotation, *get_args(field.annotation)):
            if isinstance(part, type) and issubclass(part, BaseModel):
                yield from ((*below, *path) for path in _paths(part))
