"""`zoo test` on nets that detect or segment, and training runs that compute such scores."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb

DETECTOR = """
layer { name: "data" type: "HDF5Data" top: "found" top: "objects"
        hdf5_data_param { source: "boxes.txt" batch_size: 1 } }
layer { name: "scale" type: "Scale" bottom: "found" top: "detection_out" }
layer { name: "eval" type: "DetectionEvaluate" bottom: "detection_out" bottom: "objects" top: "detection_eval"
        detection_evaluate_param { num_classes: 4 evaluate_difficult_gt: false } }
"""
SEGMENTER = """
layer { name: "data" type: "HDF5Data" top: "data" top: "label" hdf5_data_param { source: "pixels.txt" batch_size: 4 } }
layer { name: "score" type: "Convolution" bottom: "data" top: "score"
        convolution_param { num_output: 3 kernel_size: 1 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "score" bottom: "label" top: "loss"
        loss_param { ignore_label: 255 } }
"""
SOLVER = """
net: "net.prototxt" base_lr: 0.5 momentum: 0.9 lr_policy: "fixed" max_iter: 20 test_iter: 2 test_interval: 20
eval_type: "segmentation" show_per_class_result: true snapshot_prefix: "net"
"""
LEFT, RIGHT, ELSEWHERE = (0.1, 0.1, 0.4, 0.5), (0.6, 0.1, 0.9, 0.5), (0.1, 0.6, 0.4, 0.9)


def write(name: str, **arrays: np.ndarray) -> None:
    with h5py.File(f"{name}.h5", "w") as file:
        for key, array in arrays.items():
            file[key] = array.astype(np.float32)
    Path(f"{name}.txt").write_text(f"{name}.h5\n")


@pytest.fixture
def detector(zoo) -> list[str]:
    found = [[(0, 1, 0.9, *LEFT), (0, 2, 0.5, *ELSEWHERE)], [(0, 1, 0.8, *RIGHT), (0, 1, 0.3, *LEFT)]]
    objects = [[(0, 1, 0, *LEFT, 0), (0, 2, 0, *RIGHT, 0)], [(0, 1, 0, *LEFT, 0), (-1, *[0] * 7)]]
    write("boxes", found=np.array(found)[:, None], objects=np.array(objects)[:, None])
    Path("net.prototxt").write_text(DETECTOR)
    weights = pb.NetParameter()
    blob = weights.layer.add(name="scale", type="Scale").blobs.add(data=[1])
    blob.shape.dim.append(1)
    Path("net.caffemodel").write_bytes(weights.SerializeToString())
    return ["test", "net.prototxt", "--weights", "net.caffemodel", "--iterations", "2"]


@pytest.fixture
def segmenter(zoo) -> str:
    data = np.random.default_rng(0).random((8, 3, 12, 10))
    label = (data[:, :1] > data[:, 1:2]) * 1 + (data[:, 2:] > 0.8)
    write("pixels", data=data, label=label)
    Path("net.prototxt").write_text(SEGMENTER)
    Path("solver.prototxt").write_text(SOLVER)
    return "solver.prototxt"


def test_a_detector_has_a_mean_average_precision_and_one_for_each_class(zoo, detector) -> None:
    done = zoo(*detector, "--json")
    (scores,) = json.loads(done.out)["scores"]
    assert (scores["blob"], scores["task"]) == ("detection_eval", "detection")
    assert scores["scores"]["mAP VOC 2010"] == pytest.approx((0.5 + 0.5 * 2 / 3) / 2)
    assert scores["scores"]["mAP VOC 2007"] == pytest.approx((6 / 11 + 5 / 11 * 2 / 3) / 2)
    assert scores["scores"]["mAP COCO"] == pytest.approx((51 / 101 + 50 / 101 * 2 / 3) / 2)
    assert [(each["label"], each["objects"]) for each in scores["classes"]] == [(1, 2), (2, 1)]
    lines = zoo(*detector).out.splitlines()
    assert "detection (detection_eval): 3 objects of 2 classes" in lines and "mAP VOC 2010 0.416667" in lines
    assert next(line.split() for line in lines if line.split()[:2] == ["1", "2"])[2:] == ["0.8485", "0.8333", "0.8350"]


def test_classes_have_the_names_from_the_models_folder(zoo, detector) -> None:
    Path("labels.txt").write_text("background\ncat\ndog\nowl\n")
    assert [each["name"] for each in json.loads(zoo(*detector, "--json").out)["scores"][0]["classes"]] == ["cat", "dog"]
    Path("labels.txt").write_text("cat\ndog\nowl\n")
    assert [each["name"] for each in json.loads(zoo(*detector, "--json").out)["scores"][0]["classes"]] == ["cat", "dog"]


def test_pixel_scores_during_training_equal_those_of_a_test(zoo, segmenter) -> None:
    trained = json.loads(zoo("train", "--solver", segmenter, "--json").out)
    last = trained["tests"][0]
    tested = json.loads(
        zoo("test", "net.prototxt", "--weights", "net_iter_20.caffemodel", "--iterations", "2", "--json").out
    )
    (scores,) = tested["scores"]
    assert last["outputs"]["per_pixel_acc"] == pytest.approx(scores["scores"]["pixel accuracy"])
    assert last["outputs"]["iou_acc"] == pytest.approx(scores["scores"]["mIoU"])
    assert last["classes"] == {str(each["label"]): pytest.approx(each["scores"]["IoU"]) for each in scores["classes"]}
    assert sum(each["pixels"] for each in scores["classes"]) == 8 * 12 * 10
    said = zoo("test", "net.prototxt", "--weights", "net_iter_20.caffemodel", "--iterations", "2").out
    assert "segmentation (score): 960 pixels of 3 classes" in said and "mIoU" in said


def test_a_runs_page_contains_the_classes(zoo, segmenter) -> None:
    assert zoo("train", "--solver", segmenter, "--run", "run").code == 0
    zoo("report", "run")
    page = " ".join(Path("run/report.html").read_text().split())
    scores = json.loads(
        zoo("test", "net.prototxt", "--weights", "run/model.caffemodel", "--iterations", "2", "--json").out
    )["scores"][0]
    assert "Segmentation by score" in page and f"mIoU {100 * scores['scores']['mIoU']:.1f} %" in page
    for each in scores["classes"]:
        share = f"{100 * each['scores']['IoU']:.1f} %"
        assert f'<th scope="row">{each["name"]}</th><td class="number">{each["pixels"]}</td>' in page and share in page


def test_the_caffe_programs_log_contains_the_classes(zoo, segmenter) -> None:
    log = zoo("caffe", "train", "-solver", segmenter).err
    assert "] class0: " in log and "Test net output #0: iou_acc = " in log
