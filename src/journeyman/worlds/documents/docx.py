"""Writes Word files part by part, with real comments, footnotes and tracked changes. Equal input, equal bytes."""

import re
from collections.abc import Iterator
from xml.sax.saxutils import escape

from journeyman.worlds.documents import docx_parts as fixed
from journeyman.worlds.documents.archive import zip_parts
from journeyman.worlds.documents.model import (
    Bullets,
    Commented,
    Deleted,
    Document,
    Facts,
    Footnote,
    Grid,
    Heading,
    Inserted,
    Para,
    Piece,
    Signatures,
    is_figure,
)

_WIDTH = 9356  # text width in twentieths of a point: A4 with 2.25 cm margins
_BOLD = re.compile(r"\*\*(.+?)\*\*")


def docx_bytes(document: Document) -> bytes:
    """The document as a docx."""
    return zip_parts(_Writer(document).parts())


class _Writer:
    """Collects comments, footnotes and revisions while the body is written."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._comments: list[str] = []
        self._footnotes: list[str] = []
        self._revisions = 0
        self._num_lists = 0

    def parts(self) -> dict[str, bytes]:
        document = self._document
        body = "".join(self._body())
        return {
            "[Content_Types].xml": fixed.CONTENT_TYPES,
            "_rels/.rels": fixed.ROOT_RELATIONS,
            "docProps/core.xml": self._core(),
            "docProps/app.xml": fixed.app("Microsoft Office Word"),
            "word/document.xml": f"{fixed.HEAD}<w:document {fixed.NS}><w:body>{body}</w:body></w:document>".encode(),
            "word/_rels/document.xml.rels": fixed.DOCUMENT_RELATIONS,
            "word/styles.xml": fixed.styles(document.house),
            "word/numbering.xml": fixed.numbering(self._num_lists),
            "word/settings.xml": fixed.SETTINGS,
            "word/fontTable.xml": fixed.font_table(document.house),
            "word/header1.xml": self._header(),
            "word/footer1.xml": self._footer(),
            "word/footnotes.xml": self._notes_part(),
            "word/comments.xml": (
                f"{fixed.HEAD}<w:comments {fixed.NS}>{''.join(self._comments)}</w:comments>".encode()
            ),
        }

    def _body(self) -> Iterator[str]:
        document = self._document
        yield _paragraph(_runs(document.title), "Title")
        for block in document.blocks:
            if isinstance(block, Heading):
                yield _paragraph(_runs(block.text), f"Heading{block.level}")
            elif isinstance(block, Para):
                yield _paragraph("".join(self._piece(p) for p in block.pieces), block.style)
            elif isinstance(block, Bullets):
                yield from self._list(block)
            elif isinstance(block, Grid):
                yield from _grid(block, document.house.colour)
            elif isinstance(block, Facts):
                yield _facts(block)
            else:
                yield _signatures(block)
        yield (
            '<w:sectPr><w:headerReference w:type="default" r:id="rId5"/><w:footerReference w:type="default" '
            'r:id="rId6"/><w:pgSz w:w="11906" w:h="16838"/><w:pgMar w:top="1474" w:right="1275" w:bottom="1247" '
            'w:left="1275" w:header="624" w:footer="567" w:gutter="0"/></w:sectPr>'
        )

    def _list(self, block: Bullets) -> Iterator[str]:
        self._num_lists += block.numbered
        style = "ListNumber" if block.numbered else "ListBullet"
        number = 1 + self._num_lists if block.numbered else 1
        mark = f'<w:numPr><w:ilvl w:val="0"/><w:numId w:val="{number}"/></w:numPr>'
        yield from (_paragraph(_runs(item), style, mark) for item in block.items)

    def _piece(self, piece: Piece) -> str:
        if isinstance(piece, str):
            return _runs(piece)
        if isinstance(piece, Inserted | Deleted):
            self._revisions += 1
            tag = "ins" if isinstance(piece, Inserted) else "del"
            inner = _runs(piece.text, "delText" if tag == "del" else "t")
            who = (
                f'w:id="{900 + self._revisions}" w:author="{_attribute(piece.author)}" w:date="{piece.date}T10:12:00Z"'
            )
            return f"<w:{tag} {who}>{inner}</w:{tag}>"
        if isinstance(piece, Commented):
            return self._commented(piece)
        return self._footnote(piece)

    def _commented(self, piece: Commented) -> str:
        number = len(self._comments)
        initials = "".join(part[0] for part in piece.author.split())
        self._comments.append(
            f'<w:comment w:id="{number}" w:author="{_attribute(piece.author)}" w:date="{piece.date}T16:40:00Z" '
            f'w:initials="{_attribute(initials)}">{_paragraph(_runs(piece.comment), "CommentText")}</w:comment>'
        )
        return (
            f'<w:commentRangeStart w:id="{number}"/>{_runs(piece.text)}<w:commentRangeEnd w:id="{number}"/>'
            f'<w:r><w:commentReference w:id="{number}"/></w:r>'
        )

    def _footnote(self, piece: Footnote) -> str:
        number = len(self._footnotes) + 1
        mark = '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr>'
        content = f"{mark}<w:footnoteRef/></w:r>{_runs(' ' + piece.text)}"
        self._footnotes.append(f'<w:footnote w:id="{number}">{_paragraph(content, "FootnoteText")}</w:footnote>')
        return f'{mark}<w:footnoteReference w:id="{number}"/></w:r>'

    def _notes_part(self) -> bytes:
        separators = "".join(
            f'<w:footnote w:type="{kind}" w:id="{number}"><w:p><w:r><w:{kind}/></w:r></w:p></w:footnote>'
            for kind, number in (("separator", -1), ("continuationSeparator", 0))
        )
        return f"{fixed.HEAD}<w:footnotes {fixed.NS}>{separators}{''.join(self._footnotes)}</w:footnotes>".encode()

    def _header(self) -> bytes:
        document = self._document
        house = document.house
        tab = f'<w:pPr><w:pStyle w:val="Header"/><w:tabs><w:tab w:val="right" w:pos="{_WIDTH}"/></w:tabs></w:pPr>'
        name = (
            f'<w:r><w:rPr><w:b/><w:color w:val="{house.colour}"/><w:sz w:val="22"/></w:rPr>'
            f"<w:t>{escape(house.name)}</w:t></w:r>"
        )
        status = f"**{document.status}**" if document.status else ""
        lines = [
            f"<w:p>{tab}{name}<w:r><w:tab/></w:r>{_runs(status)}</w:p>",
            f"<w:p>{tab}{_runs(house.line)}<w:r><w:tab/></w:r>{_runs(document.reference)}</w:p>",
            _paragraph("", "Header"),
        ]
        return f"{fixed.HEAD}<w:hdr {fixed.NS}>{''.join(lines)}</w:hdr>".encode()

    def _footer(self) -> bytes:
        tab = f'<w:pPr><w:pStyle w:val="Footer"/><w:tabs><w:tab w:val="right" w:pos="{_WIDTH}"/></w:tabs></w:pPr>'
        page = '<w:fldSimple w:instr=" PAGE "><w:r><w:t>1</w:t></w:r></w:fldSimple>'
        label = _runs(self._document.confidential)
        return (
            f"{fixed.HEAD}<w:ftr {fixed.NS}><w:p>{tab}{label}<w:r><w:tab/></w:r>{_runs('Page ')}{page}</w:p></w:ftr>"
        ).encode()

    def _core(self) -> bytes:
        document = self._document
        stamp = f"{document.date}T08:00:00Z"
        return (
            f"{fixed.HEAD}<cp:coreProperties "
            'xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
            'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" '
            'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
            f"<dc:title>{escape(document.title)}</dc:title><dc:creator>{escape(document.author)}</dc:creator>"
            f"<cp:lastModifiedBy>{escape(document.author)}</cp:lastModifiedBy><cp:revision>2</cp:revision>"
            f'<dcterms:created xsi:type="dcterms:W3CDTF">{stamp}</dcterms:created>'
            f'<dcterms:modified xsi:type="dcterms:W3CDTF">{stamp}</dcterms:modified></cp:coreProperties>'
        ).encode()


def _attribute(value: str) -> str:
    return escape(value, {'"': "&quot;"})


def _runs(text: str, tag: str = "t") -> str:
    """Runs of `text`, bold where it is marked so; tabs become tab marks."""
    runs: list[str] = []
    for index, part in enumerate(_BOLD.split(text)):
        for position, bit in enumerate(part.split("\t")):
            look = "<w:rPr><w:b/></w:rPr>" if index % 2 else ""
            mark = "<w:tab/>" if position else ""
            if bit or mark:
                runs.append(f'<w:r>{look}{mark}<w:{tag} xml:space="preserve">{escape(bit)}</w:{tag}></w:r>')
    return "".join(runs)


def _paragraph(inner: str, style: str, extra: str = "") -> str:
    return f'<w:p><w:pPr><w:pStyle w:val="{style}"/>{extra}</w:pPr>{inner}</w:p>'


def _grid(grid: Grid, colour: str) -> Iterator[str]:
    if grid.caption:
        yield _paragraph(_runs(grid.caption), "Caption")
    weights = grid.widths or (1.0,) * len(grid.header)
    widths = [round(_WIDTH * w / sum(weights)) for w in weights]
    right = [all(is_figure(r[i]) or not r[i] for r in grid.rows if len(r) > i) for i in range(len(widths))]
    border = "".join(f'<w:{side} w:val="single" w:sz="4" w:color="BFBFBF"/>' for side in ("top", "bottom", "insideH"))
    columns = "".join(f'<w:gridCol w:w="{width}"/>' for width in widths)
    yield (
        f'<w:tbl><w:tblPr><w:tblW w:w="{_WIDTH}" w:type="dxa"/><w:tblBorders>{border}</w:tblBorders>'
        f'<w:tblLayout w:type="fixed"/></w:tblPr><w:tblGrid>{columns}</w:tblGrid>'
    )
    header = "".join(
        _cell(f"**{text}**" if text else "", width, colour=colour, right=side)
        for text, width, side in zip(grid.header, widths, right, strict=True)
    )
    yield f"<w:tr><w:trPr><w:cantSplit/><w:tblHeader/></w:trPr>{header}</w:tr>"
    previous = ""
    for index, row in enumerate(grid.rows):
        if len(row) == 1:
            yield f"<w:tr>{_cell(f'**{row[0]}**', _WIDTH, span=len(widths), fill='F2F2F2')}</w:tr>"
            continue
        total = grid.total and index == len(grid.rows) - 1
        cells = []
        for column, (text, width, side) in enumerate(zip(row, widths, right, strict=True)):
            merge = ""
            if grid.merge_first and column == 0:
                merge = "continue" if text == previous else "restart"
                text, previous = ("" if text == previous else text), text
            cells.append(_cell(f"**{text}**" if total and text else text, width, right=side, merge=merge))
        yield f"<w:tr><w:trPr><w:cantSplit/></w:trPr>{''.join(cells)}</w:tr>"
    yield "</w:tbl>" + _paragraph("", "Small")


def _cell(
    text: str, width: int, *, colour: str = "", fill: str = "", right: bool = False, span: int = 1, merge: str = ""
) -> str:
    grid = f'<w:gridSpan w:val="{span}"/>' if span > 1 else ""
    vertical = f'<w:vMerge w:val="{merge}"/>' if merge else ""
    shade = f'<w:shd w:val="clear" w:color="auto" w:fill="{colour or fill}"/>' if colour or fill else ""
    look = f'<w:tcPr><w:tcW w:w="{width}" w:type="dxa"/>{grid}{vertical}{shade}</w:tcPr>'
    runs = _runs(text)
    if colour:
        runs = runs.replace("<w:b/>", '<w:b/><w:color w:val="FFFFFF"/>')
    side = '<w:jc w:val="right"/>' if right else ""
    return f"<w:tc>{look}{_paragraph(runs, 'TableText', side)}</w:tc>"


def _facts(facts: Facts) -> str:
    rows = "".join(
        f"<w:tr>{_cell(f'**{key}**', 1900)}{_cell(value, _WIDTH - 1900)}</w:tr>" for key, value in facts.pairs
    )
    rule = '<w:bottom w:val="single" w:sz="6" w:color="7F7F7F"/>'
    return (
        f'<w:tbl><w:tblPr><w:tblW w:w="{_WIDTH}" w:type="dxa"/><w:tblBorders>{rule}</w:tblBorders>'
        f'<w:tblLayout w:type="fixed"/></w:tblPr><w:tblGrid><w:gridCol w:w="1900"/><w:gridCol w:w="{_WIDTH - 1900}"/>'
        f"</w:tblGrid>{rows}</w:tbl>{_paragraph('', 'Small')}"
    )


def _signatures(block: Signatures) -> str:
    out = [_paragraph("", "Small")]
    for name, capacity, signed in block.lines:
        mark = f"Signed: {name}, {signed}" if signed else "Signed: ______________________   Date: ____________"
        out += [_paragraph(_runs(mark), "Normal"), _paragraph(_runs(f"**{name}**, {capacity}"), "Small")]
    return "".join(out)
