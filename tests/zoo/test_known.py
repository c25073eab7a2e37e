"""Published models whose cards netdsl knows by the hashes of their weights."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import zoo.known
from caffe_proto.storage import file_hash
from netdsl import ConvLayer, LinearLayer, NetParams, RDDLayer
from netdsl.errors import NetError
from netdsl.prediction.decoders.mtcnn import Mtcnn
from tests.small_mtcnn import write_mtcnn
from tests.zoo.models import write_folder
from zoo import catalogue
from zoo.answers.answer import AnswerSettings, Points
from zoo.answers.answerer import Answerer, AnswererRequest
from zoo.answers.cascade import CascadeAnswerer, open_answerer
from zoo.cards import Around, Card, Channels, Cut, ImageInput, Task, card_decoder, card_text
from zoo.known import known_card, known_cards
from zoo.names import card_of, classes_of_model, described_model
from zoo.store.pull import expected_weights

IMAGE = np.random.default_rng(0).integers(0, 256, (3, 9, 7), np.uint8)


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with net.prototxt and w.caffemodel, next to an empty folder `known` for known cards."""
    (tmp_path / "known").mkdir()
    monkeypatch.setattr(zoo.known, "_CARDS", tmp_path / "known")
    params = NetParams(
        "net",
        RDDLayer("data", shape=[1, 3, 4, 6]),
        LinearLayer("fc", ["data"], num_outputs=4, weight_filler={"type": "gaussian", "std": 1}),
    )
    write_folder(tmp_path / "made", params, None, Card("net"))
    folder = tmp_path / "published"
    folder.mkdir()
    shutil.copy(tmp_path / "made/deploy.prototxt", folder / "net.prototxt")
    shutil.copy(tmp_path / "made/weights.caffemodel", folder / "w.caffemodel")
    return folder


def make_known(weights: Path, name: str = "Famous", **facts) -> None:
    """Write a card into the folder of known cards."""
    size, digest = weights.stat().st_size, file_hash(weights) or ""
    card = Card(name, **{"caffemodel_size": size, "sha256": digest, **facts})
    (weights.parent.parent / "known" / f"{name}.md").write_text(card_text(card))
    zoo.known._card_of_file.cache_clear()


POINTS = {"input": ImageInput((4, 6), Channels.RGB, mean=(9.0,)), "output": {"decoder": "landmarks", "scale": 0.001}}


def answer_of(folder: Path, **request) -> tuple[object, list[str]]:
    said: list[str] = []
    answerer = Answerer(
        AnswererRequest(str(folder / "net.prototxt"), (str(folder / "w.caffemodel"),), **request),
        lambda event: said.append(str(getattr(event, "text", event))),
    )
    image = answerer.prepare(IMAGE, "image")
    return answerer.read(answerer.run([image]), 0, image, AnswerSettings()), said


def test_weights_with_a_known_hash_are_read_by_their_card(published: Path) -> None:
    unknown, _ = answer_of(published)
    make_known(published / "w.caffemodel", **POINTS)
    known, said = answer_of(published)
    assert not isinstance(unknown, Points) and isinstance(known, Points)
    assert any(
        "net.prototxt: read by netdsl's card of Famous, known by the hash of the weights" in text for text in said
    )
    (published / "net.card.md").write_text(card_text(Card("Mine", **POINTS)))
    own, _ = answer_of(published)
    assert np.array_equal(known.points, own.points)


UNKNOWN_CUT = "no card says how images are cut for this net"
FACE = Cut("face", detector="dlib")


@pytest.mark.parametrize(
    ("cut", "sentence"),
    [
        (None, UNKNOWN_CUT),
        (
            FACE,
            "one face, cut out along the box of dlib; another cut gives wrong answers; `zoo predict --detector",
        ),
        (Cut(around=Around.IMAGE), ""),
    ],
)
def test_answers_about_one_subject_say_how_it_must_be_cut_out(published: Path, cut: Cut | None, sentence: str) -> None:
    make_known(published / "w.caffemodel", **{**POINTS, "input": replace(POINTS["input"], cut=cut)})
    _, said = answer_of(published)
    sentences = [text for text in said if "cut" in text]
    assert len(sentences) == bool(sentence) and all(sentence in text for text in sentences)


def test_a_decoder_of_one_subject_without_a_card_says_that_the_cut_is_unknown(published: Path) -> None:
    _, said = answer_of(published, read_as="landmarks")
    assert f"net.prototxt: {UNKNOWN_CUT}" in "".join(said)
    _, said = answer_of(published, read_as="values")
    assert UNKNOWN_CUT not in "".join(said)


def test_a_users_own_card_and_flags_win(published: Path) -> None:
    make_known(published / "w.caffemodel", **POINTS)
    read, _ = answer_of(published, read_as="values")
    assert not isinstance(read, Points)
    (published / "net.card.md").write_text(card_text(Card("Mine", task=Task.RECONSTRUCTION)))
    own, said = answer_of(published)
    assert not isinstance(own, Points)
    assert not any("Famous" in text for text in said)


@pytest.mark.parametrize("text", ["# A net\n\nSee the paper.", "---\nname: Mine\nlicense: MIT\n---\n"])
def test_a_readme_without_these_facts_does_not_hide_the_known_card(published: Path, text: str) -> None:
    make_known(published / "w.caffemodel", **POINTS)
    (published / "net.prototxt").rename(published / "deploy.prototxt")
    (published / "README.md").write_text(text)
    for model in (published, published / "deploy.prototxt"):
        assert described_model(model, [str(published / "w.caffemodel")]).card.name == "Famous"


