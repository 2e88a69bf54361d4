"""What a bubblewrap box cannot reach, and what its limits hold."""

import asyncio
import os
import socket
from pathlib import Path

import pytest

from journeyman.sandbox.base import Limits, SandboxSpec
from journeyman.sandbox.bubblewrap import BubblewrapBox, BubblewrapProvider
from journeyman.sandbox.packages import office_packages
from tests.sandbox.test_contract import bash


async def start(provider: BubblewrapProvider, *layers: Path, **more: object) -> BubblewrapBox:
    return await provider.start(SandboxSpec.model_validate({"workspace": layers, **more}))


async def test_a_box_has_no_capability_no_network_and_no_nested_namespace(bubblewrap: BubblewrapProvider) -> None:
    box = await start(bubblewrap)
    for process in ("self", "1", "$PPID"):  # a command, the box's init, the executor
        status = (await bash(box, f"grep -E '^(Cap|NoNewPrivs)' /proc/{process}/status"))["output"]
        assert set(status.split()[1::2]) == {"0000000000000000", "1"}, process
    assert (await bash(box, "unshare -Ur true"))["exit_code"] != 0
    assert (await bash(box, "mount -t tmpfs none /tmp"))["exit_code"] != 0
    probe = "import socket; socket.create_connection(('192.0.2.1', 80), 1)"
    assert "unreachable" in (await bash(box, f'python3 -c "{probe}"'))["output"]
    assert (await bash(box, "ls /sys/class/net 2>/dev/null; tail -n +3 /proc/net/dev"))["output"].count(":") == 1


async def test_only_usr_and_generated_files_are_in_a_box(bubblewrap: BubblewrapProvider) -> None:
    box = await start(bubblewrap)
    assert (await bash(box, "cat /etc/shadow; ls /home /var/lib"))["exit_code"] != 0
    top = (await bash(box, "ls /"))["output"].split()
    assert set(top) - {"lib32", "libx32", "root", "opt", "sbin"} <= {
        "bin",
        "dev",
        "etc",
        "lib",
        "lib64",
        "proc",
        "run",
        "tmp",
        "usr",
        "var",
        "workspace",
    }
    assert (await bash(box, "touch /x /usr/x /etc/x /run/x"))["output"].count("Read-only") == 4
    assert (await bash(box, "python3 -c 'import journeyman'"))["exit_code"] != 0
    assert (await bash(box, "id -un; pwd"))["output"] == "agent\n/workspace\n"


async def test_the_hosts_environment_stays_outside(bubblewrap: BubblewrapProvider) -> None:
    assert os.environ  # the host has one
    box = await start(bubblewrap, environment={"TASK": "seven"})
    names = {line.split("=")[0] for line in (await bash(box, "env"))["output"].splitlines()}
    ours = {"PATH", "HOME", "USER", "LANG", "TZ", "PYTHONDONTWRITEBYTECODE", "TASK", "SANDBOX_CALL"}
    assert names == ours | {"PWD", "SHLVL", "_"}
    everything = await bash(box, "cat /proc/*/environ | tr '\\0' '\\n' | sort -u")
    assert {line.split("=")[0] for line in everything["output"].splitlines() if "=" in line} <= names | {"OLDPWD"}


async def test_the_executor_cannot_be_traced_or_read(bubblewrap: BubblewrapProvider) -> None:
    box = await start(bubblewrap)
    reply = await bash(box, "cat /proc/$PPID/mem /proc/$PPID/environ; readlink /proc/$PPID/exe; ls /proc/$PPID/fd")
    assert reply["output"].count("Permission denied") >= 2
    assert reply["exit_code"] != 0


async def test_the_boxes_init_cannot_be_traced(bubblewrap: BubblewrapProvider) -> None:
    box = await start(bubblewrap)
    trace = "import ctypes; libc = ctypes.CDLL(None, use_errno=True); "
    trace += "print(libc.ptrace(16, 1, 0, 0), ctypes.get_errno(), libc.ptrace(0, 0, 0, 0))"
    assert (await bash(box, f'python3 -c "{trace}"'))["output"] == "-1 1 -1\n"
    assert (await bash(box, "grep Seccomp: /proc/self/status"))["output"].split() == ["Seccomp:", "2"]
    assert (await bash(box, "kill -9 1; kill -STOP 1; echo alive"))["output"].endswith("alive\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives each box its own uid")
