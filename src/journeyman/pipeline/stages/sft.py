"""SFT on the demonstrations, in a process of its own."""

import time
from typing import Any

from journeyman.pipeline.process import TrainingProcess
from journeyman.pipeline.state import Run
from journeyman.store.atomic import write_atomic
from journeyman.training.config import SftTrainConfig


async def train(run: Run) -> dict[str, Any]:
    """Train `weights/sft` from the base policy. Returns the stage's figures."""
    started = time.monotonic()
    sft = run.recipe.sft
    config = SftTrainConfig(
        dataset=run.job.data / "sft",
        initial=run.base_policy(),
        out=run.job.weights / "sft",
        state=run.job.ledger / "state" / "sft",
        epochs=sft.epochs,
        batch_packs=sft.batch_packs,
        batch_rows=sft.batch_rows,
        optimiser=sft.optimiser,
        schedule=sft.schedule,
        model=sft.model,
        forward=sft.forward,
        seed=run.recipe.seed,
        threads=run.recipe.options.sft_threads,
        recipe_digest=run.recipe.identity(),
    )
    path = run.job.ledger / "sft.json"
    write_atomic(path, config.model_dump_json(indent=1).encode())
    run.progress.stage("sft", f"{sft.epochs:g} epochs on {config.dataset}")
    process = await TrainingProcess.start(
        "journeyman.training.sft", path, run.job.ledger / "sft.log", run.recipe.options.sft_threads
    )
    done: dict[str, Any] = {}
    try:
        async for line in process.lines():
            if line["event"] == "progress":
                values = {k: float(v) for k, v in line.items() if k not in ("event", "step", "total")}
                run.progress.figures("sft", line["step"], values)
                run.progress.step(line["step"], line["total"], f"loss {line['loss']:.3f}")
            elif line["event"] == "done":
                done = line
    finally:
        await process.close()
    figures: dict[str, Any] = {k: done[k] for k in ("digest", "steps", "tokens", "seconds", "loss") if k in done}
    run.spend("sft", started, 1, **{k: v for k, v in figures.items() if k not in ("digest", "seconds")})
    return figures
