"""`zoo finetune`: from a folder of photos to a user's own model."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import read_net
from netdsl import Net
from netdsl.data.sources.shapes import ShapesSource
from netdsl.data.sources.source import DataSplit
from netdsl.data.writing.mean_image import write_mean
from netdsl.distributed.run_log import EVENTS, read_moments
from tests.zoo.models import convolutional
from zoo.card_input import transform_of
from zoo.cards import Card, Channels, ImageInput, card_text, read_card


def photos(folder: str, *classes: str, each: int = 12, awkward: bool = False) -> None:
    source = ShapesSource(DataSplit.TRAIN, classes)
    for number in range(each * len(classes)):
        image, label = source.item(source.fetch(number))
        pixels = image.transpose(1, 2, 0)
        if awkward:  # like photos: any size and proportions, and some are gray
            height, width = np.random.default_rng(number).integers(9, 70, 2).tolist()
            pixels = cv2.resize(pixels, (width, height))[..., : 1 if number % 5 == 0 else 3]
        path = Path(folder, classes[int(label)], f"{number}.png")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(cv2.imencode(".png", pixels)[1]))


@pytest.mark.parametrize("workers", [[], ["--workers", "2"]], ids=["one", "two"])
def test_a_folder_of_photos_becomes_a_model(zoo, workers: list[str]) -> None:
    photos("photos", "ring", "cross", "flower")
    said = zoo("finetune", "shapes", "--data", "photos", "--epochs", "5", "--freeze", "conv*", *workers).out
    assert "3 classes: cross, flower, ring" in said
    assert "33 items to train on; 3 are held out" in said
    assert "'ip2' becomes 'ip2_photos'" in said
    assert "3 layers keep their weights: conv1, conv2, conv3" in said
    folder = Path("shapes_tuned")
    assert (folder / "labels.txt").read_text() == "cross\nflower\nring\n"
    card = read_card(folder / "README.md")
    assert card.results[0].data == "3 held-out items"
    assert "zoo finetune shapes --data photos" in card.text
    before, after = Net("shapes").get_weights(), Net(folder).get_weights()
    assert np.array_equal(before["conv1"][0], after["conv1"][0])
    assert not np.array_equal(before["ip1"][0], after["ip1"][0])
    assert after["ip2_photos"][0].shape == (3, 64)
    assert len(list((folder / "run").glob("*_iter_*.caffemodel"))) == 1
    assert (folder / "model.onnx").is_file()
    outputs = zoo("verify", "shapes_tuned", str(folder / "model.onnx")).out
    assert "prob" in outputs


def iterations_of_tests(folder: str) -> list[int]:
    """Return the iterations with tests."""
    return [moment.iteration for moment in read_moments(Path(folder, "run", EVENTS)) if moment.tested]


@pytest.mark.parametrize(
    ("strategy", "iterations"),
    [  # 33 items in batches of 4 are eight and a quarter iterations, or half of that with two workers
        ("allreduce", [9, 17, 25]),
        ("averaging:tau=50", [5, 9, 13]),
        pytest.param("elastic:tau=50", [5, 9, 13], marks=pytest.mark.slow),
        pytest.param("elastic-sync:tau=50", [5, 9, 13], marks=pytest.mark.slow),
        pytest.param("mpca:tau=50", [5, 9, 13], marks=pytest.mark.slow),
        pytest.param("outer:tau=50", [5, 9, 13], marks=pytest.mark.slow),
        pytest.param("averaging:seconds=0.1", [5, 9, 13], marks=pytest.mark.slow),
    ],
)
def test_every_strategy_tests_after_each_epoch(zoo, strategy: str, iterations: list[int]) -> None:
    photos("photos", "ring", "cross", "flower")
    words = ("--epochs", "3", "--batch", "4", "--workers", "2", "--strategy", strategy)
    zoo("finetune", "shapes", "--data", "photos", *words)
    assert iterations_of_tests("shapes_tuned") == [0, *iterations]


def test_training_ends_when_tests_do_not_get_better(zoo) -> None:
    photos("photos", "ring", "cross")
    words = ("--epochs", "60", "--patience", "2", "--base-lr", "1e-9", "--workers", "2", "--strategy", "averaging")
    zoo("finetune", "shapes", "--data", "photos", *words)
    assert 3 <= len(iterations_of_tests("shapes_tuned")) < 60
    for report in (None, ("report", "shapes_tuned/run", "-o", "shapes_tuned/report.html")):
        assert report is None or zoo(*report).code == 0
        page = Path("shapes_tuned/report.html").read_text()
        assert "isn't finished" not in page and "ended early, since tests no longer improved" in page


def test_the_page_of_a_fine_tuning_shows_its_purpose_its_beginning_and_baselines(zoo) -> None:
    photos("photos", "ring", "cross")
    done = zoo("finetune", "shapes", "--data", "photos", "--epochs", "1", "--base-lr", "1e-9", "--held-out", "0.5")
    lines = done.out.splitlines()
    assert any(
        re.fullmatch(r"\d+% of 12 items: between \d+% and \d+% \(95% interval of the accuracy\)", x) for x in lines
    )
    assert "baseline 50.0%: the most frequent class, 'cross', for all items" in lines
    assert "of 12 items: between" in read_card("shapes_tuned/README.md").text
    page = Path("shapes_tuned/report.html").read_text()
    assert "<h1>photos: cross, ring</h1>" in page and "The training began with shapes and its own weights." in page
    assert '<tr><th scope="row">a linear model of 8 x 8 pixels</th>' in page
    assert re.search(r'alt="ring/\d+.png, which is ring and was predicted as cross"', page)
    assert "Distance of workers" not in page


def test_epochs_that_cannot_be_guaranteed_are_refused(zoo) -> None:
    photos("photos", "ring", "cross")
    words = ("finetune", "shapes", "--data", "photos")
    code, _, err = zoo(*words, "--workers", "1:2")
    assert code == 2 and "epochs can't be counted; give one number of workers, as in --workers 2" in err
    code, _, err = zoo(*words, "--workers", "2", "--strategy", "averaging:warmup=3")
    assert code == 2 and "leave warmup out" in err
    code, _, err = zoo(*words, "--workers", "2", "--strategy", "allreduce", "--batch", "5")
    assert code == 2 and "give --batch 6, or another strategy" in err
    assert not Path("shapes_tuned").exists()


def counted_accuracy(zoo, model: str, data: str) -> float:
    """Return the share of items that `zoo predict` classifies correctly. An item's name contains its label."""
    answers = [json.loads(line) for line in zoo("predict", model, data, "--json", "--top", "1").out.splitlines()]
    names = Path(model, "labels.txt").read_text().split()
    return sum(f"{names[each['classes'][0]['label']]}/" in each["image"] for each in answers) / len(answers)


