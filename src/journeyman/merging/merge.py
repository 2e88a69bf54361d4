"""One merge from plan to marker: shards streamed, verified by a second code path, card written, marker last."""

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from journeyman.errors import UserError
from journeyman.merging.base import MergeMethod, make_method
from journeyman.merging.config import MergeConfig
from journeyman.merging.layout import INDEX, Layout, read_layout
from journeyman.merging.plan import Plan, make_plan
from journeyman.merging.streaming import write_merged
from journeyman.merging.verify import verify
from journeyman.records.base import sha256_hex
from journeyman.records.sample import Checkpoint
from journeyman.store.atomic import write_atomic

MARKER = "CHECKPOINT.json"
CARD = "README.md"
RECIPE = "MERGE.json"
Emit = Callable[[dict[str, Any]], None]


def parent_digest(directory: Path) -> str:
    """Identity of a parent: its marker's digest, or that of its weight files where it has none."""
    marker = directory / MARKER
    if marker.exists():
        return Checkpoint.parse(marker.read_bytes()).digest()
    return sha256_hex(b"".join(sha256_hex(p.read_bytes()).encode() for p in sorted(directory.glob("*.safetensors"))))


def merge(config: MergeConfig, emit: Emit) -> Checkpoint:
    """Merge, verify and publish `config.out`; a finished one with the same recipe is verified again and reported.

    Raises UserError for parents that do not go together, MergeBroken where verification fails (no marker is written).
    """
    started = time.perf_counter()
    method = make_method(config.method)
    parents = [read_layout(p) for p in config.parents]
    base = None if config.base is None else read_layout(config.base)
    same_tokenizer(config.parents)
    plan = make_plan(parents, base, method, config.keep)
    recipe = _recipe(config, method)
    if (config.out / MARKER).exists():
        record = Checkpoint.parse((config.out / MARKER).read_bytes())
        if json.loads((config.out / RECIPE).read_bytes())["recipe"] != recipe:
            raise UserError(f"{config.out} holds another merge and is create-only: choose another name")
        verify(config.out, record.files, plan, parents, base, method, config.verify)
        emit({"event": "done", "weights": str(config.out), "digest": record.digest(), "resumed": True})
        return record
    if config.out.exists():
        shutil.rmtree(config.out)
    config.out.mkdir(parents=True)
    emit({"event": "start", "tensors": len(plan.steps), "bytes": plan.total_bytes, "method": method.name})
    files = _copy_kept(config)
    files |= write_merged(plan, parents, base, method, config.out, config.slice_bytes, _progress(emit))
    recomputed = verify(config.out, files, plan, parents, base, method, config.verify)
    accounts = _accounts(plan, parents, recomputed)
    for name, text in (
        (RECIPE, json.dumps({"recipe": recipe, "accounts": accounts}, indent=1)),
        (CARD, card(config, recipe, accounts)),
    ):
        (config.out / name).write_text(text)
        files[name] = sha256_hex(text.encode())
    record = Checkpoint(
        name=config.name,
        version=0,
        parents=tuple(recipe["parents"].values()),
        step=0,
        objective=f"merge:{method.name}",
        files=files,
        recipe_digest=config.recipe_digest,
    ).checked()
    write_atomic(config.out / MARKER, record.canonical())
    figures = {"tensors": len(plan.steps), "bytes": plan.total_bytes, "verified": recomputed}
    emit(
        {
            "event": "done",
            "weights": str(config.out),
            "digest": record.digest(),
            **figures,
            "seconds": time.perf_counter() - started,
        }
    )
    return record


def _progress(emit: Emit) -> Callable[[int, int], None]:
    shown = [0]

    def progress(done: int, total: int) -> None:
        if done - shown[0] >= max(total // 20, 1 << 26):
            shown[0] = done
            emit({"event": "progress", "bytes": done, "total": total})

    return progress


def same_tokenizer(directories: tuple[Path, ...]) -> None:
    """Raises UserError where two parents that carry a tokenizer carry different ones."""
    found = {p: (p / "tokenizer.json").read_bytes() for p in directories if (p / "tokenizer.json").exists()}
    if len(set(found.values())) > 1:
        raise UserError(f"{' and '.join(map(str, found))} have different tokenizers: parents must be of one lineage")


def _copy_kept(config: MergeConfig) -> dict[str, str]:
    """Config, tokenizer and template of the kept parent."""
    files: dict[str, str] = {}
    left_out = {MARKER, CARD, RECIPE, INDEX}
    for path in sorted(config.parents[config.keep].iterdir()):
        if path.is_file() and path.name not in left_out and path.suffix not in (".safetensors", ".bin"):
            data = path.read_bytes()
            (config.out / path.name).write_bytes(data)
            files[path.name] = sha256_hex(data)
    return files


def _recipe(config: MergeConfig, method: MergeMethod) -> dict[str, Any]:
    settings: dict[str, Any] = getattr(method, "model_dump", dict)()
    return {
        "method": {k: v for k, v in settings.items() if k not in ("elementwise", "needs_base", "parents")},
        "parents": {str(p): parent_digest(p) for p in config.parents},
        "base": None if config.base is None else {str(config.base): parent_digest(config.base)},
        "keep": str(config.parents[config.keep]),
    }


def _accounts(plan: Plan, parents: list[Layout], recomputed: int) -> dict[str, Any]:
    return {
        "tensors": len(plan.steps),
        "bytes": plan.total_bytes,
        "parent_bytes": [p.total_bytes for p in parents],
        "parent_tensors": [len(p.tensors) for p in parents],
        "merged": len(plan.keys("merged")),
        "equal": plan.keys("equal"),
        "inherited": plan.keys("inherited"),
        "recomputed": recomputed,
    }


def card(config: MergeConfig, recipe: dict[str, Any], accounts: dict[str, Any]) -> str:
    """The model card: what was merged, how, and how to do it again."""
    parents = "\n".join(f"| {Path(p).name} | `{digest}` |" for p, digest in recipe["parents"].items())
    base = "none" if recipe["base"] is None else ", ".join(f"{Path(p).name} `{d}`" for p, d in recipe["base"].items())
    inherited = ", ".join(f"`{k}`" for k in accounts["inherited"]) or "none"
    named = ", ".join(f"{k} = {v}" for k, v in recipe["method"].items() if k != "name" and v is not None)
    settings = f" ({named})" if named else ""
    return f"""# {config.name}

A {recipe["method"]["name"]} of {len(recipe["parents"])} checkpoints of one lineage{settings}.

| parent | digest |
|---|---|
{parents}

* base: {base}
* config, tokenizer, dtypes and shard layout: {Path(recipe["keep"]).name}
* {accounts["tensors"]} tensors, {accounts["bytes"]} bytes
* {accounts["merged"]} merged, {len(accounts["equal"])} equal in all parents (not floats)
* inherited from one side, un-averaged: {inherited}
* accumulated wide (fp32; fp64 for fp32 parents) and cast once
* {accounts["recomputed"]} tensors recomputed from the parents after writing and equal bit for bit

The exact recipe is in {RECIPE}: give its parents and method to `journeyman merge` to make the same bytes again.
"""
