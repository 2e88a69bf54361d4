"""The recipe of the shipped policy: drills are consistent, text survives the tokenizer, the template only appends."""

import hashlib
import itertools
import json
import random
import re
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer

from journeyman.training.base_policy import corpus, drills, service_drills, train
from journeyman.training.base_policy import tokenizer as bpe
from journeyman.training.base_policy.__main__ import TEMPLATE
from journeyman.training.config import ForwardConfig
from journeyman.training.forward import make_forward


@pytest.fixture(scope="module")
def small() -> Tokenizer:
    """A tokenizer trained on few drills."""
    return train.build_tokenizer(corpus.compile_template(TEMPLATE.read_text()), seed=0, conversations=300)


def rendered(count: int, seed: int = 0) -> list[str]:
    template = corpus.compile_template(TEMPLATE.read_text())
    stream = corpus.scenes(random.Random(seed))
    return [corpus.render(template, s.messages, s.tools()) for s in itertools.islice(stream, count)]


@pytest.mark.parametrize("kind", [kind for kind, _ in corpus.MIX])
def test_what_a_drill_writes_was_shown_before(kind) -> None:
    for seed in range(40):
        scene = kind(random.Random(seed))
        seen = ""
        for message in scene.messages:
            for call in message.get("tool_calls", ()):
                if call["name"] == "write":
                    for line in call["arguments"]["content"].splitlines():
                        value = line.partition(": ")[2]
                        assert value in seen, (kind.__name__, seed, line)
            seen += message["content"]
            seen = seen.replace('\\"', '"')


@pytest.mark.parametrize("seed", [111, 1316, 1899])
def test_a_field_is_not_named_as_the_id_beside_it(seed) -> None:
    scene = service_drills.one_by_one(random.Random(seed))  # seeds at which both were drawn alike
    calls = [call for message in scene.messages for call in message.get("tool_calls", ())]
    assert all(len(call["arguments"]) == len(scene.services.get(call["name"], call["arguments"])) for call in calls)


def test_the_shipped_weights_are_of_this_recipe() -> None:
    shipped = TEMPLATE.parent
    made_by = json.loads((shipped / train.MADE_BY).read_text())
    weights = hashlib.sha256((shipped / "model.safetensors").read_bytes()).hexdigest()
    ours = train.origin(TEMPLATE.read_text(), 0, train.Recipe())
    assert made_by == {**ours, "weights_sha256": weights}, "run `make policy` and ship what it writes"


def test_drills_are_the_seeds() -> None:
    assert rendered(20, seed=5) == rendered(20, seed=5)
    assert rendered(20, seed=5) != rendered(20, seed=6)


def test_text_survives_the_tokenizer(small: Tokenizer) -> None:
    hard = 'Zürich 東京 \U0001f600 \t\n\n  tabs\tand {"json": [1, 2.50, "a\\nb"]} <b> O\'Neil 1,234.5% -- _x__y'
    for text in [*rendered(30, seed=9), hard]:
        ids = small.encode(text, add_special_tokens=False).ids
        assert small.decode(ids, skip_special_tokens=False) == text


def test_a_value_is_the_same_tokens_wherever_it_stands(small: Tokenizer) -> None:
    for value in ("Norvane", "PO-4471", "2,315.5", "D7"):
        alone = small.encode(value, add_special_tokens=False).ids
        for frame in ("the {}", '{{"dock": "{}"}}', "key: {}", "1\t{}", "({})"):
            ids = small.encode(frame.format(value), add_special_tokens=False).ids
            assert any(ids[i : i + len(alone)] == alone for i in range(len(ids))), (value, frame)


def test_digits_stand_alone(small: Tokenizer) -> None:
    for token in small.get_vocab():
        spelled = small.decode([small.token_to_id(token)], skip_special_tokens=False)
        if not re.fullmatch(r"\n?\d+\t", spelled):
            assert not re.search(r"\d\d", spelled), spelled


def test_the_template_only_appends() -> None:
    template = corpus.compile_template(TEMPLATE.read_text())
    for scene in itertools.islice(corpus.scenes(random.Random(2)), 40):
        tools = scene.tools()
        before = ""
        for n in range(1, len(scene.messages) + 1):
            text = corpus.render(template, scene.messages[:n], tools)
            assert text.startswith(before)
            before = text


def test_only_assistant_turns_are_trained(small: Tokenizer) -> None:
    text = rendered(1, seed=3)[0]
    row = corpus.tokenise(small, text)
    trained = small.decode([i for i, m in zip(row.ids, row.mask, strict=True) if m], skip_special_tokens=False)
    turns = re.findall(r"<\|assistant\|>(.*?<\|end\|>)", text, re.S)
    assert trained == "".join(turns)


def test_the_first_weights_copy(small: Tokenizer) -> None:
    model = train.build_model(small, seed=0)
    generator = torch.Generator().manual_seed(0)
    segment = torch.randint(len(bpe.SPECIAL), small.get_vocab_size(), (8, 24), generator=generator)
    ids = torch.cat([segment, segment], 1)
    with torch.no_grad():
        guess = model(input_ids=ids).logits.argmax(-1)
    right = (guess[:, 25:-1] == ids[:, 26:]).float().mean()
    assert right > 0.3  # an untrained Llama: one in a thousand


def _loss(model: torch.nn.Module, batch: list[train.TrainRow]) -> float:
    session = make_forward(model, ForwardConfig(kind="lean", micro_tokens=1 << 20)).open(batch)
    with torch.no_grad():
        total = sum(float(session.score(indexes).logp.sum()) for indexes in session.micro_batches())
    return -total / sum(len(row.targets) for row in batch)


def test_training_lowers_the_loss_and_saves_a_model(small: Tokenizer, tmp_path: Path) -> None:
    template = corpus.compile_template(TEMPLATE.read_text())
    model = train.build_model(small, seed=0)
    unseen = train.batch(train.rows(small, template, 99), train.copies(random.Random(3), 300), 0.0, 4000)
    before = _loss(model, unseen)
    recipe = train.Recipe(steps=12, batch_tokens=2000, warmup=1, fade=1, muon_lr=0.002, adamw_lr=6e-4)
    train.train(model, train.rows(small, template, 1), train.copies(random.Random(2), small.get_vocab_size()), recipe)
    assert _loss(model, unseen) < before
    train.save(model, small, TEMPLATE.read_text(), {}, tmp_path)
    written = {path.name for path in tmp_path.iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "chat_template.jinja"} <= written


def test_drills_do_not_mention_the_tasks() -> None:
    source = Path(drills.__file__).read_text() + Path(service_drills.__file__).read_text()
    for word in ("approved", "withdrawn", "superseded", "counsel", "covenant", "cutoff", "reserve_dock", "wms"):
        assert word not in source
