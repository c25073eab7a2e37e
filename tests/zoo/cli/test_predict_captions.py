"""`zoo data convert captions:`, and the captions that `zoo predict` writes for images."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from netdsl import Net, WeightCollection
from netdsl.data.transforms.decode import opencv
from netdsl.scores.bleu import bleu

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
PROB = 'layer { name: "prob" type: "Softmax" bottom: "fc" top: "prob" }'


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write the weights of an untrained net, its words, and three images, one of which is broken."""
    monkeypatch.chdir(tmp_path)
    Path("net.prototxt").write_text(NET)
    net, random = Net("net.prototxt"), np.random.default_rng(4)
    for arrays in (weights := net.get_weights()).values():
        for array in arrays:
            array[...] = random.normal(0, 0.4, array.shape)
    net.set_weights(weights)
    net.save("net.caffemodel")
    Path("labels.txt").write_text("<unk>\na\ndog\n")  # as LRCN writes them, without the end marker
    Path("images").mkdir()
    for name in "ab":
        opencv().imwrite(f"images/{name}.png", random.integers(0, 255, (8, 6, 3), np.uint8))
    Path("images/c.png").write_text("broken")
    return "net.caffemodel"


def test_captions_are_printed_like_other_answers(zoo, model: str) -> None:
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


def test_sampling_depends_on_the_seed(zoo, model: str) -> None:
    words = ["predict", model, "images/a.png", "--temperature", "3"]
    texts = [zoo(*words, "--seed", str(seed)).out for seed in range(6)]
    assert zoo(*words).out == texts[0] and len(set(texts)) > 1


def test_problems_are_reported(zoo, model: str) -> None:
    image = "images/a.png"
    for options, problem in (
        ([image, "--beam", "2", "--temperature", "1"], "remove --beam"),
        ([image, "--vocabulary", "none.txt"], "none.txt: can't be opened"),
        (["table.parquet", "-o", "out.parquet", "--beam", "2"], "--beam is for images"),
    ):
        done = zoo("predict", model, *options)
        assert done.code == 2 and problem in done.err
    Path("labels.txt").write_text("a\ndog\n")
    assert "distinguishes 4 words, but the vocabulary has 3" in zoo("predict", model, image).err
    Path("labels.txt").unlink()
    assert "there is no labels.txt with its words next to it" in zoo("predict", model, image).err


def test_caption_options_are_refused_for_other_nets(zoo, model: str) -> None:
    text = NET[: NET.index('layer { name: "vectors"')].replace('input: "cont" input_shape { dim: 1 dim: 1 }', "")
    Path("plain.prototxt").write_text(text.replace('input: "word" input_shape { dim: 1 dim: 1 }', ""))
    done = zoo("predict", "plain.prototxt", "images/a.png", "--weights", model, "--seed", "3")
    assert done.code == 2 and "--seed is for texts and captions" in done.err


@pytest.fixture
def two_nets(model: str) -> tuple[str, ...]:
    """Write the net's two parts as LRCN's authors use them: a net that reads words, and one for images."""
    inputs = "".join(f'input: "{name}" input_shape {{ dim: 1 dim: 9 }}' for name in ("cont", "word"))
    layers = NET[NET.index('layer { name: "vectors"') :].replace('"fc"', '"features"')
    Path("words.prototxt").write_text(f'input: "features" input_shape {{ dim: 9 dim: 5 }} {inputs} {layers}')
    cut, middle = NET.index('input: "cont"'), NET.index('layer { name: "fc"')
    layers = NET[middle : NET.index('layer { name: "vectors"')] + PROB
    Path("image.prototxt").write_text(f'name: "image" {NET[:cut]} {layers}')
    return "predict", "words.prototxt", "images/a.png", "images/b.png", "--features-net", "image.prototxt"


@pytest.mark.parametrize("options", [(), ("--beam", "3"), ("--temperature", "2", "--seed", "5")])
def test_two_nets_write_the_captions_of_one_joined_net(zoo, two_nets, model: str, options: tuple[str, ...]) -> None:
    done = zoo(*two_nets, "--blob", "fc", "--weights", model, *options, "--json")
    assert done.code == 0 and done.out == zoo("predict", model, *two_nets[2:4], *options, "--json").out
    assert "4 of 4 layers filled" in done.err


def test_each_of_two_nets_may_have_its_own_weights(zoo, two_nets, model: str) -> None:
    weights = Net("net.prototxt", weights=model).get_weights()
    for name, layers in {"image": ("fc",), "words": ("vectors", "lstm", "scores")}.items():
        WeightCollection.of({layer: weights[layer] for layer in layers}).save(f"{name}.caffemodel")
    words = [*two_nets[:3], "--blob", "fc", "--json", "--beam", "3", "--vocabulary", "labels.txt", "--weights"]
    one = zoo("predict", model, "images/a.png", "--json", "--beam", "3").out
    assert zoo(*words, "words.caffemodel", "--weights", "image.caffemodel", *two_nets[4:]).out == one
    assert "the weights don't contain layer 'fc'" in zoo(*words, "words.caffemodel", *two_nets[4:]).err
    folder = Path("folder")
    folder.mkdir()
    Path("image.prototxt").rename(folder / "deploy.prototxt")
    Path("image.caffemodel").rename(folder / "weights.caffemodel")
    in_folder = "--features-net", "folder"
    assert zoo(*words, "words.caffemodel", *in_folder).out == one
    WeightCollection.of({"fc": [array + 1 for array in weights["fc"]]}).save(folder / "weights.caffemodel")
    assert zoo(*words, "words.caffemodel", *in_folder).out != one
    assert zoo(*words, model, *in_folder).out == one  # as in LRCN, where the image net was trained too


