"""`zoo predict` on images: files, folders, patterns, data sets, standard input; as text, JSON, CSV and pictures."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import cv2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from netdsl import ConvLayer, LinearLayer, Net, NetParams, RDDLayer
from netdsl.data.transforms.decode import image_limit
from netdsl.data.writing.sample_files import write_images, write_video
from tests.memory_storage import Put, stored
from tests.zoo.models import classifier, detector, photo, quarters, segmenter, write_folder
from zoo.cards import Card, ImageInput, Task

NAMES = ["ant", "bee", "cat", "dög"]


@pytest.fixture
def model(tmp_path) -> str:
    return str(classifier(tmp_path / "four"))


def lines(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def write(name: str, image: np.ndarray) -> str:
    assert cv2.imwrite(name, image)
    return name


def test_a_folder_is_answered_in_order_with_a_line_for_a_broken_image(zoo, model) -> None:
    for name in ("b.png", "a.jpg", "deep/er/c.png", ".hidden/d.png"):
        photo(Path("photos") / name, len(name))
    Path("photos/b2.png").write_bytes(b"no image")
    Path("photos/notes.txt").write_text("no image either")
    done = zoo("predict", model, "photos", "--json", "--batch", "2")
    assert done.code == 1
    answers = lines(done.out)
    assert [each["image"] for each in answers] == ["photos/a.jpg", "photos/b.png", "photos/deep/er/c.png"]
    for each in answers:
        assert (each["width"], each["height"]) == (24, 31)
        scores = [found["score"] for found in each["classes"]]
        assert sum(scores) == pytest.approx(1, abs=1e-5) and scores == sorted(scores, reverse=True)
        assert all(found["name"] == NAMES[found["label"]] for found in each["classes"])
    _, problem = done.err.splitlines()
    assert problem.startswith("zoo: photos/b2.png: can't be decoded as an image")
    alone = zoo("predict", model, "photos/b.png", "--json")
    assert alone.code == 0
    assert [each["label"] for each in lines(alone.out)[0]["classes"]] == [
        each["label"] for each in answers[1]["classes"]
    ]


def test_broken_images_are_errors_or_kept_on_request(zoo, model) -> None:
    files = [str(photo(Path("a.png"), 1)), "missing.png", str(photo(Path("b.png"), 2))]
    stopped = zoo("predict", model, *files, "--invalid", "error", "-o", "out.jsonl")
    assert stopped.code == 2 and "missing.png" in stopped.err and not Path("out.jsonl").exists()
    kept = zoo("predict", model, *files, "--invalid", "keep", "-o", "out.jsonl")
    assert kept.code == 1
    answers = lines(Path("out.jsonl").read_text())
    assert [each["image"] for each in answers] == files
    assert "missing.png" in answers[1]["error"] and "classes" not in answers[1]
    skipped = zoo("predict", model, *files, "-o", "out.csv")
    assert skipped.code == 1 and "missing.png" not in Path("out.csv").read_text()


def test_an_image_with_too_many_pixels_is_refused_before_it_is_decoded(zoo, model, monkeypatch) -> None:
    monkeypatch.setattr(image_limit(), "pixels", 500)
    monkeypatch.setattr(image_limit(), "_opencv_applies_it", False)
    done = zoo("predict", model, str(photo(Path("a.png"), 1)), str(photo(Path("b.png"), 2, 20, 20)), "--json")
    assert done.code == 1 and len(lines(done.out)) == 1
    assert "more than the limit of 500 for such files" in done.err


def test_csv_and_text_contain_the_same_as_json(zoo, model) -> None:
    files = [str(photo(Path(f"{seed}.png"), seed)) for seed in (1, 2)]
    plain = lines(zoo("predict", model, *files, "--json", "--top", "2").out)
    rows = list(csv.DictReader(io.StringIO(zoo("predict", model, *files, "--csv", "--top", "2").out)))
    assert [(row["image"], row["rank"], row["name"]) for row in rows] == [
        (each["image"], str(rank), found["name"]) for each in plain for rank, found in enumerate(each["classes"], 1)
    ]
    assert [float(row["score"]) for row in rows] == [found["score"] for each in plain for found in each["classes"]]
    text = zoo("predict", model, *files, "--top", "2").out.splitlines()
    assert text[0] == "1.png  24 x 31"
    assert text[1].split() == [f"{plain[0]['classes'][0]['score']:.4f}", plain[0]["classes"][0]["name"]]
    assert len(text) == 6


def test_without_names_classes_are_numbers_and_wrong_names_are_refused(zoo, model) -> None:
    file = str(photo(Path("a.png"), 1))
    labels = Path(model, "labels.txt")
    labels.write_text("ant\nbee\n")
    done = zoo("predict", model, file, "--json")
    assert "the net distinguishes 4 classes, but the labels next to it name 2; they aren't used" in done.err
    labels.unlink()
    again = zoo("predict", model, file, "--json")
    assert again.out == done.out and "tells" not in again.err
    assert all(found["name"] == str(found["label"]) for found in lines(done.out)[0]["classes"])


def test_standard_input_is_read_as_one_image(zoo, model) -> None:
    file = photo(Path("a.png"), 1)
    done = zoo("predict", model, "-", "--json", stdin=file.read_bytes())
    wanted = lines(zoo("predict", model, str(file), "--json").out)[0]
    assert (done.code, lines(done.out)[0]) == (0, wanted | {"image": "-"})
    empty = zoo("predict", model, "-")
    assert empty.code == 1 and "standard input: no data" in empty.err


def test_patterns_and_data_sets_name_images(zoo, model) -> None:
    for name in ("one/1.png", "two/2.png", "two/3.png"):
        photo(Path("photos") / name, int(name[-5]))
    wanted = {each["image"]: each["classes"] for each in lines(zoo("predict", model, "photos", "--json").out)}
    found = lines(zoo("predict", model, "photos/t*/*.png", "--json").out)
    assert [each["image"] for each in found] == ["photos/two/2.png", "photos/two/3.png"]
    assert zoo("data", "convert", "folder:photos", "photos.lmdb").code == 0
    rows = [Path(path).read_bytes() for path in wanted]
    pq.write_table(pa.table({"number": range(3), "photo": rows}), "photos.parquet")
    for name, more in (("lmdb:photos.lmdb", ()), ("photos.parquet", ("--column", "data=photo"))):
        answers = lines(zoo("predict", model, name, *more, "--json").out)
        assert len(answers) == 3
        for answer, classes in zip(answers, wanted.values(), strict=True):
            assert answer["image"].startswith(f"{name}:")
            assert [each["label"] for each in answer["classes"]] == [each["label"] for each in classes]


def test_every_frame_of_a_video_is_an_image(zoo, model, tmp_path) -> None:
    frames = np.random.default_rng(0).integers(0, 256, (3, 3, 30, 40), np.uint8)
    video = write_video(frames, tmp_path)
    answers = lines(zoo("predict", model, video, "--json").out)
    assert [answer.pop("image") for answer in answers] == [f"{video}:{number}" for number in range(3)]
    names = write_images(frames, tmp_path, "frame")
    alone = lines(zoo("predict", model, *(str(tmp_path / name) for name in names), "--json").out)
    assert [answer | {"image": alone[number]["image"]} for number, answer in enumerate(answers)] == alone


def test_a_users_own_net_decides_how_images_are_prepared(zoo, tmp_path) -> None:
    zoo("train", "lenet", "--max-iter", "1")
    file = write("three.png", np.full((9, 7), 50, np.uint8))
    done = zoo("predict", "lenet_iter_1.caffemodel", file, "--json")
    assert done.code == 0 and len(lines(done.out)[0]["classes"]) == 5
    assert "as in the net's data layer, they are gray with values from 0 to 255, resized to 32x32, cropped" in done.err
    assert zoo("import", "lenet", "-o", "my").code == 0
    Path("my/README.md").unlink()
    Path("my/train_val.prototxt").unlink()
    weights = "--weights", "lenet_iter_1.caffemodel"
    plain = zoo("predict", "my", *weights, file, "--json")
    assert "as in the data layer of the net in lenet_iter_1.caffemodel, they are gray" in plain.err
    assert "resized to 28x28" in plain.err and lines(plain.out)[0] == lines(done.out)[0]


def test_boxes_are_in_the_images_own_pixels_and_drawn_on_it(zoo, tmp_path, put: Put) -> None:
    model = str(detector(tmp_path / "quarters"))
    files = [write("one.png", quarters(20, 40)), write("none.png", np.zeros((6, 9, 3), np.uint8))]
    Path("again").mkdir()
    files.append(write("again/one.png", quarters(12, 16)))
    done = zoo("predict", model, *files, "--json", "--draw", "drawn")
    assert done.code == 0
    one, none, _ = lines(done.out)
    assert {box["name"]: [box[side] for side in ("left", "top", "right", "bottom")] for box in one["boxes"]} == {
        "red": pytest.approx([20, 0, 40, 10]),
        "blue": pytest.approx([0, 10, 20, 20]),
    }
    assert all(box["score"] == pytest.approx(1, abs=1e-4) for box in one["boxes"])
    assert none["boxes"] == []
    assert sorted(path.name for path in Path("drawn").iterdir()) == ["none.png", "one-2.png", "one.png"]
    drawn = cv2.imread("drawn/one.png")
    assert drawn.shape == (20, 40, 3) and (drawn != quarters(20, 40)).any()
    assert cv2.imread("drawn/one-2.png").shape == (12, 16, 3)
    done = zoo("predict", model, *files, "--json", "--draw", "memory://bucket/drawn")
    assert done.code == 0, done.err
    assert {name.rpartition("/")[2]: data for name, data in stored().items()} == {
        path.name: path.read_bytes() for path in Path("drawn").iterdir()
    }
    rows = list(csv.DictReader(io.StringIO(zoo("predict", model, files[0], "--csv").out)))
    assert [(row["name"], round(float(row["left"]))) for row in rows] == [("red", 20), ("blue", 0)]
    assert lines(zoo("predict", model, files[0], "--json", "--threshold", "1.5").out)[0]["boxes"] == []
    Path(model, "labels.txt").write_text("red\nblue\n")  # without a name for the background
    assert lines(zoo("predict", model, files[0], "--json").out)[0]["boxes"] == one["boxes"]


def test_boxes_are_found_by_faster_rcnns_outputs(zoo, tmp_path) -> None:
    (tmp_path / "net.prototxt").write_text(REGIONS)
    net = Net("net.prototxt")
    weights = {name: [np.zeros_like(blob) for blob in blobs] for name, blobs in net.get_weights().items()}
    weights["rpn"][1][:] = [-1, 1]  # every anchor may be an object
    weights["score"][0][1] = 0.1  # and bright ones are of class 1
    net.set_weights(weights)
    net.save("net.caffemodel")
    file = write("white.png", np.full((64, 128, 3), 255, np.uint8))
    done = zoo("predict", "net.prototxt", "--weights", "net.caffemodel", file, "--json")
    assert done.code == 0, done.err
    (box,) = lines(done.out)[0]["boxes"]
    assert box["label"] == 1 and box["score"] > 0.9
    assert [box[side] for side in ("left", "top", "right", "bottom")] == pytest.approx([0, 0, 128, 64], abs=5)


def test_segments_are_reported_as_shares_and_masks_are_drawn(zoo, tmp_path) -> None:
    model = str(segmenter(tmp_path / "pixels"))
    done = zoo("predict", model, write("one.png", quarters(12, 16)), "--json", "--draw", "drawn")
    (answer,) = lines(done.out)
    assert [(each["name"], each["share"]) for each in answer["segments"]] == [
        ("background", 0.5),
        ("red", 0.25),
        ("blue", 0.25),
    ]
    drawn = cv2.imread("drawn/one.png").astype(int)
    assert drawn.shape == (12, 16, 3)
    assert drawn[2, 12].tolist() == pytest.approx([0, 0, (255 + 128) / 2], abs=1)  # label 1 has a darker red
    assert drawn[9, 3].tolist() == pytest.approx([255 / 2, 128 / 2, 0], abs=1)  # label 2 has green
    assert drawn[2, 3].tolist() == [0, 0, 0]


def test_any_blob_can_be_the_answer(zoo, model) -> None:
    file = str(photo(Path("a.png"), 1))
    values = lines(zoo("predict", model, file, "--json", "--blob", "scores").out)[0]["classes"]
    assert sum(each["score"] for each in values) != pytest.approx(1)
    assert "doesn't have the blob 'score'" in zoo("predict", model, file, "--blob", "score").err


def test_the_last_of_several_maps_is_the_answer_and_other_nets_need_a_name(zoo, tmp_path) -> None:
    params = NetParams(
        "edges",
        RDDLayer("data", shape=[1, 3, 4, 6]),
        ConvLayer("side", ["data"], kernel=1, num_filters=1),
        ConvLayer("fuse", ["data"], kernel=1, num_filters=1),
    )
    weights = {name: [np.full((1, 3, 1, 1), value), np.zeros(1)] for name, value in (("side", 0), ("fuse", 1))}
    image = ImageInput((4, 6))
    edges = write_folder(tmp_path / "edges", params, weights, Card("edges", task=Task.EDGES, input=image))
    file = write("white.png", np.full((8, 6, 3), 255, np.uint8))
    done = zoo("predict", str(edges), file, "--json")
    assert (
        "the net has several outputs, side, fuse; the answer is the last one, or the one that --blob names" in done.err
    )
    assert lines(done.out)[0]["segments"] == [{"label": 1, "name": "1", "share": 1.0}]
    other = zoo("predict", str(edges), file, "--json", "--blob", "side")
    assert (
        lines(other.out)[0]["segments"] == [{"label": 0, "name": "0", "share": 1.0}]
        and "several outputs" not in other.err
    )
    write_folder(edges, params, weights, Card("edges", input=image))
    refused = zoo("predict", str(edges), file)
    assert (
        refused.code == 2 and "the net has several outputs, side, fuse; name the one to read with --blob" in refused.err
    )


@pytest.mark.parametrize(("outputs", "task", "key"), [(1, None, "value"), (3, Task.EMBEDDING, "values")])
def test_a_number_and_an_embedding_are_not_classes(outputs, task, key, zoo, tmp_path) -> None:
    params = NetParams("net", RDDLayer("data", shape=[1, 3, 5, 6]), LinearLayer("out", ["data"], num_outputs=outputs))
    weights = {"out": [np.full((outputs, 90), 1 / 90), np.arange(outputs)]}
    model = write_folder(tmp_path / "net", params, weights, Card("net", task=task, input=ImageInput((5, 6))))
    done = zoo("predict", str(model), write("gray.png", np.full((9, 9, 3), 70, np.uint8)), "--json")
    wanted = [70, 71, 72][:outputs]
    assert lines(done.out)[0][key] == pytest.approx(wanted[0] if outputs == 1 else wanted, rel=1e-5)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["a.png", "--json", "--csv"], "--json and --csv are two formats; remove --json"),
        (["a.png", "b.png", "-o", "out.parquet"], "several inputs must be images, and out.parquet will be a table"),
        (["a.png", "--top", "2", "-o", "out.parquet"], "--top is for images, and out.parquet will be a table"),
        (["a.png", "--backend", "spark"], "--backend is for tables; add -o OUT.parquet"),
        (
            ["a.png", "--draw", "drawn"],
            "predicts neither boxes nor segments, points or pictures, so there is nothing to draw",
        ),
        (["empty"], "empty: there are no images in this folder or below it"),
        (["*.gif"], "*.gif: no file matches the pattern"),
        (["a.png", "-o", "missing/out.csv"], "missing/out.csv: can't be written"),
        (["a.png", "--device", "cuda:99"], "there is no 'cuda:99'"),
        (["lmdb:missing"], "missing: there is no such folder"),
        ([], "Missing argument 'INPUT...'"),
    ],
)
def test_invalid_settings_are_refused(words, says, zoo, model) -> None:
    photo(Path("a.png"), 1)
    Path("empty").mkdir()
    done = zoo("predict", model, *words)
    assert done.code == 2 and says in " ".join(done.err.split())
    assert sorted(path.name for path in Path().iterdir()) == ["a.png", "empty", "four"]


def test_a_full_disk_leaves_no_file(zoo, model, full_disk) -> None:
    files = [str(photo(Path(f"{seed}.png"), seed)) for seed in range(40)]
    before = sorted(Path().iterdir())
    with full_disk(2000):
        done = zoo("predict", model, *files, "-o", "out.jsonl")
    assert (done.code, done.err.count("\n")) == (2, 2) and "can't be written" in done.err
    assert sorted(Path().iterdir()) == before


REGIONS = """
# dialect: pvanet
name: "regions"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 3 dim: 64 dim: 64 } } }
layer { name: "info" type: "Input" top: "im_info" input_param { shape { dim: 1 dim: 3 } } }
layer { name: "feature" type: "Pooling" bottom: "data" top: "feature"
  pooling_param { pool: AVE kernel_size: 16 stride: 16 } }
layer { name: "rpn" type: "Convolution" bottom: "feature" top: "rpn_score"
  convolution_param { num_output: 2 kernel_size: 1 } }
layer { name: "code" type: "Convolution" bottom: "feature" top: "rpn_code"
  convolution_param { num_output: 4 kernel_size: 1 } }
layer { name: "proposal" type: "Proposal" bottom: "rpn_score" bottom: "rpn_code" bottom: "im_info" top: "rois"
  proposal_param { feat_stride: 16 base_size: 16 min_size: 1 ratio: 1 scale: 200 pre_nms_topn: 50 post_nms_topn: 5
    nms_thresh: 0.7 } }
layer { name: "pool" type: "ROIPooling" bottom: "feature" bottom: "rois" top: "pool"
  roi_pooling_param { pooled_h: 1 pooled_w: 1 spatial_scale: 0.0625 } }
layer { name: "score" type: "InnerProduct" bottom: "pool" top: "score" inner_product_param { num_output: 3 } }
layer { name: "box" type: "InnerProduct" bottom: "pool" top: "bbox_pred" inner_product_param { num_output: 12 } }
layer { name: "prob" type: "Softmax" bottom: "score" top: "cls_prob" }
"""
