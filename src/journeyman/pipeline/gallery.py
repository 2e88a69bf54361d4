"""Tasks as one self-contained page: request, documents as they look, systems, rubric, reference, negatives and scores.

Invariant: the page is for a task's makers and says so; it is written where it is asked for, never into a package.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from journeyman.admission.release import DECISIONS
from journeyman.errors import UserError
from journeyman.office.render import render
from journeyman.pipeline.pictures import pictures
from journeyman.records.admission import Admission
from journeyman.records.rubric import Check, Criterion
from journeyman.records.task import Plan, Task
from journeyman.store.atomic import read_lines, write_atomic
from journeyman.tasks.package import initial_state, load_task, plans, public_workspace

SHOWN_CHARACTERS = 4000  # of a document's text
SHOWN_ROWS = 12  # of a table of a system of record
_STYLE = """
body{font:15px/1.45 system-ui,sans-serif;max-width:1100px;margin:2rem auto;padding:0 1rem;color:#1c2430}
h1{font-size:1.5rem}h2{border-top:2px solid #d5dbe3;padding-top:1.2rem;margin-top:2.4rem}
pre{background:#f5f7fa;padding:.7rem;white-space:pre-wrap;overflow-wrap:anywhere;font-size:13px}
table{border-collapse:collapse;width:100%;font-size:13px}td,th{border-bottom:1px solid #e2e7ee;padding:.3rem .5rem;
text-align:left;vertical-align:top}img{border:1px solid #ccd4de;max-width:100%;box-shadow:0 1px 4px #0002}
.documents{display:grid;grid-template-columns:repeat(auto-fill,minmax(300px,1fr));gap:1rem}
.request{white-space:pre-wrap;background:#fffbe9;padding:1rem;border-left:4px solid #e6c34a}
.plus{color:#136f3a}.minus{color:#a3262a}small{color:#66707c}
"""


def gallery(directories: Sequence[Path], out: Path, title: str = "Tasks") -> Path:
    """Write the page of some packages to `out`. Raises UserError where one is unusable or there is none."""
    if not directories:
        raise UserError("no task to show: give a package, a release or a directory of packages")
    body = [
        f"<h1>{escape(title)}</h1><p><small>For the makers: rubric, reference and negatives are private.</small></p>"
    ]
    body.append(f"<ol>{''.join(f'<li><a href=#{escape(d.name)}>{escape(d.name)}</a></li>' for d in directories)}</ol>")
    for directory in directories:
        body += _task(directory)
    page = f"<!doctype html><meta charset=utf-8><title>{escape(title)}</title><style>{_STYLE}</style>{''.join(body)}"
    out.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(out, page.encode())
    return out


def _task(directory: Path) -> Iterator[str]:
    task = load_task(directory, handlers=False)
    about = task.metadata
    yield f"<h2 id={escape(directory.name)}>{escape(about.name)}</h2>"
    drawn = ", ".join(f"{axis}: {value}" for axis, value in about.axes.items())
    identity = f"{about.environment_type}, {about.size}, {about.split}, {task.content_digest[:16]}"
    yield f"<p><small>{escape(f'{identity}; it is {about.frozen_time}; {drawn}')}</small></p>"
    yield f"<div class=request>{escape(task.instruction.strip())}</div>"
    yield _table("Requirements", ("id", "what is asked for"), [(r.id, r.text) for r in task.requirements])
    yield from _documents(directory, task)
    yield from _systems(directory, task)
    yield _table(
        "Rubric", ("weight", "proposition", "decided by", "evidence"), [_criterion(c) for c in task.rubric.criteria]
    )
    reference, negatives, _ = plans(directory)
    scores = _scores(directory)
    yield f"<h3>Reference</h3>{_plan(reference)}"
    yield "<h3>Negatives</h3>"
    for plan in negatives:
        yield f"<details><summary>{escape(plan.name)} {_score(scores, plan.name)}</summary>{_plan(plan)}</details>"
    generated = [(name, _score(scores, name)) for name in scores if name not in {p.name for p in negatives}]
    yield _table("Generated errors", ("error", "reward"), generated, raw=True) if generated else ""


def _documents(directory: Path, task: Task) -> Iterator[str]:
    root = public_workspace(directory)
    files = {file.path: (root / file.path).read_bytes() for file in task.files}
    seen = pictures(files)
    yield f"<h3>Documents</h3><p><small>{len(files)} files</small></p><div class=documents>"
    for file in task.files:
        text = render(file.path, files[file.path]).text[:SHOWN_CHARACTERS]
        origin = file.provenance + (f", as of {file.as_of}" if file.as_of else "")
        picture = f"<img alt='{escape(file.path)}' src='{seen[file.path]}'>" if file.path in seen else ""
        words = f"<details{'' if picture else ' open'}><summary>text</summary><pre>{escape(text)}</pre></details>"
        yield f"<div><b>{escape(file.path)}</b><br><small>{escape(origin)}</small>{picture}{words}</div>"
    yield "</div>"


def _systems(directory: Path, task: Task) -> Iterator[str]:
    state = initial_state(directory)
    for grant in task.services:
        yield f"<h3>{escape(grant.service)}</h3><p><small>as {escape(grant.actor)}: {escape(', '.join(grant.tools))}"
        yield f"{'; declared faults ' + escape(json.dumps(grant.faults)) if grant.faults else ''}</small></p>"
        for name, rows in state.get(grant.service, {}).items():
            if rows:
                shown = [tuple(str(value) for value in row.values()) for row in rows[:SHOWN_ROWS]]
                yield _table(f"{name} ({len(rows)})", tuple(rows[0]), shown, level=4)


def _criterion(criterion: Criterion) -> tuple[str, str, str, str]:
    decided = json.dumps(criterion.decide.args) if isinstance(criterion.decide, Check) else "a judge"
    how = f"{criterion.decide.kind}: {decided}"[:400]
    return f"{criterion.weight:+g}", criterion.proposition, how, ", ".join(criterion.evidence)


def _plan(plan: Plan) -> str:
    lines = []
    for step in plan.steps:
        for call in step.calls:
            lines.append(f"{call.tool}({json.dumps(call.arguments, ensure_ascii=False)})"[:700])
        if step.text:
            lines.append(step.text)
    return f"<pre>{escape(chr(10).join(lines))}</pre>"


def _scores(directory: Path) -> dict[str, float]:
    """Rewards of negatives and generated errors, as the release's decisions hold them; empty outside a release."""
    decisions = directory.parent.parent / DECISIONS
    found: dict[str, float] = {}
    for line in read_lines(decisions) if decisions.exists() else ():
        admission = Admission.parse(line)
        if admission.task == directory.name:
            for gate in admission.gates:
                if gate.gate in ("negatives", "generated"):
                    numbers = {k: float(v) for k, v in gate.figures.items() if isinstance(v, int | float)}
                    found |= {f"generated {k}" if gate.gate == "generated" else k: v for k, v in numbers.items()}
    return found


def _score(scores: Mapping[str, float], name: str) -> str:
    if name not in scores:
        return "<small>not scored: admit it into a release first</small>"
    reward = scores[name]
    return f"<b class={'plus' if reward > 0 else 'minus'}>{reward:+.3f}</b>"


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], *, level: int = 3, raw: bool = False) -> str:
    def cell(text: str, column: int) -> str:
        return text if raw and column == len(head) - 1 else escape(text)

    lines = "".join(f"<tr>{''.join(f'<td>{cell(t, i)}</td>' for i, t in enumerate(row))}</tr>" for row in rows)
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    return f"<h{level}>{escape(title)}</h{level}><table><tr>{top}</tr>{lines}</table>"
