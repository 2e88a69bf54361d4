"""What a recipe may name, checked when it is read: known words, and names that become a segment of a path, each once.

What is wrong is a UserError, so that a record which no config file made says it in one line too.
"""

from collections.abc import Iterable, Sequence

from journeyman.errors import UserError

CUSTOM = "module:Class"
PATTERNS = "*?[]#"  # they mean something where episodes are looked up by their path


def check_known(key: str, given: str, known: Sequence[str]) -> None:
    """Raise UserError unless `given` is one of `known`; with CUSTOM among them, anything with a colon is."""
    if given not in known and not (CUSTOM in known and ":" in given):
        raise UserError(f"{key} = {given!r} is none that can be used: choose {', '.join(known[:-1])} or {known[-1]}")


def check_sandbox(name: str) -> None:
    """Raise UserError unless a sandbox has that name."""
    if name not in ("bubblewrap", "local"):
        raise UserError(f"no sandbox {name!r}: choose bubblewrap, or local (no isolation, trusted policies only)")


def check_segment(what: str, name: str, without: str = "") -> None:
    """Raise UserError unless `name` can be one segment of a path; it has none of the characters in `without` either."""
    if not name.strip(" .") or not name.isprintable() or set(name) & {"/", *without}:
        raise UserError(
            f"{what} {name!r} is no name of one path segment: write one, e.g. of letters, digits and dashes"
        )


def check_label(name: str) -> None:
    """Raise UserError unless `name` can be the policy segment of episodes."""
    check_segment("policy label", name, PATTERNS)


def check_unique(key: str, names: Iterable[str]) -> None:
    """Raise UserError where a name comes twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise UserError(f"{key} has {name!r} twice: give each once")
        seen.add(name)