@pytest.mark.parametrize(
    ("channels", "mean"),
    [(Channels.BGR, "mean.binaryproto"), (Channels.RGB, "mean.binaryproto"), (Channels.RGB, (99.0, 110.0, 140.0))],
)
def test_the_accuracy_equals_that_of_predictions(zoo, channels: Channels, mean: str | tuple[float, ...]) -> None:
    photos("photos", "ring", "cross", each=106, awkward=True)
    convolutional(Path("filters"), channels, mean)
    write_mean(np.random.default_rng(1).uniform(60, 200, (3, 13, 12)).astype(np.float32), "filters/mean.binaryproto")
    words = ("--epochs", "3", "--held-out", "0.5", "--base-lr", "0.003", "--json", "-o", "tuned")
    done = json.loads(zoo("finetune", "filters", "--data", "photos", *words).out)
    card = read_card("tuned/README.md")
    assert card.input is not None and card.input.channels is Channels.BGR
    assert ("The channels of its first convolution are swapped" in card.text) == (channels is Channels.RGB)
    layers = read_net(Path("tuned/train_val.prototxt")).message.layer
    tested = next(layer for layer in layers if layer.include and layer.include[0].phase == pb.TEST)
    assert transform_of(card.input, Path("tuned").resolve()) == tested.transform_param
    assert 0 < done["accuracy"] < 1
    held_out = "folder:photos?items=tuned/run/test_items.txt"
    assert counted_accuracy(zoo, "tuned", held_out) == pytest.approx(done["accuracy"], abs=1e-6)
    shutil.move("tuned", "moved")  # with its mean, which the card names
    assert "classes" in zoo("predict", "moved", "photos/ring/0.png", "--json").out


