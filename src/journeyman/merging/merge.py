"""One merge from plan to marker: shards streamed, verified by a second code path, card written, marker last."""

import json
import shutil
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from journeyman.errors import UserError
from journeyman.merging.base import MergeMethod, make_method
from journeyman.merging.card import RECIPE, accounts, card
from journeyman.merging.config import MergeConfig
from journeyman.merging.layout import read_layout
from journeyman.merging.lineage import check_lineage, parent_digest
from journeyman.merging.plan import Plan, make_plan
from journeyman.merging.streaming import write_merged
from journeyman.merging.verify import verify
from journeyman.records.base import sha256_hex
from journeyman.records.sample import Checkpoint
from journeyman.store.atomic import write_atomic
from journeyman.store.checkpoint import MARKER, read_checkpoint
from journeyman.store.config_file import read_values
from journeyman.store.unfinished import UNFINISHED, begin, finish

CARD = "README.md"
COPIED = {".json", ".jinja", ".model", ".py", ".tiktoken", ".txt"}
Emit = Callable[[dict[str, Any]], None]


def merge(config: MergeConfig, emit: Emit) -> Checkpoint:
    """Merge, verify and publish `config.out`; a finished one with the same recipe is verified again and reported.

    Raises UserError for parents that do not go together and for a directory that is not a merge of this recipe,
    MergeBroken where verification fails; nothing is left of a merge that fails.
    """
    with ThreadPoolExecutor(1) as hasher:  # parents are identified while they are merged
        whole = [*config.parents, *([config.base] if config.base else [])]
        return _merge(config, emit, {p: hasher.submit(parent_digest, p) for p in dict.fromkeys(whole)})


def _merge(config: MergeConfig, emit: Emit, identities: Mapping[Path, Future[str]]) -> Checkpoint:
    started = time.perf_counter()
    method = make_method(config.method)
    parents = [read_layout(p) for p in config.parents]
    base = None if config.base is None else read_layout(config.base)
    check_lineage(list(identities))
    plan = make_plan(parents, base, method, config.keep)
    if (config.out / MARKER).exists():
        record = _finished(config.out, _recipe(config, method, identities))
        verify(config.out, record.files, plan, parents, base, method, config.verify, record.files)
        emit({"event": "done", "weights": str(config.out), "digest": record.digest(), "resumed": True})
        return record
    _begin(config, plan)
    try:
        emit({"event": "start", "tensors": len(plan.steps), "bytes": plan.total_bytes, "method": method.name})
        files, not_copied = _copy_kept(config)
        names = write_merged(plan, parents, base, method, config.out, config.slice_bytes, _progress(emit))
        verified = verify(config.out, names, plan, parents, base, method, config.verify)
        files |= verified.digests
        found = accounts(plan, parents, verified.tensors)
        record = _publish(config, method, _recipe(config, method, identities), found, not_copied, files)
    finally:
        for layout in (*parents, *([base] if base else [])):
            layout.close()
        if not (config.out / MARKER).exists():
            shutil.rmtree(config.out)
    figures = {"tensors": len(plan.steps), "bytes": plan.total_bytes, "verified": verified.tensors}
    told = {"weights": str(config.out), "digest": record.digest(), **figures}
    emit({"event": "done", **told, "seconds": time.perf_counter() - started})
    return record


def _finished(out: Path, recipe: dict[str, Any]) -> Checkpoint:
    path = out / RECIPE
    record = read_checkpoint(out)
    if record is None or not path.exists() or read_values(path, "another --out").get("recipe") != recipe:
        raise UserError(f"{out} holds another checkpoint and is create-only: choose another name")
    return record


def _begin(config: MergeConfig, plan: Plan) -> None:
    """An empty directory with room for the shards. Raises UserError rather than remove what no merge of ours began."""
    begin(config.out, "merge")
    free = shutil.disk_usage(config.out).free
    if free < plan.total_bytes:
        finish(config.out)
        config.out.rmdir()
        raise UserError(f"{config.out} needs {plan.total_bytes} bytes and its disk has {free} left: make room")


def _publish(
    config: MergeConfig,
    method: MergeMethod,
    recipe: dict[str, Any],
    found: dict[str, Any],
    not_copied: list[str],
    files: dict[str, str],
) -> Checkpoint:
    for name, text in (
        (RECIPE, json.dumps({"recipe": recipe, "accounts": found}, indent=1)),
        (CARD, card(config.name, recipe, found, not_copied)),
    ):
        (config.out / name).write_text(text)
        files[name] = sha256_hex(text.encode())
    record = Checkpoint(
        name=config.name,
        version=0,
        parents=tuple(digest for _, digest in recipe["parents"]),
        step=0,
        objective=f"merge:{method.name}",
        files=files,
        recipe_digest=config.recipe_digest,
    ).checked()
    write_atomic(config.out / MARKER, record.canonical())
    finish(config.out)
    return record


def _progress(emit: Emit) -> Callable[[int, int], None]:
    shown = [0]

    def progress(done: int, total: int) -> None:
        if done - shown[0] >= max(total // 20, 1 << 26):
            shown[0] = done
            emit({"event": "progress", "step": done, "total": total})

    return progress


def _copy_kept(config: MergeConfig) -> tuple[dict[str, str], list[str]]:
    """Configuration, tokenizer and template of the kept parent; and the names of files that are neither."""
    files: dict[str, str] = {}
    left: list[str] = []
    for path in sorted(config.parents[config.keep].iterdir()):
        if not path.is_file() or path.suffix == ".safetensors" or path.name in (MARKER, CARD, RECIPE, UNFINISHED):
            continue
        if path.name.endswith(".index.json"):
            continue
        if path.suffix not in COPIED and not path.name.startswith("LICENSE"):
            left.append(path.name)
            continue
        data = path.read_bytes()
        (config.out / path.name).write_bytes(data)
        files[path.name] = sha256_hex(data)
    return files, left


def _recipe(config: MergeConfig, method: MergeMethod, identities: Mapping[Path, Future[str]]) -> dict[str, Any]:
    settings: dict[str, Any] = getattr(method, "model_dump", dict)()
    digests = {path: identity.result() for path, identity in identities.items()}
    recipe = {
        "method": {"name": method.name, **settings},
        "parents": [[str(p), digests[p]] for p in config.parents],
        "base": None if config.base is None else [str(config.base), digests[config.base]],
        "keep": str(config.parents[config.keep]),
    }
    as_read_again: dict[str, Any] = json.loads(json.dumps(recipe))
    return as_read_again
