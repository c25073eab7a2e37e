"""Messages about data before training: the classes, and whether a net predicts the same number."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import cv2
import h5py
import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl.data.tables.table import Table
from netdsl.errors import DataError
from netdsl.net.graph import Phase
from netdsl.solver.events import DataOpened, Event, Notice
from netdsl.solver.open_solver import open_solver
from netdsl.solver.settings import open_settings
from zoo.cli.display import data_line

DATA = """
layer { name: "data" type: "Data" top: "data" top: "label" data_param { source: "folder:a" batch_size: 2 }
        include { phase: TRAIN } }
layer { name: "data" type: "Data" top: "data" top: "label" data_param { source: "folder:b" batch_size: 2 }
        include { phase: TEST } }
"""
INPUTS = """
layer { name: "data" type: "Input" top: "data" top: "label"
        input_param { shape { dim: 2 dim: 3 dim: 2 dim: 2 } shape { dim: 2 } } }
"""
NET = """
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 3 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""

WORDS = """
layer { name: "data" type: "HDF5Data" top: "cont" top: "word" top: "next"
  hdf5_data_param { source: "list.txt" batch_size: 2 } }
layer { name: "vectors" type: "Embed" bottom: "word" top: "vectors" embed_param { input_dim: 3 num_output: 2 } }
layer { name: "lstm" type: "LSTM" bottom: "vectors" bottom: "cont" top: "lstm" recurrent_param { num_output: 3 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "lstm" bottom: "next" top: "loss" softmax_param { axis: 2 } }
"""


@pytest.fixture(autouse=True)
def _folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("a", "b"):
        classes(folder, "cat", "dog", "horse")


def classes(folder: str, *names: str) -> None:
    for name in names:
        path = Path(folder, name, "1.png")
        path.parent.mkdir(parents=True)
        path.write_bytes(bytes(cv2.imencode(".png", np.zeros((2, 2, 3), np.uint8))[1]))


def messages_about(net: str, tables: dict[Phase, Table] | None = None) -> list[Event]:
    param = pb.SolverParameter(net_param=from_text(net, pb.NetParameter), test_iter=[1], test_interval=1, base_lr=1)
    param.lr_policy = "fixed"
    events = list[Event]()
    with open_solver(open_settings(param), tables=tables, listen=events.append):
        return [event for event in events if isinstance(event, DataOpened | Notice)]


OPENED = [DataOpened(f"folder:{name}", 3, ("cat", "dog", "horse"), name == "b") for name in ("a", "b")]


def test_the_data_of_all_nets_are_reported_with_their_classes() -> None:
    assert messages_about(DATA + NET) == OPENED
    tables = {Phase.TRAIN: Table("folder:a"), Phase.TEST: Table("folder:b")}
    assert messages_about(INPUTS + NET, tables) == OPENED


def test_labels_that_a_net_reads_word_by_word_are_a_vocabulary() -> None:
    with h5py.File("words.h5", "w") as file:
        for name in ("cont", "word", "next"):
            file[name] = np.zeros((4, 2), np.float32)
    Path("list.txt").write_text("words.h5\n")
    Path("labels.txt").write_text("<EOS>\na\ndog\n")
    opened, tested = messages_about(WORDS)
    assert opened == DataOpened("list.txt", 4, ("<EOS>", "a", "dog"), tests=False, vocabulary=True)
    assert tested == replace(opened, tests=True)
    assert data_line(opened) == "trains on list.txt: 4 items, a vocabulary of 3 (<EOS>, a, dog)"


def test_unused_outputs_are_reported_once() -> None:
    notice = "blob 'ip' has 10 outputs for the 3 classes of folder:a (cat, dog, horse), so 7 of them can never be right"
    assert messages_about(DATA + NET.replace("num_output: 3", "num_output: 10")) == [
        OPENED[0],
        Notice(notice),
        OPENED[1],
    ]


def test_labels_without_an_output_are_an_error_before_training() -> None:
    with pytest.raises(DataError, match=r"blob 'ip' has 2 outputs for the 3 classes of folder:a .*num_output"):
        messages_about(DATA + NET.replace("num_output: 3", "num_output: 2"))


def test_a_net_that_predicts_no_class_may_have_any_outputs() -> None:
    regression = NET.replace("num_output: 3", "num_output: 1").replace("SoftmaxWithLoss", "EuclideanLoss")
    assert messages_about(DATA + regression) == OPENED


def test_the_same_class_under_two_numbers_is_an_error() -> None:
    classes("b", "bird")
    with pytest.raises(DataError, match="folder:b: label 0 is 'bird', but it is 'cat' in folder:a"):
        messages_about(DATA + NET)
    Path("b/labels.txt").write_text("cat\ndog\nhorse\nbird\n")
    with pytest.raises(DataError, match="3 outputs for the 4 classes of folder:b"):
        messages_about(DATA + NET)