def test_a_net_for_standardized_images_is_tuned_with_them(zoo) -> None:
    photos("photos", "ring", "cross", each=40)
    net = convolutional(Path("filters"), Channels.BGR, ())
    image = ImageInput((10, 8), standardized=True)
    (net / "README.md").unlink()
    (net / "deploy.card.md").write_text(card_text(Card("filters", input=image)))
    words = ("--weights", "filters/weights.caffemodel", "--epochs", "1", "--held-out", "0.5", "--json", "-o", "tuned")
    done = json.loads(zoo("finetune", "filters/deploy.prototxt", "--data", "photos", *words).out)
    layers = read_net(Path("tuned/deploy.prototxt")).message.layer
    assert [layer.type for layer in layers[:3]] == ["Input", "MVN", "Convolution"]
    assert read_card("tuned/README.md").input == ImageInput((10, 8))  # the net itself standardizes its input
    held_out = "folder:photos?items=tuned/run/test_items.txt"
    assert counted_accuracy(zoo, "tuned", held_out) == pytest.approx(done["accuracy"], abs=1e-6)


def test_a_users_own_model_can_be_fine_tuned_by_name(zoo) -> None:
    photos("photos", "ring", "cross")
    zoo("finetune", "shapes", "--data", "photos", "--epochs", "1", "-o", "first")
    done = json.loads(zoo("finetune", "first", "--data", "photos", "--epochs", "1", "-o", "second", "--json").out)
    assert 0 <= done["accuracy"] <= 1
    names = [layer.name for layer in read_net(Path("second/deploy.prototxt")).message.layer]
    assert "ip2_photos_photos" in names


def test_a_model_without_a_card_is_tested_with_its_data_layers_settings(zoo) -> None:
    photos("photos", "ring", "cross", each=16)
    zoo("import", "shapes", "-o", "cropped")
    Path("cropped/README.md").unlink()
    Path("cropped/shapes.caffemodel").rename("cropped/own.caffemodel")  # netdsl knows the card of the original file
    net = Path("cropped/train_val.prototxt")
    net.write_text(re.sub(r"resize_param \{.*?\}", "", net.read_text(), flags=re.DOTALL))
    words = ("--epochs", "1", "--held-out", "0.5", "--json", "--test-data", "photos", "-o", "tuned")
    done = json.loads(zoo("finetune", "cropped", "--data", "photos", *words).out)
    assert read_card("tuned/README.md").input is None  # a card can't express that images keep their sizes
    assert "cropped to 40x40 in their own size" in zoo("predict", "tuned", "photos").err
    assert counted_accuracy(zoo, "tuned", "folder:photos") == pytest.approx(done["accuracy"], abs=1e-6)


