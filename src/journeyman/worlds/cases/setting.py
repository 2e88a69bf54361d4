"""What a request takes for granted about its world: the sheet on the drive that says what no other document does.

Invariant: every axis of the type's `setting` stands there with the value the world was drawn with.
"""

from typing import Any

from journeyman.worlds.cases.authored import Authored
from journeyman.worlds.cases.drive import Drive

_TITLES = ("Opening sheet", "About this piece of work", "Cover sheet", "Facts at a glance", "Intake sheet", "Key data")
_FOLDERS = ("intake", "work", "desk", "opening", "overview")
_FORMS = ("docx", "pdf", "md", "csv", "eml")


def put_setting(kind: Authored[Any], truth: Any, drive: Drive) -> None:
    """The sheet, in a form and a folder of the world's own; none where `kind.setting` is empty."""
    rng = drive.rng
    pairs = tuple((label, truth.axes[axis].replace("_", " ")) for axis, label in kind.setting.items())
    if not pairs:
        return
    title, form = rng.choice(_TITLES), rng.choice(_FORMS)
    path = f"{rng.choice(_FOLDERS)}/{title.lower().replace(' ', '_')}.{form}"
    by, dated = truth.stakeholder, drive.ago(rng.randint(4, 12))
    if form == "csv":
        drive.export("", path, ("item", "entry"), pairs, dated)
    elif form == "eml":
        to = next(r for r in kind.roles if r != by)
        body = "\n".join((f"Dear {drive.name(to)},", "", *(f"{label}: {value}" for label, value in pairs)))
        drive.mail("", path, sender=by, to=to, dated=dated, subject=title, body=body)
    else:
        drive.paper("", path, title, by=by, dated=dated, facts=(("Of", truth.legal_name), *pairs))
