"""What a document says, apart from its format: blocks of text, tables, comments and tracked changes. Frozen, no I/O.

`**bold**` inside any text is the only inline markup. Dates are ISO strings.
"""

from typing import NamedTuple


class House(NamedTuple):
    """How one organisation's paper looks."""

    name: str
    line: str = ""  # address or register line under the name
    colour: str = "1F3864"  # RRGGBB of headings and rules
    serif: bool = False


class Inserted(NamedTuple):
    """Text added under tracked changes."""

    text: str
    author: str
    date: str


class Deleted(NamedTuple):
    """Text struck under tracked changes."""

    text: str
    author: str
    date: str


class Commented(NamedTuple):
    """Text with a margin comment."""

    text: str
    author: str
    date: str
    comment: str


class Footnote(NamedTuple):
    """A footnote mark here, and its text at the foot of the page."""

    text: str


Piece = str | Inserted | Deleted | Commented | Footnote


class Para(NamedTuple):
    """One paragraph."""

    pieces: tuple[Piece, ...]
    style: str = "Normal"  # "Normal" | "Quote" | "Small" | "Clause" | "Subclause"


class Heading(NamedTuple):
    """A heading; level 1 is a section."""

    text: str
    level: int = 1


class Bullets(NamedTuple):
    """A list."""

    items: tuple[str, ...]
    numbered: bool = False


class Grid(NamedTuple):
    """A ruled table. Columns of figures are right-aligned; a row of one cell spans the table."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    widths: tuple[float, ...] = ()  # relative; () means equal
    total: bool = False  # the last row is a total
    merge_first: bool = False  # equal neighbours in the first column become one cell


class Facts(NamedTuple):
    """A block of labelled facts, as at the head of a memo."""

    pairs: tuple[tuple[str, str], ...]


class Signatures(NamedTuple):
    """Signature lines: name, capacity, and the date of signing ("" where not signed)."""

    lines: tuple[tuple[str, str, str], ...]


Block = Para | Heading | Bullets | Grid | Facts | Signatures


class Document(NamedTuple):
    """A whole document."""

    title: str
    blocks: tuple[Block, ...]
    house: House
    author: str
    date: str  # ISO; also the file's created and modified date
    reference: str = ""
    status: str = ""  # printed in the header: "DRAFT", "SUPERSEDED" ...
    confidential: str = "Confidential"


def text(*pieces: Piece) -> Para:
    """A normal paragraph."""
    return Para(pieces)


def words(pieces: tuple[Piece, ...]) -> str:
    """What the paragraph now says: insertions in, deletions and notes out, bold marks removed."""
    kept = (p if isinstance(p, str) else "" if isinstance(p, Deleted | Footnote) else p.text for p in pieces)
    return "".join(kept).replace("**", "")


def is_figure(cell: str) -> bool:
    """Whether a table cell holds an amount, a ratio or a percentage."""
    bare = cell.replace("**", "").strip("()%x+- ").replace(",", "").replace(".", "", 1)
    return bare.isdigit()