def test_only_files_of_a_known_size_are_hashed(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights, hashed = published / "w.caffemodel", list[Path]()
    make_known(weights, caffemodel_size=weights.stat().st_size + 1)

    def count(path: Path):
        hashed.append(path)
        return hash_file(path)

    hash_file = zoo.known.hash_file
    monkeypatch.setattr(zoo.known, "hash_file", count)
    assert known_card(weights) is None and not hashed
    make_known(weights)
    changed = weights.with_name("changed.caffemodel")
    changed.write_bytes(bytes([weights.read_bytes()[0] ^ 1]) + weights.read_bytes()[1:])
    assert known_card(changed) is None
    assert known_card(weights) is not None
    assert hashed == [changed, weights]
    assert known_card(published / "gone.caffemodel") is None


def test_a_card_without_a_size_is_found_by_the_name_and_the_hash(tmp_path: Path) -> None:
    (shapes,) = (file for file in catalogue.files_of("shapes") if file.suffix == ".caffemodel")
    copy = tmp_path / shapes.name
    shutil.copy(shapes, copy)
    assert known_card(copy) == catalogue.card_of("shapes")
    assert known_card(copy.rename(tmp_path / "other.caffemodel")) is None


def test_a_folder_without_a_card_is_known_by_its_weights(published: Path) -> None:
    folder = published.parent / "made"
    make_known(published / "w.caffemodel", classes=("a", "b", "c", "d"))
    (folder / "README.md").write_text(card_text(Card("net", task=Task.CLASSIFICATION)))
    assert described_model(folder).card.name == "net"
    (folder / "README.md").unlink()
    assert described_model(folder).card.name == "Famous"
    assert classes_of_model(str(published / "net.prototxt"), [str(published / "w.caffemodel")]) == ("a", "b", "c", "d")
    (published / "labels.txt").write_text("e\nf\ng\nh\n")
    assert classes_of_model(str(published / "net.prototxt"), [str(published / "w.caffemodel")]) == ("e", "f", "g", "h")


def test_the_card_of_a_file_is_shown(published: Path) -> None:
    make_known(published / "w.caffemodel")
    assert card_of(published / "w.caffemodel").name == "Famous"


def test_a_net_with_images_of_another_size_keeps_its_size(published: Path) -> None:
    make_known(published / "w.caffemodel", **{**POINTS, "input": ImageInput((8, 8), Channels.RGB, (9, 9), (9.0,))})
    other, said = answer_of(published)
    (published / "net.card.md").write_text(card_text(Card("Mine", **POINTS)))
    assert np.array_equal(other.points, answer_of(published)[0].points)
    assert "the net reads images of 4x6, so it doesn't get the size in the card" in said


def test_a_card_next_to_a_net_states_the_shape_of_its_images(published: Path) -> None:
    params = NetParams("conv", RDDLayer("data", shape=[1, 3, 8, 9]), ConvLayer("c", ["data"], kernel=3, num_filters=2))
    folder = write_folder(published / "conv", params, None, Card("net"))
    text = params.prototxt()
    layers = text[text.index("layer", text.index("layer") + 5) :]
    data = 'layer { name: "data" type: "Data" top: "data" data_param { source: "gone" batch_size: 1 } }\n'
    (published / "conv.prototxt").write_text(data + layers)
    (published / "conv.card.md").write_text(card_text(Card("conv", input=ImageInput((8, 9)))))
    answerer = Answerer(AnswererRequest(str(published / "conv.prototxt"), (str(folder / "weights.caffemodel"),)))
    assert answerer.data["data"].item == (3, 8, 9)


def test_a_net_of_a_cascade_stands_for_the_cascade(published: Path) -> None:
    folder = write_mtcnn(published)
    make_known(folder / "det2.caffemodel", output={"decoder": "mtcnn", "smallest_face": "33"})
    request = AnswererRequest(str(folder / "det2.prototxt"), (str(folder / "det2.caffemodel"),))
    said: list[str] = []
    cascade = open_answerer(request, lambda event: said.append(str(event)))
    assert isinstance(cascade, CascadeAnswerer)
    assert cascade._settings.smallest_face == 33
    (sentence,) = said
    assert "known by the hash of the weights; all its nets answer" in sentence
    (folder / "det3.prototxt").unlink()
    with pytest.raises(NetError, match=r"det2.prototxt: the net is a part of a cascade; put its nets and weights into"):
        open_answerer(request)


@pytest.mark.parametrize("name", known_cards())
def test_a_known_card_has_the_facts_that_find_it(name: str) -> None:
    card = known_cards()[name]
    assert card.caffemodel_url.startswith("https://") and card.caffemodel_url.endswith(card.caffemodel)
    assert card.task is not None and card.summary.endswith(".") and card.caffemodel_size
    assert len(expected_weights(card).sha256) == 64
    assert card.input is not None or card.output == {"decoder": Mtcnn.name}
    assert card.input is None or not isinstance(card.input.mean, str)  # no other files belong to known cards
    assert not card.labels
    if card.output and card.output["decoder"] != Mtcnn.name and card_decoder(card, name).one_subject:
        assert card.input is not None and card.input.cut is not None


def test_no_two_known_cards_are_about_the_same_weights() -> None:
    hashes = [card.sha256 for card in known_cards().values()]
    assert len(set(hashes)) == len(hashes) >= 18
