"""The contract of the Sandbox seam: every kind of box answers these alike."""

from typing import Any

from journeyman.sandbox.base import Sandbox


async def bash(box: Sandbox, command: str, seconds: float = 10.0) -> dict[str, Any]:
    return await box.call("exec", {"command": command, "timeout_seconds": seconds}, seconds)


async def test_read_numbers_lines_and_says_where_the_rest_is(box: Sandbox) -> None:
    assert (await box.call("read", {"path": "a.txt"}))["text"] == "1\talpha\n2\tbeta\n3\tgamma"
    part = await box.call("read", {"path": "/workspace/a.txt", "offset": 2, "limit": 1})
    assert part["text"].startswith("2\tbeta\n[lines 2-2 of 3")
    assert part["truncated"]
    assert "beyond the end" in (await box.call("read", {"path": "a.txt", "offset": 9}))["error"]


async def test_read_refuses_what_is_not_a_text_file(box: Sandbox) -> None:
    await box.call("put", {"files": {"x.bin": b"a\0b", "pic.PNG": b"\x89PNG\0", "empty.txt": b""}})
    assert (await box.call("read", {"path": "nope.txt"}))["error"] == "no such file: nope.txt"
    assert "directory" in (await box.call("read", {"path": "data"}))["error"]
    assert "not a text file" in (await box.call("read", {"path": "x.bin"}))["error"]
    assert "not a regular file" in (await box.call("read", {"path": "/dev/null"}))["error"]
    assert "vision is not available" in (await box.call("read", {"path": "pic.PNG"}))["text"]
    assert (await box.call("read", {"path": "empty.txt"}))["text"] == "[the file is empty]"


async def test_long_files_are_cut_with_a_mark(box: Sandbox) -> None:
    await box.call("put", {"files": {"long.txt": b"x" * 5000 + b"\n" + b"line\n" * 9000}})
    reply = await box.call("read", {"path": "long.txt"})
    assert reply["truncated"]
    assert reply["lines"] == 9001
    assert len(reply["text"]) < 35_000
    assert "[... 3000 more characters]" in reply["text"]


async def test_changes_need_the_content_that_was_read(box: Sandbox) -> None:
    edit = {"path": "a.txt", "old": "beta", "new": "BETA"}
    assert "has not been read" in (await box.call("edit", edit))["error"]
    assert "has not been read" in (await box.call("write", {"path": "a.txt", "content": "new\n"}))["error"]
    await box.call("read", {"path": "a.txt", "limit": 1})  # the fingerprint covers what this read did not show
    await bash(box, "echo delta >> a.txt")
    assert "changed since it was read" in (await box.call("edit", edit))["error"]
    assert "changed since it was read" in (await box.call("write", {"path": "a.txt", "content": "new\n"}))["error"]
    await box.call("read", {"path": "a.txt"})
    assert await box.call("edit", edit) == {"replaced": 1}
    assert await box.call("edit", edit | {"old": "BETA", "new": "b"}) == {
        "replaced": 1
    }  # its own change does not trip it
    assert (await box.call("write", {"path": "a.txt", "content": "new\n"})) == {"lines": 1, "created": False}


async def test_edit_needs_one_match_unless_all_are_meant(box: Sandbox) -> None:
    await box.call("write", {"path": "n.txt", "content": "x y x"})
    assert "not found" in (await box.call("edit", {"path": "n.txt", "old": "z", "new": ""}))["error"]
    assert "matches 2 places" in (await box.call("edit", {"path": "n.txt", "old": "x", "new": "w"}))["error"]
    assert "empty" in (await box.call("edit", {"path": "n.txt", "old": "", "new": "w"}))["error"]
    assert "the same" in (await box.call("edit", {"path": "n.txt", "old": "y", "new": "y"}))["error"]
    assert await box.call("edit", {"path": "n.txt", "old": "x", "new": "w", "all": True}) == {"replaced": 2}
    assert (await box.call("get", {"paths": ["n.txt", "absent"]}))["files"] == {"n.txt": b"w y w"}


async def test_write_creates_directories_and_counts_lines(box: Sandbox) -> None:
    assert await box.call("write", {"path": "out/deep/r.txt", "content": "a\nb"}) == {"lines": 2, "created": True}
    assert (await box.call("stat", {"path": "out/deep/r.txt"}))["kind"] == "file"
    assert "error" in await box.call("write", {"path": "a.txt/r.txt", "content": ""})
    assert "error" in await box.call("write", {"path": "data", "content": ""})
    assert "not a path" in (await box.call("write", {"path": "", "content": ""}))["error"]


async def test_grep_gives_places_in_path_order_and_bounds_itself(box: Sandbox) -> None:
    assert (await box.call("grep", {"pattern": "a$"}))["text"] == "a.txt:1:alpha\na.txt:2:beta\na.txt:3:gamma"
    assert (await box.call("grep", {"pattern": "key", "path": "data"}))["text"] == "data/b.txt:1:key: 1"
    assert (await box.call("grep", {"pattern": "t", "glob": "*.md"}))["text"] == "data/c.md:1:# title"
    assert (await box.call("grep", {"pattern": "zzz"}))["text"] == "no matches"
    assert "not a regular expression" in (await box.call("grep", {"pattern": "(["}))["error"]
    assert "no such path" in (await box.call("grep", {"pattern": "x", "path": "gone"}))["error"]
    await box.call("put", {"files": {"many.txt": b"hit\n" * 10_000}})
    many = await box.call("grep", {"pattern": "hit"})
    assert many["truncated"]
    assert many["matches"] == 100
    assert many["text"].endswith("[truncated: more than 100 matches]")


