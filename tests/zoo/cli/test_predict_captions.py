"""`zoo data convert captions:` and what `zoo predict` writes about images."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from netdsl import Net
from netdsl.data.transforms.decode import opencv

NET = """
input: "data" input_shape { dim: 1 dim: 3 dim: 4 dim: 4 }
input: "cont" input_shape { dim: 1 dim: 1 }
input: "word" input_shape { dim: 1 dim: 1 }
layer { name: "fc" type: "InnerProduct" bottom: "data" top: "fc"
  inner_product_param { num_output: 5 weight_filler { type: "gaussian" std: 0.01 } } }
layer { name: "vectors" type: "Embed" bottom: "word" top: "vectors"
  embed_param { input_dim: 4 num_output: 6 weight_filler { type: "gaussian" std: 1 } } }
layer { name: "lstm" type: "LSTM" bottom: "vectors" bottom: "cont" bottom: "fc" top: "lstm"
  recurrent_param { num_output: 7 weight_filler { type: "gaussian" std: 1 } } }
layer { name: "scores" type: "InnerProduct" bottom: "lstm" top: "scores"
  inner_product_param { num_output: 4 axis: 2 weight_filler { type: "gaussian" std: 1 } } }
layer { name: "prob" type: "Softmax" bottom: "scores" top: "prob" softmax_param { axis: 2 } }
"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The weights of a net that has learned nothing, its words, and three images, one of which is broken."""
    monkeypatch.chdir(tmp_path)
    Path("net.prototxt").write_text(NET)
    net, random = Net("net.prototxt"), np.random.default_rng(4)
    for arrays in (weights := net.get_weights()).values():
        for array in arrays:
            array[...] = random.normal(0, 0.4, array.shape)
    net.set_weights(weights)
    net.save("net.caffemodel")
    Path("labels.txt").write_text("<unk>\na\ndog\n")  # as LRCN writes them, without the end
    Path("images").mkdir()
    for name in "ab":
        opencv().imwrite(f"images/{name}.png", random.integers(0, 255, (8, 6, 3), np.uint8))
    Path("images/c.png").write_text("broken")
    return "net.caffemodel"


def test_captions_are_answers_like_others(zoo, model: str) -> None:
    words = ["predict", model, "images", "--length", "6"]
    done = zoo(*words, "--json")
    assert done.code == 1 and "images/c.png" in done.err
    answers = [json.loads(line) for line in done.out.splitlines()]
    assert [answer["image"] for answer in answers] == ["images/a.png", "images/b.png"]
    for answer in answers:
        (caption,) = answer["captions"]
        assert 0 < caption["score"] <= 1 and caption["ended"] != caption["caption"].endswith(" ...")
        assert len(caption["caption"].removesuffix(" ...").split()) <= 6
    beams = [json.loads(line)["captions"] for line in zoo(*words, "--json", "--beam", "3").out.splitlines()]
    assert all(len(captions) == 3 for captions in beams)
    assert all(captions[0]["score"] >= captions[1]["score"] >= captions[2]["score"] for captions in beams)
    rows = zoo(*words, "--csv", "--beam", "3", "--top", "2").out.splitlines()
    assert rows[0] == "image,rank,caption,score,error" and len(rows) == 1 + 2 * 2 + 1 - 1
    assert beams[0][0]["caption"] in zoo(*words, "--beam", "3").out


def test_chance_is_that_of_the_seed(zoo, model: str) -> None:
    words = ["predict", model, "images/a.png", "--temperature", "3"]
    texts = [zoo(*words, "--seed", str(seed)).out for seed in range(6)]
    assert zoo(*words).out == texts[0] and len(set(texts)) > 1


def test_what_is_wrong_is_said(zoo, model: str) -> None:
    image = "images/a.png"
    for options, problem in (
        ([image, "--beam", "2", "--temperature", "1"], "give one"),
        ([image, "--vocabulary", "none.txt"], "none.txt: can't be opened"),
        (["table.parquet", "-o", "out.parquet", "--beam", "2"], "--beam is for images"),
    ):
        done = zoo("predict", model, *options)
        assert done.code == 2 and problem in done.err
    Path("labels.txt").write_text("a\ndog\n")
    assert "tells 4 words apart, and the vocabulary has 3" in zoo("predict", model, image).err
    Path("labels.txt").unlink()
    assert "no labels.txt with its words lies beside it" in zoo("predict", model, image).err


def test_a_net_that_writes_nothing_takes_no_options_of_captions(zoo, model: str) -> None:
    text = NET[: NET.index('layer { name: "vectors"')].replace('input: "cont" input_shape { dim: 1 dim: 1 }', "")
    Path("plain.prototxt").write_text(text.replace('input: "word" input_shape { dim: 1 dim: 1 }', ""))
    done = zoo("predict", "plain.prototxt", "images/a.png", "--weights", model, "--seed", "3")
    assert done.code == 2 and "--seed is for texts and captions" in done.err


def test_a_net_that_takes_features_is_no_net_for_images(zoo, model: str) -> None:
    """LRCN's own net to use, whose images another net reads."""
    words = NET[NET.index('input: "cont"') : NET.index('layer { name: "fc"')].replace("dim: 1 dim: 1", "dim: 1 dim: 9")
    layers = NET[NET.index('layer { name: "vectors"') :]
    Path("words.prototxt").write_text(f'input: "fc" input_shape {{ dim: 9 dim: 5 }} {words} {layers}')
    done = zoo("predict", "words.prototxt", "images/a.png", "--weights", model)
    assert done.code == 2 and "words.prototxt: takes what another net makes of an image, 'fc'" in done.err


def test_captions_are_converted(zoo, model: str) -> None:
    images = [{"id": 1, "file_name": "a.png"}, {"id": 2, "file_name": "d.png"}]
    captions = [{"image_id": 1, "caption": "A dog"}, {"image_id": 1, "caption": "A big dog."}]
    Path("x.json").write_text(json.dumps({"images": images, "annotations": captions}))
    words = ["data", "convert", "captions:x.json?images=images&streams=3&steps=3&least=1", "out"]
    assert "images/d.png: isn't there" in zoo(*words).err
    done = zoo(*words, "--skip-bad", "--shuffle")
    assert (done.code, done.out) == (0, "2 captions written in 3 streams, 5 words in the vocabulary\n")
    assert done.err.splitlines() == [
        "zoo: skipped: images/d.png: isn't there",
        "zoo: 1 caption written twice or more, so that all streams are as long",
        "zoo: cut: 1 caption of more words than steps",
    ]
    assert zoo(*words[:3], "again", "--gray").code == 2
