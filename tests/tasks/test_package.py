"""Harbor packages: four parts, strict reading, byte round trips, an identity of nine inputs (T-01, T-10, G-01)."""

import shutil
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from journeyman.errors import UserError
from journeyman.records.base import canonical_json
from journeyman.records.task import ServiceGrant
from journeyman.tasks.contract import ToolContract
from journeyman.tasks.digest import INPUTS, content_digest, content_inputs
from journeyman.tasks.draft import PackageDraft, PackageFile
from journeyman.tasks.harbor import read_task_toml
from journeyman.tasks.package import (
    MissingPart,
    initial_state,
    load_task,
    package_bytes,
    plans,
    public_workspace,
    read_package,
    write_package,
)
from tests.grading.making import draft, make_task

WMS = ServiceGrant(service="wms", actor="supervisor", tools=("get_order",))


def with_service(**changes: object) -> PackageDraft:
    return draft(services=(WMS,), state={"wms": {}}, **changes)  # type: ignore[arg-type]


def tree(directory: Path) -> dict[str, bytes]:
    return {p.relative_to(directory).as_posix(): p.read_bytes() for p in directory.rglob("*") if p.is_file()}


@pytest.mark.parametrize(
    ("part", "path"),
    [
        ("request", "instruction.md"),
        ("world", "environment/workspace/memo.txt"),
        ("world", "environment/services/wms.json"),
        ("tools", "environment/contract.json"),
        ("grading", "tests/rubric.json"),
        ("metadata", "task.toml"),
    ],
)
def test_a_missing_part_is_named(tmp_path: Path, part: str, path: str) -> None:
    task = write_package(with_service(), tmp_path)
    (task / path).unlink()
    with pytest.raises(MissingPart, match=part) as raised:
        load_task(task)
    assert raised.value.part == part


def test_a_missing_workspace_is_the_missing_world(tmp_path: Path) -> None:
    task = make_task(tmp_path)
    shutil.rmtree(task / "environment/workspace")
    with pytest.raises(MissingPart, match="world"):
        load_task(task)


def test_write_read_write_is_the_same_bytes(tmp_path: Path) -> None:
    first = write_package(with_service(), tmp_path / "a")
    second = write_package(read_package(first), tmp_path / "b")
    assert tree(first) == tree(second)
    assert {p.name for p in first.rglob("*.sh") if p.stat().st_mode & 0o111} == {"solve.sh", "test.sh"}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    instruction=st.text(st.characters(exclude_categories=("Cs",)), min_size=1),
    data=st.binary(),
    path=st.from_regex(r"[a-zA-Z0-9 _-]{1,12}(/[a-zA-Z0-9 _.-]{1,8}[a-z])?", fullmatch=True),
)
def test_any_text_and_any_bytes_round_trip(
    tmp_path_factory: pytest.TempPathFactory, instruction: str, data: bytes, path: str
) -> None:
    root = tmp_path_factory.mktemp("trip")
    made = draft(instruction=instruction, files={path: PackageFile(data)})
    first = write_package(made, root / "a")
    assert tree(first) == tree(write_package(read_package(first), root / "b"))
    assert load_task(first).instruction == instruction


def test_the_same_inputs_give_the_same_package_whenever_and_wherever_made(tmp_path: Path) -> None:
    first, second = (load_task(make_task(tmp_path / name)) for name in "ab")
    assert first == second
    text = (tmp_path / "a/tiny/task.toml").read_text()
    assert str(tmp_path) not in text


def test_a_name_is_not_part_of_the_identity(tmp_path: Path) -> None:
    ids = {load_task(make_task(tmp_path, name=name)).content_digest for name in ("one", "two")}
    assert len(ids) == 1


def _inputs(made: PackageDraft) -> tuple[dict[str, bytes], ToolContract, object]:
    files = package_bytes(made)
    ours = read_task_toml(files["task.toml"], "t").metadata.journeyman
    return files, ToolContract.parse(files["environment/contract.json"]), ours


def test_one_byte_in_each_of_nine_inputs_gives_nine_identities() -> None:
    made = with_service()
    files, contract, ours = _inputs(made)
    base = content_inputs(ours, contract, files)  # type: ignore[arg-type]
    assert tuple(base) == INPUTS

    def changed(path: str) -> dict[str, bytes]:
        return files | {path: files[path] + b" "}

    wms = contract.services["wms"]
    identity = made.metadata
    variants = {
        "request": (ours, contract, changed("instruction.md")),
        "initial_state": (ours, contract, changed("environment/workspace/memo.txt")),
        "public_schemas": (ours, _with(contract, wms, schemas=(*wms.schemas, {"x": 1})), files),
        "handlers": (ours, _with(contract, wms, handlers=wms.handlers[:-1] + "x"), files),
        "protocol": (ours, contract.model_copy(update={"protocol": contract.protocol + "x"}), files),
        "containers": (ours, contract, changed("environment/Dockerfile")),
        "grader": (ours, contract, changed("tests/test.sh")),
        "lineage": (_identity(ours, lineage={**identity.lineage, "x": "y"}), contract, files),
        "split": (_identity(ours, split="heldout"), contract, files),
    }
    assert set(variants) == set(INPUTS)
    found = {name: content_inputs(*variant) for name, variant in variants.items()}  # type: ignore[arg-type]
    for name, inputs in found.items():
        assert [key for key in INPUTS if inputs[key] != base[key]] == [name]
    assert len({content_digest(inputs) for inputs in (*found.values(), base)}) == 10