def test_the_feature_nets_card_decides_how_images_are_prepared(zoo, two_nets, model: str) -> None:
    folder = Path("folder")
    folder.mkdir()
    Path("image.prototxt").rename(folder / "deploy.prototxt")
    card = "---\nname: images\ninput: {size: [4, 4], channels: BGR, mean: [90, 100, 110]}\n---\n"
    (folder / "README.md").write_text(card)
    done = zoo(*two_nets[:3], "--features-net", "folder", "--blob", "fc", "--weights", model, "--json")
    assert done.code == 0 and "no card" not in done.err
    assert done.out != zoo("predict", model, "images/a.png", "--json").out


def test_options_that_do_not_fit_two_nets_are_refused(zoo, two_nets, model: str) -> None:
    with_weights = [*two_nets, "--weights", model]
    for options, problem in (
        (
            (),
            "words.prototxt: the net for words reads features 'features' of shape [5]; name the blob that "
            "contains them with --blob: net 'image' has 'fc', 'prob'",
        ),
        (
            ("--blob", "data"),
            "reads features of shape [5], but 'data' has shape [3, 4, 4]; choose another with --blob: net 'image'",
        ),
        (("--blob", "x"), "doesn't have the blob 'x'"),
        (("--blob", "fc", "--text", "a"), "--text doesn't allow INPUT"),
    ):
        done = zoo(*with_weights, *options)
        assert done.code == 2 and problem in done.err
    done = zoo("predict", "words.prototxt", "images/a.png", "--weights", model)
    assert (
        done.code == 2
        and "words.prototxt: the net reads features of an image, 'features', that another net computes; name"
        in done.err
    )
    done = zoo("predict", model, "images/a.png", "--blob", "fc")
    assert done.code == 2 and "writes captions, but --blob is for other answers" in done.err


def test_captions_are_scored_against_human_ones(zoo, model: str) -> None:
    Path("labels.txt").write_text("big\na\ndog\n")
    lines = zoo("predict", model, "images/a.png", "images/b.png", "--json").out.splitlines()
    first, second = (json.loads(line)["captions"][0]["caption"].removesuffix(" ...").split() for line in lines)
    images = [{"id": number, "file_name": f"{name}.png"} for number, name in enumerate("abc")]
    about = {0: [" ".join(first), "cat"], 1: [" ".join(second[:-1]), "dog dog dog"]}
    captions = [{"image_id": number, "caption": text} for number, texts in about.items() for text in texts]
    Path("x.json").write_text(json.dumps({"images": images, "annotations": captions}))
    data = "captions:x.json?images=images"
    done = zoo("test", model, "--data", data)
    assert done.code == 0 and f"tests on {data}: 2 items" in done.out
    found = json.loads(zoo("test", model, "--data", data, "--json").out)
    expected = bleu([first, second], [[words.split() for words in texts] for texts in about.values()])
    assert found["loss"] is None and list(found["outputs"].values()) == pytest.approx(expected)
    assert done.out.splitlines()[-4:] == [f"{name} {value:.6g}" for name, value in found["outputs"].items()]
    assert 0 < expected[0] <= 1
    assert "allows only the option images=FOLDER" in zoo("test", model, "--data", f"{data}&steps=3").err
    captions[0]["image_id"] = 2
    Path("x.json").write_text(json.dumps({"images": images, "annotations": captions}))
    assert "images/c.png" in zoo("test", model, "--data", data).err


def test_captions_are_converted(zoo, model: str) -> None:
    images = [{"id": 1, "file_name": "a.png"}, {"id": 2, "file_name": "d.png"}]
    captions = [{"image_id": 1, "caption": "A dog"}, {"image_id": 1, "caption": "A big dog."}]
    Path("x.json").write_text(json.dumps({"images": images, "annotations": captions}))
    words = ["data", "convert", "captions:x.json?images=images&streams=3&steps=3&least=1", "out"]
    assert "images/d.png: no such file" in zoo(*words).err
    done = zoo(*words, "--skip-bad", "--shuffle")
    assert (done.code, done.out) == (0, "2 captions written in 3 streams, 5 words in the vocabulary\n")
    assert done.err.splitlines() == [
        "zoo: skipped: images/d.png: no such file",
        "zoo: 1 caption written more than once, so that all streams have the same length",
        "zoo: cut: 1 caption with more words than steps",
    ]
    assert zoo(*words[:3], "again", "--gray").code == 2
