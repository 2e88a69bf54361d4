"""What an overlay's upper layer says about changes, links and devices included."""

import os
from pathlib import Path

import pytest

from journeyman.sandbox import changes
from journeyman.sandbox.bubblewrap import BubblewrapProvider
from tests.sandbox.test_contract import bash
from tests.sandbox.test_isolation import start


@pytest.fixture
def layers(tmp_path: Path) -> tuple[Path, Path]:
    lower, upper = tmp_path / "lower", tmp_path / "upper"
    (lower / "d").mkdir(parents=True)
    (lower / "d" / "one.txt").write_text("one")
    (lower / "d" / "two.txt").write_text("two")
    (lower / "keep.txt").write_text("keep")
    upper.mkdir()
    return lower, upper


def test_a_link_counts_as_the_file_it_names_inside_the_workspace(layers: tuple[Path, Path]) -> None:
    lower, upper = layers
    (upper / "real.txt").write_text("real")
    (upper / "sub").mkdir()
    for name, target in {
        "a": "real.txt",
        "b": "/workspace/keep.txt",
        "c": "a",
        "sub/d": "../real.txt",
        "outside": "/etc/passwd",
        "above": "../../etc/passwd",
        "loop": "loop",
        "gone": "nothing",
        "directory": "d",
    }.items():
        (upper / name).symlink_to(target)
    written = changes.collect(upper, [lower]).written
    assert written == {"real.txt": b"real", "a": b"real", "b": b"keep", "c": b"real", "sub/d": b"real"}


def test_links_are_never_followed_on_the_host(layers: tuple[Path, Path], tmp_path: Path) -> None:
    lower, upper = layers
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key.txt").write_text("key")
    (upper / "link").symlink_to(tmp_path / "secret")
    (upper / "file").symlink_to(tmp_path / "secret" / "key.txt")
    assert changes.collect(upper, [lower]).written == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes device files")
def test_whiteouts_delete_and_other_devices_do_not_count(layers: tuple[Path, Path]) -> None:
    lower, upper = layers
    os.mknod(upper / "d", 0o020000, os.makedev(0, 0))
    os.mknod(upper / "zero", 0o020666, os.makedev(1, 5))
    os.mkfifo(upper / "pipe")
    change = changes.collect(upper, [lower])
    assert (change.written, change.deleted) == ({}, ("d/one.txt", "d/two.txt"))


def test_a_file_in_a_directorys_place_deletes_what_was_below(layers: tuple[Path, Path]) -> None:
    lower, upper = layers
    (upper / "d").write_text("now a file")
    change = changes.collect(upper, [lower])
    assert change.written == {"d": b"now a file"}
    assert change.deleted == ("d/one.txt", "d/two.txt")


def test_files_beyond_the_bounds_are_left_out(layers: tuple[Path, Path]) -> None:
    lower, upper = layers
    with (upper / "huge").open("wb") as file:
        file.truncate(changes.MAX_FILE_BYTES + 1)
    (upper / "small").write_text("small")
    assert set(changes.collect(upper, [lower]).written) == {"small"}


async def test_a_directory_that_was_replaced_hides_what_it_held(
    bubblewrap: BubblewrapProvider, layers: tuple[Path, Path]
) -> None:
    box = await start(bubblewrap, layers[0])
    done = await bash(box, "rm -r d && mkdir d && echo new > d/two.txt && mv keep.txt kept.txt && ln -s d/two.txt link")
    assert done["exit_code"] == 0
    change = await box.collect()
    assert change.written == {"d/two.txt": b"new\n", "kept.txt": b"keep", "link": b"new\n"}
    assert change.deleted == ("d/one.txt", "keep.txt")


async def test_a_thousand_files_in_a_closed_directory_are_not_fatal(bubblewrap: BubblewrapProvider) -> None:
    box = await start(bubblewrap)
    await bash(box, "mkdir c; for i in $(seq 200); do echo $i > c/$i; done; chmod 000 c; mkfifo p; ln -s / up", 30.0)
    change = await box.collect()
    assert set(change.written) <= {f"c/{i}" for i in range(1, 201)}
