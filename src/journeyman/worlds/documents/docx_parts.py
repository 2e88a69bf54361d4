"""The fixed parts of a Word file: styles, numbering, settings, content types. Text in, bytes out."""

from journeyman.worlds.documents.model import House

NS = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
)
HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml"

CONTENT_TYPES = (
    f'{HEAD}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    f'<Override PartName="/word/document.xml" ContentType="{_WORD}.document.main+xml"/>'
    + "".join(
        f'<Override PartName="/word/{name}.xml" ContentType="{_WORD}.{kind}+xml"/>'
        for name, kind in (
            ("styles", "styles"),
            ("numbering", "numbering"),
            ("settings", "settings"),
            ("fontTable", "fontTable"),
            ("header1", "header"),
            ("footer1", "footer"),
            ("footnotes", "footnotes"),
            ("comments", "comments"),
        )
    )
    + '<Override PartName="/docProps/core.xml" '
    'ContentType="application/vnd.openxmlformats-package.core-properties+xml"/>'
    '<Override PartName="/docProps/app.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.extended-properties+xml"/></Types>'
).encode()

ROOT_RELATIONS = (
    f'{HEAD}<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="word/document.xml"/>'
    '<Relationship Id="rId2" Type="http://schemas.openxmlformats.org/package/2006/relationships/metadata/'
    'core-properties" Target="docProps/core.xml"/>'
    f'<Relationship Id="rId3" Type="{_OFFICE}/extended-properties" Target="docProps/app.xml"/></Relationships>'
).encode()

DOCUMENT_RELATIONS = (
    f'{HEAD}<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    + "".join(
        f'<Relationship Id="rId{i}" Type="{_OFFICE}/{kind}" Target="{target}.xml"/>'
        for i, (kind, target) in enumerate(
            (
                ("styles", "styles"),
                ("numbering", "numbering"),
                ("settings", "settings"),
                ("fontTable", "fontTable"),
                ("header", "header1"),
                ("footer", "footer1"),
                ("footnotes", "footnotes"),
                ("comments", "comments"),
            ),
            start=1,
        )
    )
    + "</Relationships>"
).encode()

SETTINGS = (
    f'{HEAD}<w:settings {NS}><w:zoom w:percent="100"/><w:defaultTabStop w:val="720"/>'
    '<w:characterSpacingControl w:val="doNotCompress"/><w:footnotePr><w:footnote w:id="-1"/><w:footnote w:id="0"/>'
    '</w:footnotePr><w:compat><w:compatSetting w:name="compatibilityMode" '
    'w:uri="http://schemas.microsoft.com/office/word" w:val="15"/></w:compat></w:settings>'
).encode()


def app(program: str) -> bytes:
    """docProps/app.xml of a document that `program` wrote."""
    return (
        f'{HEAD}<Properties xmlns="http://schemas.openxmlformats.org/officeDocument/2006/extended-properties">'
        f"<Application>{program}</Application><AppVersion>16.0000</AppVersion></Properties>"
    ).encode()


def numbering(num_lists: int) -> bytes:
    """numbering.xml with the bullet list (1) and `num_lists` numbered lists (2..), each starting at 1."""
    parts = [f"{HEAD}<w:numbering {NS}>"]
    for number, (kind, mark) in enumerate((("bullet", "&#8226;"), ("decimal", "%1."))):
        parts.append(
            f'<w:abstractNum w:abstractNumId="{number}"><w:multiLevelType w:val="hybridMultilevel"/><w:lvl w:ilvl="0">'
            f'<w:start w:val="1"/><w:numFmt w:val="{kind}"/><w:lvlText w:val="{mark}"/><w:lvlJc w:val="left"/>'
            '<w:pPr><w:ind w:left="567" w:hanging="340"/></w:pPr></w:lvl></w:abstractNum>'
        )
    parts.append('<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>')
    for number in range(2, max(num_lists, 1) + 2):
        parts.append(
            f'<w:num w:numId="{number}"><w:abstractNumId w:val="1"/><w:lvlOverride w:ilvl="0">'
            '<w:startOverride w:val="1"/></w:lvlOverride></w:num>'
        )
    return "".join([*parts, "</w:numbering>"]).encode()


def fonts(house: House) -> tuple[str, str]:
    """Body and heading typeface."""
    return ("Cambria", "Cambria") if house.serif else ("Calibri", "Calibri")


def font_table(house: House) -> bytes:
    """fontTable.xml."""
    body, _ = fonts(house)
    family = "roman" if house.serif else "swiss"
    return (
        f'{HEAD}<w:fonts {NS}><w:font w:name="{body}"><w:family w:val="{family}"/><w:pitch w:val="variable"/>'
        "</w:font></w:fonts>"
    ).encode()


