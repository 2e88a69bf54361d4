"""Plan steps that read and write office files inside a box: `bash` running python, as a careful analyst would.

Invariant: scripts use the standard library to read and the `office` extra to write; they print what they did.
"""

import json
from typing import Any

from journeyman.records.task import PlanStep, ToolCall

_READ = r"""
import re, sys, zipfile
for path in %s:
    print("=====", path)
    with zipfile.ZipFile(path) as z:
        wanted = r"document\.xml$|footnotes\.xml$|comments\d*\.xml$|[sS]lide\d+\.xml$"
        names = [n for n in z.namelist() if re.search(wanted, n)]
        shared = []
        if "xl/sharedStrings.xml" in z.namelist():
            items = re.findall(r"<si>(.*?)</si>", z.read("xl/sharedStrings.xml").decode(), re.S)
            shared = [re.sub(r"<[^>]+>", "", s) for s in items]
            names += [n for n in z.namelist() if n.startswith("xl/worksheets/sheet")]
        for name in names:
            xml = z.read(name).decode()
            if name.startswith("xl/worksheets/"):
                print("--", name)
                for row in re.findall(r"<row[^>]*>(.*?)</row>", xml, re.S):
                    cells = re.findall(r'<c r="([A-Z]+\d+)"([^>]*)>(.*?)</c>', row, re.S)
                    out = []
                    for ref, attributes, body in cells:
                        value = re.search(r"<v>(.*?)</v>", body)
                        if value:
                            known = 't="s"' in attributes
                            out.append(ref + "=" + (shared[int(value[1])] if known else value[1]))
                    if out:
                        print(" | ".join(out))
            else:
                xml = re.sub(r"<w:del [^>]*>.*?</w:del>", "", xml, flags=re.S)
                xml = re.sub(r"</(w:p|a:p|w:tr)>", "\n", xml)
                text = re.sub(r"<[^>]+>", " ", xml)
                print("\n".join(" ".join(l.split()) for l in text.splitlines() if l.strip()))
"""
_DOCX = r"""
import json
from pathlib import Path
from docx import Document
spec = json.loads(r'''%s''')
doc = Document()
doc.add_heading(spec["title"], 0)
for block in spec["blocks"]:
    if "heading" in block:
        doc.add_heading(block["heading"], 1)
    elif "rows" in block:
        rows = block["rows"]
        table = doc.add_table(rows=len(rows), cols=len(rows[0]))
        table.style = "Table Grid"
        for target, row in zip(table.rows, rows):
            for cell, text in zip(target.cells, row):
                cell.text = text
    else:
        doc.add_paragraph(block["text"])
Path(spec["path"]).parent.mkdir(parents=True, exist_ok=True)
doc.save(spec["path"])
print("saved", spec["path"])
"""
_XLSX = r"""
import json
from pathlib import Path
import xlsxwriter
spec = json.loads(r'''%s''')
Path(spec["path"]).parent.mkdir(parents=True, exist_ok=True)
book = xlsxwriter.Workbook(spec["path"])
bold = book.add_format({"bold": True})
for name, rows in spec["sheets"].items():
    sheet = book.add_worksheet(name)
    sheet.set_column(0, 0, 34)
    sheet.set_column(1, 8, 18)
    for r, row in enumerate(rows):
        for c, value in enumerate(row):
            look = bold if r == 0 else None
            if isinstance(value, list):
                sheet.write_formula(r, c, value[0], look, value[1])
            else:
                sheet.write(r, c, value, look)
book.close()
print("saved", spec["path"])
"""


def list_files() -> PlanStep:
    """See what is there."""
    return PlanStep(
        text="I start with what is on the drive.",
        calls=(ToolCall(tool="glob", arguments={"pattern": "**/*"}),),
    )


def python(program: str, text: str = "") -> PlanStep:
    """One `bash` call running `program`."""
    command = f"python3 - <<'PY'\n{program.strip()}\nPY"
    return PlanStep(text=text, calls=(ToolCall(tool="bash", arguments={"command": command}),))


def overwrite(path: str, content: str) -> PlanStep:
    """Change a source file behind the file tools' back: they refuse to overwrite what was not read."""
    return python(f"from pathlib import Path\nfile = Path({path!r})\nfile.unlink()\nfile.write_text({content!r})")


def read_office(*paths: str, text: str = "") -> PlanStep:
    """Print the text of docx, xlsx and pptx files."""
    return python(_READ.replace("%s", json.dumps(list(paths)), 1), text)


def heading(text: str) -> dict[str, Any]:
    """A section heading of `write_docx`."""
    return {"heading": text}


def paragraph(text: str) -> dict[str, Any]:
    """A paragraph of `write_docx`."""
    return {"text": text}


def rows(*cells: tuple[str, ...]) -> dict[str, Any]:
    """A table of `write_docx`."""
    return {"rows": [list(row) for row in cells]}


def write_docx(path: str, title: str, *blocks: dict[str, Any], text: str = "") -> PlanStep:
    """Write a Word file with headings, paragraphs and ruled tables."""
    return python(_DOCX.replace("%s", _literal({"path": path, "title": title, "blocks": list(blocks)}), 1), text)


def write_xlsx(path: str, sheets: dict[str, list[list[Any]]], text: str = "") -> PlanStep:
    """Write a workbook; `[formula, value]` is a live formula with its calculated value."""
    return python(_XLSX.replace("%s", _literal({"path": path, "sheets": sheets}), 1), text)


def _literal(value: Any) -> str:
    """JSON that can stand between r''' marks. Raises ValueError when it cannot."""
    text = json.dumps(value, ensure_ascii=False)
    if "'''" in text or "\nPY" in text:
        raise ValueError("the text would end the script early")
    return text
