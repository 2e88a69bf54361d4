"""journeyman data: sealed episodes to training rows."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from journeyman.cli.display import Name, NewPlace, Real, console, next_step, table
from journeyman.errors import UserError

if TYPE_CHECKING:
    from journeyman.records.batch import DatasetManifest

PATH = click.Path(path_type=Path)


def _shown(manifest: "DatasetManifest", out: Path) -> None:
    rows = [["rows", f"{manifest.rows:,}"], ["tokens", f"{manifest.tokens:,}"]]
    rows += [["trained tokens", f"{manifest.trained_tokens:,}"], ["groups", f"{manifest.groups:,}"]]
    rows += [[f"left out: {reason}", f"{count:,}"] for reason, count in sorted(manifest.excluded.items())]
    table(f"{manifest.kind} dataset {out}", ["what", "count"], rows)


@click.group()
def data() -> None:
    """Turn sealed episodes into SFT or RL rows.

    \b
    Example:
      journeyman data sft runs/quickstart --policy expert --out build/sft
    """


@data.command()
@click.argument("run", type=PATH)
@click.option("--policy", type=Name(), default="expert", show_default=True, help="Whose episodes.")
@click.option("--out", type=NewPlace(), required=True, help="Dataset directory, create-only.")
@click.option("--max-length", type=click.IntRange(2), default=2048, show_default=True, help="Longer rows are dropped.")
@click.option("--min-reward", type=Real(), help="Leave out episodes below this reward.")
@click.option(
    "--sanitise",
    type=click.Choice(["mask", "truncate", "discard"]),
    is_flag=False,
    flag_value="mask",
    help="The mildest that becomes of what a record shows to be wrong; by itself: mask.",
)
@click.option("--repairs", type=Name(), help="With --sanitise: whose episodes replace faulty ones, where verified.")
@click.option("--ignore-empty-think/--train-empty-think", default=True, show_default=True)
@click.option("--think-opened-by-prompt", is_flag=True, help="The generation prompt ends with <think>.")
@click.option("--strict-whitespace", is_flag=True, help="Two newlines after an empty think span go with it at most.")
@click.option("--subagents", is_flag=True, help="Train subagents' turns too.")
def sft(
    run: Path,
    policy: str,
    out: Path,
    max_length: int,
    min_reward: float | None,
    sanitise: Literal["mask", "truncate", "discard"] | None,
    repairs: str | None,
    ignore_empty_think: bool,
    think_opened_by_prompt: bool,
    strict_whitespace: bool,
    subagents: bool,
) -> None:
    """Rows for SFT: loss on newly produced tokens only, each exactly once.

    \b
    Example:
      journeyman data sft runs/quickstart --policy expert --min-reward 0.5 --out build/sft
    """
    from journeyman.datasets.sanitise import SanitiseConfig
    from journeyman.datasets.sft import SftConfig, build_sft
    from journeyman.pipeline.selecting import attempts_of, decoder_of, repairs_of, started_from
    from journeyman.pipeline.state import SHIPPED_POLICY

    if repairs is not None and sanitise is None:
        raise UserError(f"--repairs {repairs} replaces what --sanitise finds to be wrong: give --sanitise too")
    if repairs == policy:
        raise UserError(
            f"--repairs {repairs} is whose episodes the rows are of already: give another policy of the run"
        )
    config = SftConfig(
        max_length=max_length,
        min_reward=min_reward,
        ignore_empty_think=ignore_empty_think,
        think_opened_by_prompt=think_opened_by_prompt,
        strict_whitespace=strict_whitespace,
        sanitise=None if sanitise is None else SanitiseConfig(how=sanitise),
        subagents=subagents,
    )
    attempts, started = attempts_of(run, policy), started_from(run, sft=False)
    decode = decoder_of(SHIPPED_POLICY if started == "base" else Path(started))
    repair = None if repairs is None else repairs_of(run, repairs)
    _shown(build_sft(attempts, out, config, decode, repair=repair), out)
    next_step("journeyman train sft {} --policy {} --out build/policy", out, started)


@data.command()
@click.argument("run", type=PATH)
@click.option("--policy", type=Name(), default="rl-train", show_default=True, help="Whose episodes.")
@click.option("--out", type=NewPlace(), required=True, help="Dataset directory, create-only.")
@click.option("--reward", default="signed.v1", show_default=True, help="Which named reward the batch is about.")
@click.option("--groups", type=click.IntRange(1), help="At most this many groups, in name order.")
@click.option("--subagents", is_flag=True, help="Train subagents' turns under the same reward.")
def rl(run: Path, policy: str, out: Path, reward: str, groups: int | None, subagents: bool) -> None:
    """One RL batch: groups of sealed, graded, token-exact episodes; what cannot be trained is set aside by cause.

    \b
    Example:
      journeyman data rl runs/quickstart --groups 12 --out build/batch
    """
    from journeyman.datasets.rl import RlConfig, build_rl
    from journeyman.pipeline.selecting import credit_of, groups_of, newest_versions, started_from
    from journeyman.store.dataset import Dataset

    chosen = groups_of(run, policy, reward, groups)
    credit = credit_of(run)
    said = None if credit is None else credit.model_dump(mode="json")
    config = RlConfig(reward_name=reward, credit=said, may_be_empty=False, subagents=subagents)
    _shown(build_rl(chosen, out, config), out)
    newest = list(newest_versions(Dataset.open(out, verify=False)).values())
    first = next((number for number, version in enumerate(newest) if version > 0), None)
    if first is None:
        next_step("journeyman train rl {} --policy {} --out build/rl", out, started_from(run))
        return
    console.print(
        f"version {max(newest)} of the policy sampled some of these rows: a learner that begins with them is at "
        f"version 0 and takes the first {first} groups",
        markup=False,
        soft_wrap=True,
    )
    if first:
        again = out.with_name(f"{out.name}-{first}")
        next_step("journeyman data rl {} --policy {} --groups {} --out {}", run, policy, str(first), again)
    else:
        next_step("journeyman verify {}", out)