def _paragraph(name: str, style_id: str, layout: str, letters: str, based: str = "Normal") -> str:
    follow = '<w:next w:val="Normal"/>' if "eading" in style_id or style_id == "Title" else ""
    return (
        f'<w:style w:type="paragraph" w:styleId="{style_id}"><w:name w:val="{name}"/>'
        f'<w:basedOn w:val="{based}"/>{follow}<w:qFormat/><w:pPr>{layout}</w:pPr><w:rPr>{letters}</w:rPr></w:style>'
    )


def _size(half_points: int) -> str:
    return f'<w:sz w:val="{half_points}"/><w:szCs w:val="{half_points}"/>'


def styles(house: House) -> bytes:
    """styles.xml in the organisation's typeface and colour."""
    body, heading = fonts(house)
    colour = house.colour

    head_font = f'<w:rFonts w:ascii="{heading}" w:hAnsi="{heading}" w:cs="{heading}"/>'
    ink = f'<w:color w:val="{colour}"/>'
    rule = (
        f'<w:pBdr><w:bottom w:val="single" w:sz="8" w:space="3" w:color="{colour}"/></w:pBdr>'
        '<w:spacing w:before="0" w:after="200"/>'
    )
    parts = [
        f'{HEAD}<w:styles {NS}><w:docDefaults><w:rPrDefault><w:rPr><w:rFonts w:ascii="{body}" w:hAnsi="{body}" '
        f'w:cs="{body}"/>{_size(21)}<w:lang w:val="en-GB"/></w:rPr></w:rPrDefault><w:pPrDefault><w:pPr>'
        '<w:spacing w:after="120" w:line="264" w:lineRule="auto"/></w:pPr></w:pPrDefault></w:docDefaults>',
        '<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/><w:qFormat/></w:style>',
        '<w:style w:type="character" w:default="1" w:styleId="DefaultParagraphFont">'
        '<w:name w:val="Default Paragraph Font"/></w:style>',
        '<w:style w:type="table" w:default="1" w:styleId="TableNormal"><w:name w:val="Normal Table"/><w:tblPr>'
        '<w:tblInd w:w="0" w:type="dxa"/><w:tblCellMar><w:left w:w="108" w:type="dxa"/>'
        '<w:right w:w="108" w:type="dxa"/></w:tblCellMar></w:tblPr></w:style>',
        _paragraph("Title", "Title", rule, head_font + "<w:b/>" + ink + _size(36)),
        _paragraph(
            "heading 1", "Heading1",
            '<w:keepNext/><w:spacing w:before="280" w:after="100"/><w:outlineLvl w:val="0"/>',
            head_font + "<w:b/>" + ink + _size(27),
        ),
        _paragraph(
            "heading 2", "Heading2",
            '<w:keepNext/><w:spacing w:before="200" w:after="80"/><w:outlineLvl w:val="1"/>',
            head_font + "<w:b/>" + ink + _size(23),
        ),
        _paragraph("Quote", "Quote", '<w:ind w:left="567" w:right="567"/>', "<w:i/>"),
        _paragraph("Small", "Small", '<w:spacing w:after="60"/>', '<w:color w:val="595959"/>' + _size(17)),
        _paragraph("Clause", "Clause", '<w:ind w:left="709" w:hanging="709"/><w:jc w:val="both"/>', ""),
        _paragraph("Subclause", "Subclause", '<w:ind w:left="1276" w:hanging="567"/><w:jc w:val="both"/>', ""),
        _paragraph("caption", "Caption", '<w:keepNext/><w:spacing w:before="120" w:after="60"/>', "<w:b/>" + _size(19)),
        _paragraph("header", "Header", '<w:spacing w:after="0"/>', '<w:color w:val="595959"/>' + _size(17)),
        _paragraph("footer", "Footer", '<w:spacing w:after="0"/>', '<w:color w:val="595959"/>' + _size(17)),
        _paragraph("footnote text", "FootnoteText", '<w:spacing w:after="0"/>', _size(17)),
        _paragraph("annotation text", "CommentText", "", _size(20)),
        _paragraph("List Bullet", "ListBullet", '<w:numPr><w:numId w:val="1"/></w:numPr><w:spacing w:after="60"/>', ""),
        _paragraph("List Number", "ListNumber", '<w:numPr><w:numId w:val="2"/></w:numPr><w:spacing w:after="60"/>', ""),
        _paragraph("Table Text", "TableText", '<w:spacing w:before="30" w:after="30" w:line="240"/>', _size(19)),
        "</w:styles>",
    ]  # fmt: skip
    return "".join(parts).encode()
