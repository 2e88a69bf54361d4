"""Imports from the `office` extra, made when the first file that needs them is written."""

from functools import cache
from importlib import import_module
from typing import Any

from journeyman.errors import UserError


@cache
def office_module(name: str) -> Any:
    """The module `name`. Raises UserError saying what to type when the extra is missing."""
    try:
        return import_module(name)
    except ImportError as error:
        raise UserError(f"building office files needs {name}: pip install 'journeyman[office]'") from error
