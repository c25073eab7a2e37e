"""Families of nets that detect and segment: each learns from the data that its layers name, with one worker and with
two.

The score that each net must reach was written down before its first training run.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from caffe_proto.text.prototxt import text_of
from netdsl import Net
from tests.families import detecting, segmenting
from zoo.catalogue import entry_of

pytestmark = pytest.mark.slow

TRAIN, TEST = 400, 80  # numbers of pictures
ZOO = Path(sys.executable).parent / "zoo"


def zoo(*words: str | Path, folder: Path) -> str:
    """Run a command and return its output."""
    done = subprocess.run([ZOO, *map(str, words)], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write pictures of shapes in the format that each family's layers read."""
    folder = tmp_path_factory.mktemp("pictures")
    for part, count, name in (("train", TRAIN, "trainval"), ("test", TEST, "test")):
        source = f"objects:{part}?count={count}"
        zoo("data", "convert", source, f"voc:{name}?set={name}", "--encoded", "jpg", folder=folder)
        zoo("data", "convert", source, f"maps:{name}_maps", folder=folder)
        zoo("data", "convert", f"voc:{name}", f"{name}_lmdb", folder=folder)
        _write_lists(folder / f"{name}_maps")
    return folder


def _write_lists(folder: Path) -> None:
    """Write a list with absolute paths for SegNet, and a list of edges for HED."""
    import cv2

    (folder / "edges").mkdir()
    whole, edges = [], []
    for line in (folder / "list.txt").read_text().splitlines():
        image, labels = line.split()
        whole.append(f"{folder / image} {folder / labels}\n")
        classes = cv2.imread(str(folder / labels), cv2.IMREAD_GRAYSCALE)
        edge = (cv2.dilate(classes, np.ones((3, 3))) != cv2.erode(classes, np.ones((3, 3)))) * np.uint8(255)
        cv2.imwrite(str(folder / "edges" / Path(labels).name), edge)
        edges.append(f"{image} edges/{Path(labels).name}\n")
    (folder / "whole.txt").write_text("".join(whole))
    (folder / "edges.txt").write_text("".join(edges))


@dataclass(frozen=True)
class Family:
    """A family's small net: its training settings, how it is scored, and the lowest score allowed."""

    net: Callable[[Path], str]
    iterations: int
    score: Callable[[Path, Path], float]
    least: float
    solver: str = "type: 'Adam' base_lr: 0.002 momentum: 0.9 momentum2: 0.999 lr_policy: 'poly' power: 1"


def _precision(folder: Path, pictures: Path, net: str = "net.prototxt") -> float:
    """Return the mean average precision of VOC 2007."""
    return _scores(folder, net, "--data", f"voc:{pictures / 'test'}")["mAP VOC 2007"]


def _precision_of_regions(folder: Path, pictures: Path, used: str) -> float:
    """Return the precision of a net for use. Its card states that images aren't enlarged and have no mean, as in
    training."""
    (folder / "used").mkdir()
    (folder / "used" / "deploy.prototxt").write_text(used)
    image = f"size: [{detecting.SIDE}, {detecting.SIDE}], channels: BGR, mean: [0, 0, 0]"
    card = f"name: regions\nsummary: Regions.\ntask: detection\ninput: {{{image}}}\ncaffemodel: none"
    (folder / "used" / "README.md").write_text(f"---\n{card}\n---\n")
    return _precision(folder, pictures, "used")


def _overlap(folder: Path, pictures: Path) -> float:
    """Return the mean intersection over union of all classes."""
    return _scores(folder, "net.prototxt", "--iterations", str(TEST))["mIoU"]


def _scores(folder: Path, net: str, *words: str) -> dict[str, float]:
    printed = zoo("test", net, "--weights", "run/model.caffemodel", *words, "--json", folder=folder)
    scores: dict[str, float] = json.loads(printed)["scores"][0]["scores"]
    return scores


def _edge_score(folder: Path, pictures: Path) -> float:
    """Return the harmonic mean of precision and recall over all pixels."""
    import cv2

    net = Net(str(folder / "net.prototxt"), weights=str(folder / "run" / "model.caffemodel"), phase="TEST")
    maps, right, counted = pictures / "test_maps", 0, 0
    for line in (maps / "edges.txt").read_text().splitlines():
        image, edges = (cv2.imread(str(maps / path)) for path in line.split())
        marked = edges[None, None, :, :, 0] > 0
        data = image.transpose(2, 0, 1)[None].astype(np.float32) - segmenting.MEAN
        found = net.forward(data=data, label=marked)["sigmoid-fuse"].numpy() > 0.5
        right, counted = right + int((found & marked).sum()), counted + int(found.sum()) + int(marked.sum())
    return 2 * right / counted


def _maps(pictures: Path, name: str) -> tuple[str, str]:
    return str(pictures / "trainval_maps" / name), str(pictures / "test_maps" / name)


def _ssd(pictures: Path) -> str:
    message = entry_of("ssd-shapes").train_val.message
    for data, name in zip(message.layer, ("trainval_lmdb", "test_lmdb"), strict=False):
        data.data_param.source = str(pictures / name)
        data.annotated_data_param.label_map_file = str(pictures / name / "labelmap.prototxt")
    return text_of(message)


FAMILIES = {
    "ssd": Family(_ssd, 150, _precision, 0.6),
    "faster-rcnn": Family(
        lambda pictures: detecting.faster_rcnn(f"voc:{pictures / 'trainval'}"),
        800,
        lambda folder, pictures: _precision_of_regions(folder, pictures, detecting.faster_rcnn_for_tests()),
        0.5,
    ),
    "rfcn": Family(
        lambda pictures: detecting.rfcn(f"voc:{pictures / 'trainval'}"),
        800,
        lambda folder, pictures: _precision_of_regions(folder, pictures, detecting.rfcn_for_tests()),
        0.4,
    ),
    "fcn": Family(
        lambda pictures: segmenting.fcn(str(pictures / "trainval"), str(pictures / "test")), 1000, _overlap, 0.55
    ),
    "segnet": Family(lambda pictures: segmenting.segnet(*_maps(pictures, "whole.txt")), 200, _overlap, 0.55),
    "pspnet": Family(lambda pictures: segmenting.pspnet(*_maps(pictures, "list.txt")), 200, _overlap, 0.55),
    "hed": Family(lambda pictures: segmenting.hed(*_maps(pictures, "edges.txt")), 800, _edge_score, 0.5),
}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_learns(name: str, workers: int, pictures: Path, tmp_path: Path, record_property: Any) -> None:
    family = FAMILIES[name]
    (tmp_path / "net.prototxt").write_text(family.net(pictures))
    # Two workers see twice as many pictures in an iteration.
    settings = f"{family.solver} max_iter: {family.iterations} display: 50 snapshot_prefix: 'net' random_seed: 1"
    (tmp_path / "solver.prototxt").write_text(f"train_net: 'net.prototxt' {settings}")
    together = ["--workers", str(workers), "--strategy", "averaging:tau=25"] if workers > 1 else []
    zoo("train", "--solver", "solver.prototxt", "--run", "run", *together, folder=tmp_path)
    score = family.score(tmp_path, pictures)
    record_property("score", score)
    print(f"\n{name}, {workers} workers: {score:.3f}")
    assert score >= family.least
