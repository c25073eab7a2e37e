"""The data layers of fully convolutional networks: their settings, whose Python isn't run, and their batches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.pixel_sets import voc
from netdsl.data.writing.pixel_sets import write_pixel_set
from netdsl.errors import DataError, NetError
from netdsl.layers._settings import read_param_str
from netdsl.net.build import build
from netdsl.net.feed import Feeds
from netdsl.net.graph import Phase, resolve

pytest.importorskip("cv2")
pytest.importorskip("PIL.Image")

PARAMS = "{'voc_dir': 'voc', 'seed': 1337, 'split': '%s', 'mean': (104.00699, 116.66877, 122.67892)}"


def net(param_str: str, module: str = "voc_layers", layer: str = "VOCSegDataLayer") -> pb.NetParameter:
    data = pb.LayerParameter(name="data", type="Python", top=["data", "label"])
    data.python_param.module, data.python_param.layer, data.python_param.param_str = module, layer, param_str
    return pb.NetParameter(layer=[data])


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for split in ("train", "seg11valid"):
        labels = np.add.outer([0, 1, 2], np.zeros((1, 4, 6))).astype(np.float32)
        write_pixel_set(voc("voc", split, (0, 0, 0)), [np.zeros((3, 3, 4, 6), np.float32), labels])


def labels(param_str: str, count: int = 7) -> list[int]:
    """Return the label of all pixels of some images."""
    graph = resolve(net(param_str), Phase.TRAIN)
    feeds = Feeds.open(graph)
    assert build(graph).shapes == [(1, 3, 4, 6), (1, 1, 4, 6)]
    found = [int(feeds.tops(0)[1][0, 0, 0, 0]) for _ in range(count)]
    feeds.close()
    return found


def test_only_training_splits_are_shuffled_unless_disabled() -> None:
    assert labels(PARAMS % "seg11valid") == [0, 1, 2, 0, 1, 2, 0]
    drawn = labels(PARAMS % "train", 30)
    assert drawn != [0, 1, 2] * 10 and {*drawn} == {0, 1, 2}
    assert labels((PARAMS % "train").replace("'seed'", "'randomize': False, 'seed'")) == [0, 1, 2, 0, 1, 2, 0]


def test_the_layers_own_seed_counts() -> None:
    assert labels(PARAMS % "train", 20) == labels(PARAMS % "train", 20)
    assert labels(PARAMS % "train", 20) != labels((PARAMS % "train").replace("1337", "7"), 20)


def test_settings_are_read_and_never_run() -> None:
    assert read_param_str("dict(voc_dir='a b', mean=(1, 2.5, -3), split=\"val\")") == {
        "voc_dir": "a b",
        "mean": (1, 2.5, -3),
        "split": "val",
    }
    for text in ("dict(a=open('x'))", "{'a': __import__('os')}", "dict(**x)", "dict('a')", "dict(a=1) or 2", "dict(("):
        with pytest.raises(NetError, match="param_str"):
            read_param_str(text)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("{'voc_dir': 'voc', 'split': 'train'}", "param_str doesn't set 'mean'"),
        ("{'voc_dir': 'voc', 'split': 'train', 'mean': (1, 2)}", "three numbers"),
        (PARAMS.replace("'seed'", "'sed'") % "train", "'sed', which the layer doesn't support"),
        (PARAMS.replace("1337", "-1") % "train", "seed to -1"),
        ("{'split': 'train', 'mean': (1, 2, 3)}", "param_str doesn't set 'voc_dir'"),
    ],
)
def test_wrong_settings_are_named(settings: str, words: str) -> None:
    with pytest.raises(NetError, match=words):
        Feeds.open(resolve(net(settings), Phase.TRAIN))


def test_a_missing_split_is_named() -> None:
    with pytest.raises(DataError, match=r"layer 'data': voc/ImageSets/Segmentation/none.txt"):
        Feeds.open(resolve(net(PARAMS % "none"), Phase.TRAIN))