def _with(contract: ToolContract, service: object, **changes: object) -> ToolContract:
    return contract.model_copy(update={"services": {"wms": service.model_copy(update=changes)}})  # type: ignore[attr-defined]


def _identity(ours: object, **changes: object) -> object:
    identity = ours.identity.model_copy(update=changes)  # type: ignore[attr-defined]
    return ours.model_copy(update={"identity": identity})  # type: ignore[attr-defined]


def test_every_byte_of_a_package_is_bound(tmp_path: Path) -> None:
    task = write_package(with_service(), tmp_path)
    for path, data in tree(task).items():
        target = task / path
        target.write_bytes(data.replace(b"7", b"8", 1) if b"7" in data else data + b" ")
        if target.read_bytes() != data:
            with pytest.raises(UserError):
                load_task(task)
        target.write_bytes(data)
    load_task(task)


def test_ports_paths_and_clocks_are_not_inputs(tmp_path: Path) -> None:
    files = package_bytes(with_service())
    for data in files.values():
        assert b"127.0.0.1" not in data
        assert str(tmp_path).encode() not in data


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('size = "compact"', 'size = "compact"\nsized = 1', r"unknown key .*sized'; did you mean 'size'"),
        ("[agent]", "[agent]\nnetwork_mode = 'public'", "unknown key 'agent.network_mode'"),
        ('split = "train"', 'split = "test"', "split"),
        ("[task]", "[tasks]\n[task]", "did you mean 'task'"),
        ("schema_version", "schema_version = [", "not TOML"),
    ],
)
def test_unknown_keys_and_wrong_values_are_named(tmp_path: Path, old: str, new: str, says: str) -> None:
    task = make_task(tmp_path)
    path = task / "task.toml"
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(UserError, match=says) as raised:
        load_task(task)
    assert "\n" not in str(raised.value)


def test_a_file_that_does_not_belong_is_refused(tmp_path: Path) -> None:
    task = make_task(tmp_path)
    (task / "environment/workspace/answer.txt").write_text("v7")
    with pytest.raises(UserError, match=r"answer\.txt does not belong"):
        load_task(task)


def test_packages_are_create_only(tmp_path: Path) -> None:
    make_task(tmp_path)
    with pytest.raises(UserError, match="create-only"):
        make_task(tmp_path)


def test_other_handlers_than_those_asked_for_are_refused_by_both_names(tmp_path: Path) -> None:
    made = with_service()
    files, contract, ours = _inputs(made)
    other = _with(contract, contract.services["wms"], handlers="f" * 64)
    task = write_package(made, tmp_path)
    (task / "environment/contract.json").write_bytes(canonical_json(other.model_dump(mode="json")))
    changed = files | {"environment/contract.json": (task / "environment/contract.json").read_bytes()}
    digest = content_digest(content_inputs(ours, other, changed))  # type: ignore[arg-type]
    toml = (task / "task.toml").read_text()
    (task / "task.toml").write_text(
        toml.replace(tomllib.loads(toml)["metadata"]["journeyman"]["content_digest"], digest)
    )
    with pytest.raises(
        UserError, match=f"handlers {'f' * 12}, installed is .*{contract.services['wms'].handlers[:12]}"
    ):
        load_task(task)
    assert load_task(task, handlers=False).content_digest == digest


def test_private_and_public_parts_lie_apart(tmp_path: Path) -> None:
    task = write_package(with_service(), tmp_path)
    visible = {p.name for p in public_workspace(task).rglob("*")}
    assert visible == {"memo.txt"}
    assert initial_state(task) == {"wms": {}}
    reference, negatives, demonstrations = plans(task)
    assert (reference.name, [n.name for n in negatives], demonstrations) == ("reference", ["stale"], ())
    dockerfile = (task / "environment/Dockerfile").read_text()
    assert "COPY --chown=agent:agent workspace /workspace" in dockerfile
    assert "services" not in dockerfile


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../b", "a//b", "./a"])
def test_world_files_stay_in_the_workspace(path: str) -> None:
    with pytest.raises(UserError, match="relative, normal"):
        package_bytes(draft(files={path: PackageFile(b"x")}))


def test_plan_names_are_file_names_and_unique() -> None:
    plan = draft().negatives[0]
    for negatives in (
        (plan, plan),
        (plan.model_copy(update={"name": "a/b"}),),
        (plan.model_copy(update={"name": ""}),),
    ):
        with pytest.raises(UserError, match="plan name"):
            package_bytes(draft(negatives=negatives))


def test_state_belongs_to_a_granted_service() -> None:
    with pytest.raises(UserError, match="not granted"):
        package_bytes(replace(draft(), state={"wms": {}}))
