"""The model card of a merge: what was merged, how, what became of every byte, and how to do it again."""

from pathlib import Path
from typing import Any

from journeyman.merging.layout import Layout
from journeyman.merging.plan import Plan

RECIPE = "MERGE.json"
LISTED = 12  # names on the card


def accounts(plan: Plan, parents: list[Layout], recomputed: int) -> dict[str, Any]:
    """Every tensor and byte of the parents, by what became of it. Sums are checked before they are written."""
    left: list[dict[str, int]] = []
    for number, parent in enumerate(parents):
        gone = {key for i, key in plan.left_out if i == number}
        bytes_left = sum(parent.tensors[key].bytes for key in gone)
        given = sum(s.like.bytes for s in plan.steps if s.treatment == "inherited" and s.giver == number)
        left.append(
            {
                "tensors": len(parent.tensors),
                "bytes": parent.total_bytes,
                "inherited": given,
                "left_out": bytes_left,
                "merged_or_equal": parent.total_bytes - given - bytes_left,
            }
        )
    return {
        "tensors": len(plan.steps),
        "bytes": plan.total_bytes,
        "parents": left,
        "merged": len(plan.keys("merged")),
        "equal": plan.keys("equal"),
        "inherited": plan.keys("inherited"),
        "left_out": [f"{parents[i].directory.name}: {key}" for i, key in plan.left_out],
        "experts_compared": plan.experts_compared,
        "recomputed": recomputed,
    }


def card(name: str, recipe: dict[str, Any], found: dict[str, Any], not_copied: list[str]) -> str:
    """The model card in Markdown."""
    rows = "\n".join(
        f"| {Path(p).name} | `{digest}` | {a['tensors']} | {a['bytes']} | {a['merged_or_equal']} | {a['inherited']} | "
        f"{a['left_out']} |"
        for (p, digest), a in zip(recipe["parents"], found["parents"], strict=True)
    )
    base = "none" if recipe["base"] is None else f"{Path(recipe['base'][0]).name} `{recipe['base'][1]}`"
    named = ", ".join(f"{k} = {v}" for k, v in recipe["method"].items() if k != "name" and v is not None)
    settings = f" ({named})" if named else ""

    def listed(keys: list[str]) -> str:
        more = f" and {len(keys) - LISTED} more, all in {RECIPE}" if len(keys) > LISTED else ""
        return ", ".join(f"`{k}`" for k in keys[:LISTED]) + more or "none"

    return f"""# {name}

A {recipe["method"]["name"]} of {len(recipe["parents"])} checkpoints of one lineage{settings}.

| parent | digest | tensors | bytes | merged or equal | inherited | left out |
|---|---|---:|---:|---:|---:|---:|
{rows}

* base: {base}
* config, tokenizer, dtypes and shard layout: {Path(recipe["keep"]).name}
* {found["tensors"]} tensors, {found["bytes"]} bytes
* {found["merged"]} merged, {len(found["equal"])} equal in all parents (not floats)
* inherited from one side, un-averaged: {listed(found["inherited"])}
* left out, because another parent gives the tensor: {listed(found["left_out"])}
* experts whose correspondence was checked by cosine: {found["experts_compared"]}
* files of the kept parent that are neither configuration nor tokenizer, not copied: {listed(not_copied)}
* accumulated wide (fp32; fp64 for fp32 parents) and cast once
* {found["recomputed"]} tensors recomputed from the parents after writing and equal bit for bit

The exact recipe is in {RECIPE}: give its parents and method to `journeyman merge` to make the same bytes again.
"""
