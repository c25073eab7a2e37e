"""Training runs that are stopped, killed and resumed end with the same bits as an undisturbed run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import lmdb
import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import read
from netdsl.data.batches.reading import BadItems, Loading
from netdsl.data.tables.table import Table
from netdsl.distributed.run import Run
from netdsl.errors import DataError, SolverError
from netdsl.net.graph import Phase, resolve
from netdsl.solver.events import Action, DataOpened
from netdsl.solver.settings import open_settings
from netdsl.solver.trainable_net import Compute
from netdsl.training.data_sources import NO_TESTS, holds_out, with_sources
from netdsl.training.job import train_alone
from tests.voc_folder import VocImage, VocObject, write_voc

# Data that are shuffled, cropped and mirrored at random, a Dropout, and statistics that aren't parameters.
NET = """
name: "small"
layer { name: "data" type: "Data" top: "data" top: "label" transform_param { crop_size: 5 mirror: true scale: 0.01 }
        data_param { source: "train_lmdb" batch_size: 4 backend: LMDB shuffle: true } include { phase: TRAIN } }
layer { name: "data" type: "Data" top: "data" top: "label" transform_param { crop_size: 5 scale: 0.01 }
        data_param { source: "train_lmdb" batch_size: 5 backend: LMDB } include { phase: TEST } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
        convolution_param { num_output: 4 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "norm" type: "BatchNorm" bottom: "conv" top: "conv" }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "drop" type: "Dropout" bottom: "conv" top: "conv" }
