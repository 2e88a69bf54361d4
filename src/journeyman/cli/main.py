"""The command line: one file per verb, imported only when typed; user mistakes cost one line and exit 2."""

import errno
import importlib
import os
import sys
from typing import Any

import click

import journeyman
from journeyman.errors import JourneymanError, UserError, refused

QUIET = {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "TRANSFORMERS_VERBOSITY": "error", "TOKENIZERS_PARALLELISM": "false"}
"""What keeps the libraries of our training processes from drawing over our own progress."""

VERBS: dict[str, tuple[str, str]] = {
    "doctor": ("journeyman.cli.doctor:doctor", "What can run here, what cannot, and what to type."),
    "tasks": ("journeyman.cli.tasks:tasks", "Make, check, admit and show tasks."),
    "run": ("journeyman.cli.run:run", "Execute a recipe: the whole loop or a part of it."),
    "rollout": ("journeyman.cli.rollout:rollout", "Run a policy on admitted tasks and seal the episodes."),
    "grade": ("journeyman.cli.grade:grade", "Grade sealed episodes."),
    "verify": ("journeyman.cli.verify:verify", "Recheck sealed bytes and token certificates offline."),
    "explain": ("journeyman.cli.explain:explain", "Say why a token got its gradient."),
    "data": ("journeyman.cli.data:data", "Turn sealed episodes into SFT or RL rows."),
    "export": ("journeyman.cli.export:export", "Write rows that other trainers load."),
    "train": ("journeyman.cli.train:train", "Train a policy by SFT or RL."),
    "merge": ("journeyman.cli.merge:merge", "Merge checkpoints and verify what was written."),
    "evaluate": ("journeyman.cli.evaluate:evaluate", "Evaluate policies on held-out tasks."),
    "report": ("journeyman.cli.report:report", "Write the HTML and JSON report of a run."),
    "check": ("journeyman.cli.check:check", "Check what the learner promises, computed here and now."),
    "ablate": ("journeyman.cli.ablate:ablate", "Train several RL methods on the same tasks and compare them."),
    "gateway": ("journeyman.cli.gateway:gateway", "Serve the capture gateway alone."),
}


class LazyGroup(click.Group):
    """A group that knows its verbs by name and imports one only when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Verbs in the order of the loop."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the verb's module and return its command."""
        if cmd_name not in VERBS:
            return None
        module, _, attribute = VERBS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List verbs without importing any."""
        with formatter.section("Verbs"):
            formatter.write_dl([(name, line) for name, (_, line) in VERBS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest verb named when there is none of that name."""
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], VERBS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"verbs: {', '.join(VERBS)}"
            raise click.UsageError(f"no verb {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(journeyman.__version__, prog_name="journeyman")
def app() -> None:
    """Turn professional work into training signal, and training signal into a better open model.

    \b
    Example:
      journeyman run recipes/quickstart.toml --out runs/quickstart
    """


def _fail(message: str, code: int = 2) -> int:
    print(f"journeyman: {message}", file=sys.stderr)
    return code


def _open_streams() -> None:
    """A standard stream that the caller closed leads nowhere; no file of ours may take its number."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            number = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(number, True)
            setattr(sys, name, os.fdopen(number, "r" if name == "stdin" else "w"))


def _drop_output() -> None:
    """What stdout could not take is not tried again when the interpreter ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(arguments: list[str] | None = None) -> Any:
    """Entry point. Exit codes: 0 done, 1 a check found a fault, 2 the user can mend it, 130 interrupted."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    _open_streams()
    try:
        code = app.main(args=arguments, prog_name="journeyman", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        code = 2
    except click.ClickException as error:
        where = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "journeyman"
        code = _fail(f"{' '.join(error.format_message().split())} (see {where} --help)")
    except click.exceptions.Exit as error:
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        code = _fail("interrupted; what was sealed is kept: type it again (journeyman run: with --resume)", 130)
    except UserError as error:
        code = _fail(" ".join(str(error).split()))
    except JourneymanError as error:
        code = _fail(" ".join(str(error).split()), 1)
    except OSError as error:
        if not (said := refused(error)):
            raise
        _drop_output()
        code = 1 if error.errno == errno.EPIPE else _fail(" ".join(said.split()))
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
