"""The LLM author, end to end against an endpoint: boundaries, identities, rounds, budget, resumption, admission."""

import json
from pathlib import Path
from typing import Any

import pytest

from journeyman.admission.decide import admit
from journeyman.errors import UserError
from journeyman.models.scripted import ScriptedModel
from journeyman.pipeline.authoring import author_tasks
from journeyman.synthesis.capability_first.author import ROLES, Author
from journeyman.synthesis.capability_first.records import Rejected
from journeyman.synthesis.capability_first.trace import Budget, Trace
from tests.admission.executing import InProcess
from tests.grading.making import draft, make_task
from tests.synthesis.endpoint import Answer, Endpoint

CANARY = "Quillfeather Holdings"
STRUCTURE: dict[str, Any] = {
    "operations": [
        {"id": "find", "kind": "discovery", "sources": ["register"]},
        {"id": "price", "kind": "extraction", "needs": ["find"], "sources": ["price list"]},
        {"id": "extra", "kind": "verification", "needs": ["find"], "sources": ["audit file"]},
        {"id": "decide", "kind": "decision", "needs": ["find", "price"]},
    ]
}
REQUEST = {
    "role": "the buyer's assistant",
    "trigger": "A supplier has to be chosen today.",
    "audience": "the head of purchasing",
    "use": "the order",
    "labels": {"supplier": "the approved supplier with the lowest price", "price": "its price"},
}


def criterion(label: str, full: str, reject: str, **changes: Any) -> dict[str, Any]:
    return {
        "label": label,
        "proposition": f"The {label} is {full}, by register and price list",
        "weight": 2.0,
        "evidence": ["register.csv", "prices.csv"],
        "full": full,
        "partial": "a supplier without price",
        "accept": [f"{full} (approved)"],
        "reject": [reject],
    } | changes


