"""Where things lie in a job: runs/JOB/{config.toml, tasks, episodes, grades, data, weights, ledger, report}."""

from collections.abc import Iterator
from pathlib import Path

SEAL_NAME = "SEAL.json"


def exists(path: Path) -> bool:
    """Whether something is there; a name that is too long to be one is nobody's."""
    try:
        return path.exists()
    except OSError:
        return False


class Job:
    """Paths of one job; creates nothing by itself."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.config = root / "config.toml"
        self.tasks = root / "tasks"
        self.episodes = root / "episodes"
        self.grades = root / "grades"
        self.data = root / "data"
        self.weights = root / "weights"
        self.ledger = root / "ledger"
        self.report = root / "report"

    @property
    def name(self) -> str:
        """The job's name: its directory's, also where that was given as "." or by a link."""
        return self.root.resolve().name

    def episode_dir(self, key: str) -> Path:
        """Directory of the episode policy/task/group/attempt.try."""
        return self.episodes / key

    def grades_dir(self, key: str) -> Path:
        """Where that episode's grade files lie: beside the seal, never inside."""
        return self.grades / key

    def key_of(self, episode_dir: Path) -> str:
        """policy/task/group/attempt.try of an episode directory of this job."""
        return episode_dir.relative_to(self.episodes).as_posix()

    def sealed(self, policy: str | None = None) -> Iterator[Path]:
        """Sealed episode directories in path order, of one policy or of all."""
        for base in sorted(self.episodes.glob("*")):
            for seal in sorted(base.glob(f"*/*/*/{SEAL_NAME}")) if policy in (None, "", base.name) else ():
                yield seal.parent
