"""What lies on a drive beside any matter and nobody needs: which files, where, how named and worded, by seed."""

from journeyman.worlds.cases.drive import Drive, Row, Tab, plot
from journeyman.worlds.cases.noise import NOISE, TABLE, WORDS, Noise
from journeyman.worlds.documents.folder import slug
from journeyman.worlds.documents.pptx import Slide

_FOLDERS = (
    "admin",
    "office",
    "house",
    "general",
    "staff",
    "services",
    "people",
    "misc",
    "inbox",
    "post",
    "old",
    "shared",
)
_NAMES = ("{stem}", "{stem}_{year}", "{day}_{stem}", "{stem}_{day}", "info_{stem}")
_FEWEST, _MOST = 13, 18
_SUMS = [n for n in NOISE if n.rows]
_LISTS = [n for n in NOISE if n.columns and not n.rows]
_TEXTS = [n for n in NOISE if not n.columns]


def add_shelf(drive: Drive) -> None:
    """Thirteen to eighteen files, at least one of every office format, some among the matter's own."""
    rng = drive.rng
    kinds = _kinds(drive)
    folders = [*rng.sample(_FOLDERS, 4), *sorted({p.split("/")[0] for p in drive.folder.files if "/" in p})]
    for kind, form in zip(kinds, _forms(drive, kinds), strict=True):
        dated, title = drive.ago(rng.randint(3, 110)), rng.choice(kind.titles)
        name = rng.choice(_NAMES).format(stem=slug(title), year=dated[:4], day=dated)
        _lay(drive, kind, f"{rng.choice(folders)}/{name}.{form}", title, dated)


def _kinds(drive: Drive) -> list[Noise]:
    """Kinds of the world, in any order: enough tables and enough words for every form."""
    sure = [*drive.rng.sample(_SUMS, 2), *drive.rng.sample(_LISTS, 2), *drive.rng.sample(_TEXTS, 3)]
    more = drive.rng.sample([n for n in NOISE if n not in sure], drive.rng.randint(_FEWEST, _MOST) - len(sure))
    return drive.rng.sample([*sure, *more], len(sure) + len(more))


def _forms(drive: Drive, kinds: list[Noise]) -> list[str]:
    """A form for each kind; all forms occur, those first that only some kinds can take."""
    scarce, both = sorted(set(TABLE) ^ set(WORDS)), sorted(set(TABLE) & set(WORDS))
    left = [*scarce, *drive.rng.sample(both, len(both))]
    chosen = []
    for kind in kinds:
        form = next((f for f in left if f in kind.forms), None) or drive.rng.choice(kind.forms)
        left = [f for f in left if f != form]
        chosen.append(form)
    return chosen


def _lay(drive: Drive, kind: Noise, path: str, title: str, dated: str) -> None:
    rng, form = drive.rng, path.rsplit(".", 1)[1]
    roles = rng.sample(tuple(drive.truth.people), 2)
    said = rng.sample(kind.says, rng.randint(2, len(kind.says)))
    labels = kind.rows or tuple(drive.truth.people.values())
    rows: list[Row] = [(label, *(rng.randint(*kind.span) for _ in kind.columns[1:])) for label in labels]
    if form == "eml":
        answer = rng.choice(("", "Thank you, noted.", "Fine with us.", "Very well."))
        greeting = f"Dear {drive.name(roles[1])},"
        body = "\n".join((greeting, "", *said))
        drive.mail("", path, sender=roles[0], to=roles[1], dated=dated, subject=title, body=body, answer=answer)
    elif form == "pptx":
        chart = plot("column", [str(r[0]) for r in rows], Count=[float(r[1]) for r in rows]) if kind.columns else None
        slides = Slide(title, tuple(said), plot=chart), Slide("Next", ("Questions at the desk",), notes="By mail.")
        drive.deck(
            "", path, title, rng.choice(("An update", "For everybody", "In short")), *slides, by=roles[0], dated=dated
        )
    elif form == "csv":
        drive.export("", path, tuple(slug(c) for c in kind.columns), rows, dated)
    elif form == "xlsx":
        columns = tuple(range(1, len(kind.columns)))
        before: list[Row] = [(row[0], *(rng.randint(*kind.span) for _ in columns)) for row in rows]
        tabs = [
            Tab(name, kind.columns, tuple(filled), columns, title=line)
            for name, filled, line in zip(("Now", "Before"), (rows, before), said, strict=False)
        ]
        drive.book("", path, title, *tabs, by=roles[0], dated=dated)
    else:
        grid = (kind.columns, tuple(tuple(map(str, row)) for row in rows)) if kind.columns else None
        drive.paper("", path, title, by=roles[0], dated=dated, body=(" ".join(said),), grid=grid)
