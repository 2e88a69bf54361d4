"""journeyman rollout: run a policy on tasks and seal the episodes."""

from pathlib import Path

import click

from journeyman.cli.display import Display, NewRun, Real, finish, next_step, table
from journeyman.cli.engine_options import engine_options, engine_recipe
from journeyman.errors import UserError


@click.command()
@click.argument("tasks", type=click.Path(path_type=Path))
@click.option("--policy", default="base", show_default=True, help="base, reference, no-op, or a model directory.")
@click.option("--out", type=NewRun(), default=Path("runs/rollout"), show_default=True)
@click.option("--split", type=click.Choice(["train", "validation", "heldout"]), help="Only tasks of this split.")
@click.option("--attempts", type=click.IntRange(1), default=1, show_default=True)
@click.option("--temperature", type=Real(0), default=1.0, show_default=True, help="0 is greedy.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--sandbox", default="bubblewrap", show_default=True)
@click.option("--concurrency", type=click.IntRange(1), default=32, show_default=True)
@click.option("--ray", "workers", type=click.IntRange(1), help="On so many Ray workers instead of in this process.")
@click.option("--ray-address", help="Of a running Ray cluster. Default: one on this machine, for this job.")
@engine_options
def rollout(
    tasks: Path,
    policy: str,
    out: Path,
    split: str | None,
    attempts: int,
    temperature: float,
    seed: int,
    sandbox: str,
    concurrency: int,
    workers: int | None,
    ray_address: str | None,
    engine: str,
    urls: tuple[str, ...],
    model: str,
    api_key_env: str | None,
) -> None:
    """Run POLICY on TASKS (a release, a package or a directory of packages), seal every episode and grade it.

    \b
    Example:
      journeyman rollout build/release --policy base --split heldout --out runs/rollout

    With --engine, POLICY is the directory of the model that the server holds: its tokenizer and chat template.

    \b
    Example:
      journeyman rollout build/release --policy models/Qwen3-8B --engine sglang --url http://127.0.0.1:30000
    """
    if ray_address is not None and workers is None:
        raise UserError(f"--ray-address {ray_address} needs --ray N, the number of workers")
    from journeyman.pipeline.recipe import Options, Recipe
    from journeyman.pipeline.rollout import Wish, rollout
    from journeyman.pipeline.state import Run
    from journeyman.store.layout import Job

    recipe = Recipe(
        name=out.name or out.resolve().name,
        stages=(),
        engine=engine_recipe(engine, urls, model, api_key_env),
        options=Options(sandbox=sandbox, concurrency=concurrency),
    )
    with Display() as display:
        wish = Wish(tasks, policy, split, attempts, temperature, seed)
        run = Run(recipe, Job(out), display)
        if workers is None:
            finished = finish(rollout(run, wish))
        else:
            from journeyman.pipeline.executors.ray import Cluster, rollout_on_ray

            finished = finish(rollout_on_ray(run, wish, Cluster(workers, ray_address)))
    by_task: dict[str, list[str]] = {}
    for one in finished:
        shown = f"{one.reward:.3f}" if one.reward is not None else f"quarantined {one.outcome.layer}"  # type: ignore[union-attr]
        by_task.setdefault(one.spec.task, []).append(shown)
    table(f"{policy} on {tasks}", ["task", "reward by attempt"], [[k, "  ".join(v)] for k, v in by_task.items()])
    rewards = [one.reward for one in finished if one.reward is not None]
    mean = f"mean reward {sum(rewards) / len(rewards):.3f}" if rewards else "no attempt is valid"
    print(f"{len(rewards)} of {len(finished)} attempts graded, {mean}")
    next_step("journeyman verify {}", out)