layer { name: "ip" type: "InnerProduct" bottom: "conv" top: "ip"
        inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
layer { name: "accuracy" type: "Accuracy" bottom: "ip" bottom: "label" top: "accuracy" include { phase: TEST } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
SOLVER = """
net: "net.prototxt" type: "Adam" base_lr: 0.01 lr_policy: "fixed" momentum: 0.9 weight_decay: 0.001 iter_size: 2
test_iter: 3 test_interval: 4 display: 5 max_iter: 20 snapshot: 3 snapshot_prefix: "run" random_seed: 7
"""


def write_database(folder: Path, bad: int | None = None) -> None:
    images = np.random.default_rng(0).integers(0, 256, (13, 2, 7, 6), np.uint8)
    with lmdb.open(str(folder / "train_lmdb"), map_size=1 << 20) as database, database.begin(write=True) as transaction:
        for index, image in enumerate(images):
            datum = pb.Datum(channels=2, height=7, width=6, data=image.tobytes(), label=index % 3)
            data = datum.SerializeToString()
            transaction.put(f"{index:08d}".encode(), data[:20] if index == bad else data)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_database(tmp_path)
    (tmp_path / "net.prototxt").write_text(NET)
    (tmp_path / "solver.prototxt").write_text(SOLVER)
    return tmp_path


def run_of(prefix: str, **more: object) -> Run:
    return Run(open_settings("solver.prototxt").with_fields(snapshot_prefix=prefix), **more)


def last(prefix: str) -> list[bytes]:
    """Return the complete final state."""
    file = read(f"{prefix}_iter_20.solverstate")
    assert isinstance(file.message, pb.SolverState)
    assert file.message.iter == 20
    history = [file.blobs.array(blob).tobytes() for blob in file.message.history]
    return [Path(f"{prefix}_iter_20.caffemodel").read_bytes(), *history]


def test_a_run_that_is_stopped_and_resumed_ends_with_the_same_bits(folder: Path) -> None:
    train_alone(run_of("whole"))
    for stop in (1, 7, 12):
        wishes = iter([*[Action.NONE] * (stop - 1), Action.STOP])
        prefix = f"part{stop}"
        stopped = train_alone(run_of(prefix), requested=lambda wishes=wishes: next(wishes, Action.NONE))
        assert stopped.iteration < 20
        train_alone(run_of(prefix, snapshot="auto"))
        assert last(prefix) == last("whole")


@pytest.mark.broad
def test_a_run_that_is_killed_and_resumed_ends_with_the_same_bits(folder: Path) -> None:
    command = [sys.executable, "-c", "from zoo.cli import main; main()"]
    command += ["train", "--solver", "solver.prototxt", "--snapshot", "auto"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("iteration 9  saved"):
                process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert not Path("run_iter_20.caffemodel").exists()
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    killed = last("run")
    for path in folder.glob("run_iter_*"):
        path.unlink()
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    assert last("run") == killed


def test_a_snapshot_and_weights_exclude_each_other(folder: Path) -> None:
    with pytest.raises(SolverError, match="--snapshot or --weights, not both"):
        train_alone(run_of("run", snapshot="x.solverstate", weights=["y.caffemodel"]))


def test_fine_tuning_begins_with_the_weights(folder: Path) -> None:
    first_run, second_run = run_of("first"), run_of("again", weights=["first_iter_20.caffemodel"])
    silent = {"display": 0}  # a display after training would update the statistics
    first = train_alone(replace(first_run, solver=first_run.solver.with_fields(**silent)))
    again = train_alone(replace(second_run, solver=second_run.solver.with_fields(max_iter=0, **silent)))
    for mine, theirs in zip(again.net.built.layers, first.net.built.layers, strict=True):
        for blob, other in zip(mine.blob_tensors(), theirs.blob_tensors(), strict=True):
            np.testing.assert_array_equal(blob.detach(), other.detach())


def test_bad_data_stop_a_run_or_are_skipped_on_request(tmp_path: Path, folder: Path) -> None:
    other = tmp_path / "bad"
    other.mkdir()
    write_database(other, bad=5)
    (folder / "net.prototxt").write_text(NET.replace("train_lmdb", "bad/train_lmdb"))
    with pytest.raises(DataError, match="00000005"):
        train_alone(run_of("stopped"))
    solver = train_alone(run_of("skipped", compute=Compute(loading=Loading(bad=BadItems.SKIP))))
    assert solver.iteration == 20


INPUTS = """
layer { name: "data" type: "Input" top: "data" transform_param { crop_size: 5 scale: 0.01 }
        input_param { shape { dim: 4 dim: 2 dim: 5 dim: 5 } } }
layer { name: "label" type: "Input" top: "label" input_param { shape { dim: 4 dim: 1 } } }
"""


def test_a_net_without_data_layers_is_fed_from_tables(folder: Path) -> None:
    """A database is read in the order of its arrays, a table by the names of its columns."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    images = np.random.default_rng(0).integers(0, 256, (13, 2, 7, 6), np.uint8)
    rows = {"data": pa.FixedShapeTensorArray.from_numpy_ndarray(images), "label": [index % 3 for index in range(13)]}
    pq.write_table(pa.table(rows), "rows.parquet")
    (folder / "net.prototxt").write_text(INPUTS + NET[NET.index('layer { name: "conv"') :])
    for number, data in enumerate(("lmdb:train_lmdb", "rows.parquet")):
        run = with_sources(run_of(f"run{number}"), data, data)
        assert run.tables == {phase: Table(data if ":" in data else f"parquet:{data}") for phase in Phase}
        train_alone(run)
        assert last(f"run{number}") == last("run0")
    run = with_sources(run_of("other"), "digits", "mnist:m:test")
    assert {phase: table.source for phase, table in run.tables.items()} == {
        Phase.TRAIN: "digits:train", Phase.TEST: "mnist:m:test"}  # fmt: skip


def test_data_layers_can_read_other_data(folder: Path) -> None:
    run = with_sources(run_of("run"), None, "digits")
    assert not run.tables
    assert [layer.data_param.source for layer in run.solver.net_to_train.net.layer[:2]] == ["train_lmdb", "digits:test"]


HELD_OUT = ["lmdb:train_lmdb?part=train", "lmdb:train_lmdb?part=test"]


def read_by(run: Run) -> list[str]:
    """Return the sources that the phases read."""
    net = run.solver.net_to_train.net
    return [node.layer.data_param.source for phase in Phase for node in resolve(net, phase).nodes[:1]]


def test_without_test_data_every_tenth_item_is_held_out(folder: Path) -> None:
    run = with_sources(run_of("run"), "train_lmdb", None)
    assert read_by(run) == HELD_OUT
    assert holds_out(run.solver.param, "train_lmdb", None)
    assert not holds_out(run.solver.param, "digits", None)
    assert not holds_out(run.solver.param, "train_lmdb", "digits")
    (folder / "net.prototxt").write_text(INPUTS + NET[NET.index('layer { name: "conv"') :])
    run = with_sources(run_of("run"), "train_lmdb", None)
    assert [run.tables[phase].source for phase in Phase] == HELD_OUT


def test_no_items_are_held_out_without_tests(folder: Path) -> None:
    run = with_sources(run_of("run"), "train_lmdb", NO_TESTS)
    assert (read_by(run)[0], len(run.solver.param.test_iter), run.solver.param.test_interval) == (
        "lmdb:train_lmdb",
        0,
        0,
    )
    train_alone(run)
    settings = Path("solver.prototxt").read_text().replace("test_iter: 3 test_interval: 4", "")
    Path("solver.prototxt").write_text(settings)
    assert read_by(with_sources(run_of("run"), "train_lmdb", None))[0] == "lmdb:train_lmdb"


@pytest.mark.parametrize("rules", ["", "include { min_level: 0 }", "exclude { stage: 'deploy' }"])
def test_a_data_layer_of_both_phases_reads_other_data_in_each(folder: Path, rules: str) -> None:
    layers = NET.split("layer {")
    layers[2] = layers[2].replace("include { phase: TEST }", rules)
    (folder / "net.prototxt").write_text("layer {".join([layers[0], *layers[2:]]))
    assert read_by(with_sources(run_of("run"), "train_lmdb", None)) == HELD_OUT
    assert read_by(with_sources(run_of("run"), None, "digits")) == ["train_lmdb", "digits:test"]


def test_held_out_items_are_the_same_when_training_resumes(folder: Path) -> None:
    train_alone(with_sources(run_of("whole"), "train_lmdb", None))
    wishes = iter([*[Action.NONE] * 6, Action.STOP])
    train_alone(with_sources(run_of("part"), "train_lmdb", None), requested=lambda: next(wishes, Action.NONE))
    train_alone(with_sources(run_of("part", snapshot="auto"), "train_lmdb", None))
    assert last("part") == last("whole")


def test_data_of_a_python_layer_can_be_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_voc(tmp_path / "voc", [VocImage("one", 60, 90, [VocObject("dog", (11, 6, 50, 45))])])
    settings = "{'num_classes': 21, 'scales': [64]}"
    python = f"module: 'roi_data_layer.layer' layer: 'RoIDataLayer' param_str: \"{settings}\""
    tops = "top: 'data' top: 'im_info' top: 'gt_boxes'"
    (tmp_path / "net.prototxt").write_text(
        f"layer {{ name: 'input-data' type: 'Python' {tops} python_param {{ {python} }} }}"
        "layer { name: 'size' type: 'Scale' bottom: 'im_info' top: 'size' }"
        "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'size' bottom: 'size' }"
    )
    param = pb.SolverParameter(train_net="net.prototxt", base_lr=0, lr_policy="fixed", max_iter=1, snapshot_prefix="x")
    source = "voc:voc?set=trainval"
    run = with_sources(Run(open_settings(param, tmp_path), folder=tmp_path), source, None)
    assert not holds_out(param, source, None)
    events: list[object] = []
    train_alone(run, listeners=[events.append])
    opened = [event for event in events if isinstance(event, DataOpened)]
    assert [(each.source, each.items, len(each.classes)) for each in opened] == [(source, 1, 21)]
