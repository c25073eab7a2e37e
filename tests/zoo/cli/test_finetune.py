"""`zoo finetune`: from a folder of photos to a model of one's own."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from caffe_proto.files import read_net
from netdsl import Net
from netdsl.data.sources.shapes import ShapesSource
from netdsl.data.sources.source import DataSplit
from zoo.cards import read_card


def photos(folder: str, *classes: str, each: int = 12) -> None:
    source = ShapesSource(DataSplit.TRAIN, classes)
    for number in range(each * len(classes)):
        image, label = source.item(source.fetch(number))
        path = Path(folder, classes[int(label)], f"{number}.png")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(cv2.imencode(".png", image.transpose(1, 2, 0))[1]))


@pytest.mark.parametrize("workers", [[], ["--workers", "2"]], ids=["one", "two"])
def test_a_folder_of_photos_becomes_a_model(zoo, workers: list[str]) -> None:
    photos("photos", "ring", "cross", "flower")
    said = zoo("finetune", "shapes", "--data", "photos", "--epochs", "2", "--freeze", "conv*", *workers).out
    assert "3 classes: cross, flower, ring" in said
    assert "33 items to train on; 3 are held out" in said
    assert "'ip2' becomes 'ip2_photos'" in said
    assert "3 layers keep them: conv1, conv2, conv3" in said
    folder = Path("shapes_tuned")
    assert (folder / "labels.txt").read_text() == "cross\nflower\nring\n"
    card = read_card(folder / "README.md")
    assert card.results[0].data == "3 items that were held out"
    assert "zoo finetune shapes --data photos" in card.text
    before, after = Net("shapes").get_weights(), Net(folder).get_weights()
    assert np.array_equal(before["conv1"][0], after["conv1"][0])
    assert not np.array_equal(before["ip1"][0], after["ip1"][0])
    assert after["ip2_photos"][0].shape == (3, 64)
    assert len(list((folder / "run").glob("*_iter_*.caffemodel"))) == 1
    assert (folder / "model.onnx").is_file()
    outputs = zoo("verify", "shapes_tuned", str(folder / "model.onnx")).out
    assert "prob" in outputs


def test_a_model_of_ones_own_is_a_name_for_the_next(zoo) -> None:
    photos("photos", "ring", "cross")
    zoo("finetune", "shapes", "--data", "photos", "--epochs", "1", "-o", "first")
    done = json.loads(zoo("finetune", "first", "--data", "photos", "--epochs", "1", "-o", "second", "--json").out)
    assert 0 <= done["accuracy"] <= 1
    names = [layer.name for layer in read_net(Path("second/deploy.prototxt")).message.layer]
    assert "ip2_photos_photos" in names


def test_what_was_stopped_goes_on(zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    photos("photos", "ring", "cross")
    undisturbed = json.loads(zoo("finetune", "shapes", "--data", "photos", "--epochs", "3", "--json").out)
    from zoo.finetuning import fine_tune

    with monkeypatch.context() as patch:
        patch.setattr(fine_tune, "train", lambda *_, **__: None)  # as if it were killed before its first round
        said = zoo("finetune", "shapes", "--data", "photos", "--epochs", "3", "-o", "stopped")
    assert "`zoo finetune --resume stopped` goes on" in said.err
    resumed = json.loads(zoo("finetune", "--resume", "stopped", "--json").out)
    assert resumed["accuracy"] == undisturbed["accuracy"]
    weights, expected = Net("stopped").get_weights(), Net("shapes_tuned").get_weights()
    assert all(np.array_equal(*pair) for pair in zip(weights["ip2_photos"], expected["ip2_photos"], strict=True))


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["lenet", "--data", "photos"], "lenet: has no weights to begin with; --weights names a file that has"),
        (["shapes", "--data", "nothing"], "nothing: there is no such file or folder"),
        (["shapes", "--data", "photos", "--replace", "fc8:3"], "has no layer 'fc8' to replace"),
        (["shapes", "--data", "photos", "--freeze", "fc*"], "--freeze 'fc*': no layer of such a name has weights"),
        (["shapes", "--data", "photos", "-o", "photos"], "photos: has files already; --resume goes on with it"),
        (["shapes"], "Give a MODEL and --data, or --resume FOLDER."),
        (["--resume", "nothing"], "nothing/finetune.json: can't be read"),
    ],
)
def test_what_is_wrong_is_told(zoo, words: list[str], problem: str) -> None:
    photos("photos", "ring", "cross", each=4)
    done = zoo("finetune", *words)
    assert done.code == 2
    assert problem in done.err
    assert not Path("shapes_tuned").exists()