async def test_boxes_that_run_together_have_different_uids(bubblewrap: BubblewrapProvider) -> None:
    boxes = await asyncio.gather(*(start(bubblewrap) for _ in range(3)))
    assert len({box.identity.uid for box in boxes}) == 3
    assert all(box.identity.uid > 60_000 for box in boxes)
    processes = [Path(f"/proc/{box.started.pid}").stat().st_uid for box in boxes]
    assert processes == [box.identity.uid for box in boxes]


async def test_a_box_sees_no_process_and_no_file_of_another(bubblewrap: BubblewrapProvider) -> None:
    one, other = await start(bubblewrap), await start(bubblewrap)
    await one.call("task_start", {"command": "echo secret > /tmp/s; echo secret > /workspace/s; sleep 64.5"})
    await bash(one, "sleep 0.1")
    assert (await bash(other, "pgrep -f 'sleep 64[.]5'; ls /tmp /workspace"))["output"] == "/tmp:\n\n/workspace:\n"


async def test_only_the_granted_socket_lets_anything_in(bubblewrap: BubblewrapProvider, tmp_path: Path) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello " + await reader.readline())
        writer.close()

    path = tmp_path / "service.sock"
    server = await asyncio.start_unix_server(serve, str(path))
    box = await start(bubblewrap, sockets={"/run/jm/services.sock": path})
    client = "import socket; s=socket.socket(socket.AF_UNIX); s.connect('/run/jm/services.sock'); "
    client += "s.sendall(b'you\\n'); print(s.recv(99).decode())"
    assert (await bash(box, f'python3 -c "{client}"'))["output"] == "hello you\n\n"
    server.close()
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind("\0journeyman-test")
    abstract.listen()
    reach = "import socket; socket.socket(socket.AF_UNIX).connect('\\0journeyman-test')"
    assert (await bash(box, f'python3 -c "{reach}"'))["exit_code"] != 0
    abstract.close()


async def test_memory_runs_out_for_the_command_not_for_the_box(bubblewrap: BubblewrapProvider) -> None:
    box = await start(bubblewrap, limits=Limits(memory_bytes=96 << 20))
    reply = await bash(box, "python3 -c 'x = bytearray(400 << 20)'")
    assert reply["exit_code"] != 0
    assert (await bash(box, "echo alive"))["output"] == "alive\n"


async def test_processes_and_file_sizes_are_limited(bubblewrap: BubblewrapProvider) -> None:
    box = await start(bubblewrap, limits=Limits(pids=24, file_bytes=1 << 20))
    reply = await bash(box, "for i in $(seq 60); do sleep 5 & done; wait", 3.0)
    assert "fork" in reply["output"]
    assert (await bash(box, "echo alive"))["output"] == "alive\n"
    assert (await bash(box, "head -c 3000000 /dev/zero > big; stat -c %s big"))["output"].endswith("1048576\n")
    assert "error" in await box.call("write", {"path": "big2", "content": "x" * (2 << 20)})


async def test_later_layers_lie_over_earlier_ones(bubblewrap: BubblewrapProvider, tmp_path: Path) -> None:
    base, over = tmp_path / "base", tmp_path / "over"
    for layer, text in ((base, "base"), (over, "over")):
        layer.mkdir()
        (layer / "both.txt").write_text(text)
        (layer / f"{text}.txt").write_text(text)
    box = await start(bubblewrap, base, over)
    assert (await bash(box, "cat both.txt; ls"))["output"] == "overbase.txt\nboth.txt\nover.txt\n"
    await bash(box, "rm both.txt; echo base > base.txt; printf base > base.txt")
    change = await box.collect()
    assert (change.written, change.deleted) == ({}, ("both.txt",))


async def test_the_office_libraries_are_there_for_tasks_that_ask(bubblewrap: BubblewrapProvider) -> None:
    pytest.importorskip("docx")
    assert "/opt/packages/docx" in office_packages()
    box = await start(bubblewrap, capabilities=("office",))
    make = "import docx, openpyxl, pptx; d = docx.Document(); d.add_paragraph('hi'); d.save('r.docx')"
    assert await bash(box, f'python3 -c "{make}"', 60.0) | {"output": ""} == {
        "output": "",
        "exit_code": 0,
        "timed_out": False,
        "truncated": False,
    }
    assert (await box.collect()).written["r.docx"].startswith(b"PK")
    plain = await start(bubblewrap)
    assert (await bash(plain, "python3 -c 'import docx'"))["exit_code"] != 0