def test_a_stopped_run_resumes(zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    photos("photos", "ring", "cross")
    undisturbed = json.loads(zoo("finetune", "shapes", "--data", "photos", "--epochs", "3", "--json").out)
    with monkeypatch.context() as patch:
        patch.setattr("zoo.finetuning.tune.train", lambda *_, **__: None)  # as if a kill came before the first round
        said = zoo("finetune", "shapes", "--data", "photos", "--epochs", "3", "-o", "stopped")
    assert "continue with `zoo finetune --resume stopped`" in said.err
    resumed = json.loads(zoo("finetune", "--resume", "stopped", "--json").out)
    assert resumed["accuracy"] == undisturbed["accuracy"]
    weights, expected = Net("stopped").get_weights(), Net("shapes_tuned").get_weights()
    assert all(np.array_equal(*pair) for pair in zip(weights["ip2_photos"], expected["ip2_photos"], strict=True))


def test_every_fold_is_tested_by_a_model_of_the_other_folds(zoo) -> None:
    photos("photos", "ring", "cross", each=20)
    settings = ("--epochs", "1", "--base-lr", "0.001")
    done = json.loads(zoo("finetune", "shapes", "--data", "photos", "--folds", "2", *settings, "--json").out)
    measured = done["measured"]
    assert (measured["items"], len(measured["folds"])) == (40, 2)
    items = "folder:photos?items=shapes_tuned/folds/fold_2_{}_items.txt"
    zoo("finetune", "shapes", "--data", items.format("train"), *settings, "-o", "fold")
    assert counted_accuracy(zoo, "fold", items.format("test")) == pytest.approx(measured["folds"][1], abs=1e-6)
    assert done["accuracy"] == measured["accuracy"] == pytest.approx(sum(measured["folds"]) / 2, abs=1e-6)
    card, page = read_card("shapes_tuned/README.md"), Path("shapes_tuned/report.html").read_text()
    assert card.results[0].data == "40 items, 2-fold cross-validation"
    assert card.results[0].value == f"{done['accuracy']:.2%}"
    sentence = re.search(r"Cross-validation: [\d.]+% of 40 items, 2 folds, between [\d.]+% and [\d.]+%", card.text)
    assert sentence is not None and sentence[0] in page
    assert "these numbers belong to the way of training" in card.text and "the way of training" in page
    assert zoo("report", "shapes_tuned/run", "-o", "again.html").code == 0
    assert sentence[0] in Path("again.html").read_text()
    assert not [path for path in Path("shapes_tuned/folds").iterdir() if path.is_dir()]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (
            ["shapes", "--data", "photos", "--folds", "2", "--test-data", "photos"],
            "--folds tests on every item of --data, so other test data aren't used; remove --test-data",
        ),
        (["shapes", "--data", "photos", "--folds", "1"], "1 is not in the range x>=2"),
        (
            ["shapes", "--data", "photos", "--folds", "5"],
            "has 4 items, too few for 5 folds; give --folds 4",
        ),
        (
            ["--resume", "nothing", "--folds", "5"],
            "continues with the folds of the fine-tuning; remove --folds",
        ),
        (
            ["squeezenet-1.1", "--data", "photos"],
            "squeezenet-1.1: the model has no weights to begin with; `zoo pull squeezenet-1.1` downloads its published "
            "weights; or name a file with `zoo finetune squeezenet-1.1 --weights FILE`",
        ),
        (["shapes", "--data", "nothing"], "nothing: there is no such file or folder"),
        (["shapes", "--data", "photos", "--replace", "fc8:3"], "has no layer 'fc8' to replace"),
        (["shapes", "--data", "photos", "--freeze", "fc*"], "--freeze 'fc*': no layer with weights has such a name"),
        (
            ["shapes", "--data", "photos", "-o", "photos"],
            "photos: the folder isn't empty; continue its fine-tuning with --resume",
        ),
        (["shapes"], "Give a MODEL and --data, or --resume FOLDER."),
        (["--resume", "nothing"], "nothing/finetune.json: the file can't be read"),
    ],
)
def test_problems_are_reported(zoo, words: list[str], problem: str) -> None:
    photos("photos", "ring", "cross", each=4)
    done = zoo("finetune", *words)
    assert done.code == 2
    assert problem in done.err
    assert not Path("shapes_tuned").exists()
