"""Writes plain formats: markdown from a document, csv from rows."""

import csv
import io

from journeyman.worlds.documents.model import Bullets, Document, Facts, Footnote, Grid, Heading, Para, Signatures, words


def md_bytes(document: Document) -> bytes:
    """The document as markdown with a front block of reference, author and date."""
    out = [f"# {document.title}", ""]
    head = [("Reference", document.reference), ("Author", document.author), ("Date", document.date)]
    head.append(("Status", document.status))
    out += [f"{key}: {value}  " for key, value in head if value]
    out.append("")
    for block in document.blocks:
        if isinstance(block, Heading):
            out += [f"{'#' * (block.level + 1)} {block.text}", ""]
        elif isinstance(block, Para):
            notes = "".join(f" ({p.text})" for p in block.pieces if isinstance(p, Footnote))
            body = "".join(p if isinstance(p, str) else words((p,)) for p in block.pieces).replace("\t", " ")
            out += [f"> {body}{notes}" if block.style == "Quote" else f"{body}{notes}", ""]
        elif isinstance(block, Bullets):
            out += [f"{f'{i}.' if block.numbered else '-'} {item}" for i, item in enumerate(block.items, start=1)]
            out.append("")
        elif isinstance(block, Grid):
            out += [*_table(block), ""]
        elif isinstance(block, Facts):
            out += [*(f"- {key}: {value}" for key, value in block.pairs), ""]
        elif isinstance(block, Signatures):
            out += [f"Signed: {name}, {role}, {signed or 'not signed'}" for name, role, signed in block.lines] + [""]
    return ("\n".join(out).rstrip() + "\n").encode()


def _table(grid: Grid) -> list[str]:
    rows = [row if len(row) > 1 else (f"**{row[0]}**", *[""] * (len(grid.header) - 1)) for row in grid.rows]
    lines = [f"**{grid.caption}**", ""] if grid.caption else []
    lines += [f"| {' | '.join(grid.header)} |", f"|{'---|' * len(grid.header)}"]
    return lines + [f"| {' | '.join(row)} |" for row in rows]


def csv_bytes(header: tuple[str, ...], rows: tuple[tuple[str | int | float, ...], ...], delimiter: str = ",") -> bytes:
    """Rows as csv with CRLF line ends, as exports have."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows(rows)
    return buffer.getvalue().encode()