CONTRACT = {"criteria": [criterion("supplier", "Corvane", "Aldbrook"), criterion("price", "14.5", "12")]}
ATTACK = {
    "alternatives": [{"supplier": "corvane", "price": "14.50"}],
    "errors": [{"supplier": "Aldbrook", "price": "12"}, {"supplier": "Corvane", "price": "12"}],
}
ACCEPT = {"accept": True, "reasons": []}
SCRIPT: dict[str, Answer] = {
    "proposer": lambda handed: STRUCTURE,
    "reviewer": lambda handed: ACCEPT,
    "author": lambda handed: (
        REQUEST if "rejected_before" in handed else {"documents": {"find": ["register.csv"], "price": ["prices.csv"]}}
    ),
    "solver": lambda handed: {"fields": {"supplier": "Corvane", "price": "14.5"}, "trace": ["read both"]},
    "drafter": lambda handed: CONTRACT,
    "adversary": lambda handed: ATTACK,
    "second_reviewer": lambda handed: ACCEPT,
}


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder of documents, and a task whose capabilities are wanted."""
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "LICENSE").write_text("ours")
    (folder / "register.csv").write_text(
        "Supplier,Status\nAldbrook,suspended\nCorvane,approved\nDentwell,approved\nElm,new\n"
    )
    (folder / "prices.csv").write_text(
        "Supplier,Price\nAldbrook,12\nCorvane,14.5\nDentwell,16\nElm,9\n# see the register\n"
    )
    memo = draft().reference
    make_task(tmp_path, name="target", instruction=f"For {CANARY}: read memo.txt, write out.txt.", reference=memo)
    return tmp_path


def config(desk: Path, url: str, **changes: Any) -> Path:
    path = desk / "author.json"
    roles = {role: {"base_url": url, "model": role, "retries": 0} for role in ROLES}
    path.write_text(json.dumps({"roles": roles, "like": [str(desk / "target")]} | changes))
    return path


async def written(desk: Path, script: dict[str, Answer], **changes: Any) -> tuple[Path | Rejected, Endpoint]:
    async with Endpoint(SCRIPT | script).serving() as endpoint:
        results = await author_tasks(config(desk, endpoint.url, **changes), desk / "documents", desk / "out")
    return results[0], endpoint


async def test_a_task_is_written_by_seven_roles_and_admitted_by_execution(desk: Path) -> None:
    made, endpoint = await written(desk, {})
    assert isinstance(made, Path), made
    assert [role for role, _ in endpoint.asked] == [
        "proposer", "reviewer", "author", "author", "solver", "drafter", "adversary", "reviewer", "second_reviewer",
    ]  # fmt: skip
    admission = await admit(made, InProcess(desk / "runs"))
    assert admission.admitted, admission.gates[-1]


async def test_each_stage_is_handed_only_what_it_may_see(desk: Path) -> None:
    _, endpoint = await written(desk, {})
    told: dict[str, list[dict[str, Any]]] = {}
    for role, text in endpoint.asked:
        told.setdefault(role, []).append(json.loads(text[text.index("\n\n{") :]))
        assert (CANARY in text) is (role == "proposer")
        assert ("audit file" in text) is (role == "reviewer" and "operations" in text) or role in ("author", "proposer")
    assert told["reviewer"][0].keys() == {"structure"}
    assert told["solver"][0].keys() == {"request", "documents"}
    assert told["adversary"][0].keys() == {"request", "documents", "contract"}
    assert "trace" not in json.dumps(told["drafter"])
    # evidence closure: nothing carries the audit, so it is no part of what is asked for
    assert [o["id"] for o in told["author"][1]["structure"]["operations"]] == ["find", "price", "decide"]


async def test_a_second_run_goes_on_from_the_trace_and_asks_nothing_again(desk: Path) -> None:
    async with Endpoint(SCRIPT).serving() as endpoint:
        folder, out = desk / "documents", desk / "out"
        stopped = (await author_tasks(config(desk, endpoint.url, budget={"calls": 5}), folder, out))[0]
        assert isinstance(stopped, Rejected)
        assert stopped.stage == "budget"
        assert len(endpoint.asked) == 5
        made = (await author_tasks(config(desk, endpoint.url), folder, out))[0]
        assert isinstance(made, Path)
        assert len(endpoint.asked) == 9
        lines = (out / "traces" / "consulting-authored-target.jsonl").read_text().splitlines()
        assert len(lines) == 9
        assert await author_tasks(config(desk, endpoint.url), folder, out) == [made]
        assert len(endpoint.asked) == 9


REJECTIONS: dict[str, tuple[dict[str, Answer], str, str]] = {
    "words": ({"proposer": lambda handed: "I would rather not."}, "propose", "holds no JSON object"),
    "half a character": ({"proposer": lambda handed: '{"operations": "\ud800"}'}, "propose", "surrogates not allowed"),
    "half a character, escaped": ({"proposer": lambda handed: '{"x": "\\ud800"}'}, "propose", "surrogates not allowed"),
    "no number": ({"proposer": lambda handed: '{"x": NaN}'}, "propose", "is not JSON that can be kept"),
    "too deep": ({"proposer": lambda handed: '{"x": ' + "[" * 100_000 + "]" * 100_000 + "}"}, "propose", "recursion"),
    "no end": ({"proposer": lambda handed: "x" * (3 << 20)}, "endpoint", "longer than 2,097,152 bytes"),
    "a circle": (
        {
            "proposer": lambda handed: {
                "operations": [
                    {"id": "a", "kind": "reasoning", "needs": ["b"]},
                    {"id": "b", "kind": "reasoning", "needs": ["a"]},
                ]
            }
        },
        "propose",
        "need each other in a circle",
    ),
    "an unknown kind": (
        {"proposer": lambda handed: {"operations": [{"id": "a", "kind": "guess"}]}},
        "propose",
        "operations.0.kind",
    ),
    "the target's name": (
        {
            "proposer": lambda handed: {
                "operations": [o | {"sources": ["the Quillfeather file"]} for o in STRUCTURE["operations"]]
            }
        },
        "propose",
        "names 'quillfeather' of the target",
    ),
    "a reviewer's no": (
        {"reviewer": lambda handed: {"accept": False, "reasons": ["too narrow"]}},
        "review_structure",
        "too narrow",
    ),
    "documents that are none": (
        {"author": lambda handed: {"documents": {"find": ["secret.csv"]}}},
        "bind",
        "secret.csv is no document",
    ),
    "an invented fact": (
        {
            "author": lambda handed: (
                REQUEST | {"trigger": "The budget of 99000 is spent."}
                if "rejected_before" in handed
                else SCRIPT["author"](handed)
            )
        },
        "request",
        "the request says 99000, which no document holds",
    ),
    "a solver that leaves out": (
        {"solver": lambda handed: {"fields": {"supplier": "Corvane"}}},
        "solve",
        "gives no 'price'",
    ),
    "a criterion without evidence": (
        {"drafter": lambda handed: {"criteria": [criterion("supplier", "Corvane", "Aldbrook", evidence=[])]}},
        "contract",
        "criteria.0.evidence",
    ),
    "a criterion nobody asked for": (
        {"drafter": lambda handed: {"criteria": [*CONTRACT["criteria"], criterion("colour", "red", "blue")]}},
        "contract",
        "label 'colour' is graded twice, or was not asked for",
    ),
    "a contract that is too narrow": (
        {"adversary": lambda handed: ATTACK | {"alternatives": [{"supplier": "Corvane Ltd", "price": "14.5"}]}},
        "contract",
        "loosen: the right answer",
    ),
    "a contract that is too wide": (
        {"adversary": lambda handed: ATTACK | {"errors": [{"supplier": "Corvane", "price": "14.5"}]}},
        "contract",
        "tighten: the wrong answer",
    ),
    "a solver who disagrees": (
        {"solver": lambda handed: {"fields": {"supplier": "Dentwell", "price": "16"}}},
        "contract",
        "do not agree",
    ),
    "the last reviewer's no": (
        {"second_reviewer": lambda handed: {"accept": False, "reasons": ["a look-up"]}},
        "review",
        "a look-up",
    ),
}


@pytest.mark.parametrize("case", REJECTIONS)
async def test_what_does_not_hold_is_rejected_with_stage_and_reason(desk: Path, case: str) -> None:
    script, stage, said = REJECTIONS[case]
    made, _ = await written(desk, script)
    assert isinstance(made, Rejected)
    assert made.stage == stage, made
    assert any(said in reason for reason in made.reasons), made.reasons
    assert not list((desk / "out").glob("*/task.toml"))


async def test_a_contract_is_mended_by_what_the_adversary_found(desk: Path) -> None:
    narrow = {"criteria": [criterion("supplier", "Corvane", "Aldbrook"), criterion("price", "14.5 per piece", "12")]}
    tried: list[list[str]] = []

    def drafter(handed: dict[str, Any]) -> dict[str, Any]:
        tried.append(handed["rejected_before"])
        return narrow if len(tried) == 1 else CONTRACT

    made, endpoint = await written(desk, {"drafter": drafter})
    assert isinstance(made, Path)
    assert tried[0] == []
    assert len(tried) == 2, tried
    assert [role for role, _ in endpoint.asked].count("adversary") == 2
    assert "the blind solution earns 0.50" in tried[1][0]


def test_one_identity_on_both_sides_of_a_check_is_refused(tmp_path: Path) -> None:
    trace = Trace(tmp_path / "t.jsonl", Budget())
    models = {role: ScriptedModel([], name=role) for role in ROLES}
    with pytest.raises(UserError, match="proposer and reviewer are both proposer"):
        Author(models | {"reviewer": models["proposer"]}, trace)
    with pytest.raises(UserError, match="no model for the role solver"):
        Author({role: model for role, model in models.items() if role != "solver"}, trace)
    warmer = ScriptedModel([], name="drafter@another-temperature")
    with pytest.raises(UserError, match="drafter and adversary are both drafter"):
        Author(models | {"adversary": warmer}, trace)