async def test_glob_gives_sorted_paths_and_bounds_itself(box: Sandbox) -> None:
    assert (await box.call("glob", {"pattern": "**/*.txt"}))["text"] == "a.txt\ndata/b.txt"
    assert (await box.call("glob", {"pattern": "*.txt"}))["text"] == "a.txt"
    assert (await box.call("glob", {"pattern": "[a-c].*", "path": "data"}))["text"] == "data/b.txt\ndata/c.md"
    assert (await box.call("glob", {"pattern": "/workspace/data/?.md"}))["text"] == "data/c.md"
    await box.call("put", {"files": {f"many/{i:04}.csv": b"" for i in range(300)}})
    many = await box.call("glob", {"pattern": "**/*.csv"})
    assert many["truncated"]
    assert many["matches"] == 200


async def test_each_command_has_a_fresh_shell(box: Sandbox) -> None:
    await bash(box, "cd data && export SEEN=1")
    assert (await bash(box, 'echo "$SEEN$(ls)"'))["output"] == "a.txt\ndata\n"
    assert (await bash(box, "exit 3"))["exit_code"] == 3
    assert (await bash(box, "kill -9 $$"))["exit_code"] == 137
    inside = await box.call("exec", {"command": "cat b.txt", "cwd": "data", "timeout_seconds": 5})
    assert inside["output"] == "key: 1\n"


async def test_a_background_child_does_not_hold_a_command(box: Sandbox) -> None:
    reply = await bash(box, "sleep 60 & echo started")
    assert reply["output"] == "started\n"
    assert not reply["timed_out"]


async def test_a_timeout_kills_the_whole_tree(box: Sandbox) -> None:
    reply = await bash(box, "echo before; (setsid bash -c 'sleep 61.5 & wait' &) ; sleep 62.5", 0.5)
    assert (reply["output"], reply["exit_code"], reply["timed_out"]) == ("before\n", 124, True)
    assert (await bash(box, "pgrep -f 'sleep 6[12][.]5' || echo none"))["output"] == "none\n"


async def test_endless_output_is_kept_at_both_ends(box: Sandbox) -> None:
    reply = await bash(box, "seq 1 100000; echo last")
    assert reply["truncated"]
    assert reply["output"].startswith("1\n2\n")
    assert reply["output"].endswith("last\n")
    assert "bytes left out" in reply["output"]
    assert len(reply["output"]) < 31_000


async def test_background_tasks_are_started_read_listed_and_stopped(box: Sandbox) -> None:
    assert (await box.call("task_start", {"command": "echo one; sleep 60"})) == {"task_id": "1"}
    assert (await box.call("task_start", {"command": "exit 4"})) == {"task_id": "2"}
    await bash(box, "sleep 0.2")
    assert (await box.call("task_output", {"task_id": "1"}))["output"] == "one\n"
    states = [row["state"] for row in (await box.call("task_list", {}))["tasks"]]
    assert states == ["running", "exited 4"]
    assert await box.call("task_stop", {"task_id": "1"}) == {"state": "stopped"}
    assert await box.call("task_stop", {"task_id": "2"}) == {"state": "exited 4"}
    assert "unknown task_id" in (await box.call("task_stop", {"task_id": "9"}))["error"]


async def test_nothing_runs_after_the_agent_was_killed(box: Sandbox) -> None:
    await box.call("task_start", {"command": "while true; do date > data/clock.txt; sleep 0.01; done"})
    await bash(box, "(setsid sleep 63.5 >/dev/null 2>&1 &)")
    await box.kill_agent()
    first = await box.call("get", {"paths": ["data/clock.txt"]})
    assert (await bash(box, "pgrep -f 'sleep 63[.]5' || echo none"))["output"] == "none\n"
    assert await box.call("get", {"paths": ["data/clock.txt"]}) == first


async def test_changes_are_collected_and_only_changes(box: Sandbox) -> None:
    await bash(box, "touch a.txt; rm data/b.txt; mkdir new; echo x > new/x.txt; cat data/c.md > c2; mv c2 data/c.md")
    change = await box.collect()
    assert change.written == {"new/x.txt": b"x\n"}
    assert change.deleted == ("data/b.txt",)


async def test_the_layers_below_stay_as_they_were(box: Sandbox, workspace: Any) -> None:
    await bash(box, "echo changed > a.txt; rm -rf data")
    assert (workspace / "a.txt").read_text() == "alpha\nbeta\ngamma\n"
    assert (workspace / "data" / "b.txt").exists()
    assert (await box.collect()).deleted == ("data/b.txt", "data/c.md")


async def test_fifty_files_are_one_round_trip(box: Any) -> None:
    before = box.channel.round_trips
    await box.call("put", {"files": {f"in/{i}.txt": b"x" * 1000 for i in range(50)}})
    assert box.channel.round_trips == before + 1


async def test_closing_twice_is_closing_once(box: Sandbox) -> None:
    await box.close()
    await box.close()
