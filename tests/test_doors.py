"""Every command and function that opens weights accepts every format, and gets exactly those weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from click.testing import CliRunner
from torch import nn

from netdsl import ConvLayer, LinearLayer, Net, NetParams, RDDLayer, SoftmaxWithLoss, WeightCollection, pycaffe
from netdsl.dsl import DummyData
from netdsl.errors import WeightsError
from netdsl.model.deploy.deploy_net import deploy_model
from netdsl.model.opening import open_model
from netdsl.model.weights.writing import write_weights
from zoo.cli import zoo

for package in ("onnx", "onnxruntime", "safetensors", "h5py"):
    pytest.importorskip(package)

LAYERS = (
    ConvLayer("conv", ["data"], kernel=(2, 2), num_filters=5),
    LinearLayer("scores", ["conv"], num_outputs=3),
    SoftmaxWithLoss("loss", ["scores", "label"]),
)
TABLE_NET = NetParams("table", RDDLayer("data", shape=[6, 1, 3, 4]), RDDLayer("label", shape=[6]), *LAYERS)
OWN_DATA = DummyData(
    "own", [], tops=["data", "label"], shape=[{"dim": [6, 1, 3, 4]}, {"dim": [6]}],
    data_filler=[{"value": 0.75}, {"value": 2}],
)  # fmt: skip
OWN_NET = NetParams("own", OWN_DATA, *LAYERS)
SOLVER = 'net: "own.prototxt" base_lr: 0 lr_policy: "fixed" max_iter: 1 snapshot_prefix: "trained" random_seed: 1'
SHAPES = {"conv": [(5, 1, 2, 2), (5,)], "scores": [(3, 30), (3,)]}

# The last file is a caffemodel with another suffix, as Caffe users' scripts have it.
FORMATS = ["w.caffemodel", "w.h5", "w.safetensors", "w.npz", "w.pt", "w.onnx", "torch.safetensors", "w.trained"]


@dataclass(frozen=True)
class Files:
    """The weights in every file, and the paths of the files."""

    folder: Path
    weights: WeightCollection
    pixels: np.ndarray

    def __getitem__(self, name: str) -> str:
        return str(self.folder / name)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Write the nets, a table of six rows, and one set of weights in files of all formats."""
    from safetensors.torch import save_file

    folder, random = tmp_path_factory.mktemp("files"), np.random.default_rng(4)
    weights = WeightCollection.of(
        {name: [random.standard_normal(shape).astype(np.float32) for shape in blobs] for name, blobs in SHAPES.items()}
    )
    pixels = random.standard_normal((6, 1, 3, 4)).astype(np.float32)
    (folder / "table.prototxt").write_text(TABLE_NET.prototxt())
    (folder / "own.prototxt").write_text(OWN_NET.prototxt())
    (folder / "solver.prototxt").write_text(SOLVER)
    for name in ("w.caffemodel", "w.h5", "w.safetensors", "w.npz", "w.pt"):
        write_weights(weights, folder / name)
    (folder / "w.trained").write_bytes((folder / "w.caffemodel").read_bytes())
    assert run("convert", str(folder / "w.npz"), str(folder / "w.onnx"), "--net", str(folder / "table.prototxt"))
    module = nn.Sequential(nn.Conv2d(1, 5, 2), nn.Flatten(), nn.Linear(30, 3))
    arrays = [torch.from_numpy(array.copy()) for blobs in weights.values() for array in blobs]
    save_file(dict(zip(module.state_dict(), arrays, strict=True)), folder / "torch.safetensors")
    pq.write_table(pa.table({"data": [*pixels.reshape(6, -1)], "label": [0, 1, 2, 2, 1, 0]}), folder / "rows.parquet")
    return Files(folder, weights, pixels)


def run(*words: str) -> str:
    """Run a command and return its output."""
    done = CliRunner().invoke(zoo, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def of_pycaffe(net: pycaffe.Net) -> WeightCollection:
    return WeightCollection.of({name: [blob.data for blob in blobs] for name, blobs in net.params.items()})


def by_loading(files: Files, weights: str) -> WeightCollection:
    net = Net(files["own.prototxt"])
    assert net.load(weights).missing == ()
    return net.get_weights()


def by_copying(files: Files, weights: str) -> WeightCollection:
    net = pycaffe.Net(files["own.prototxt"], pycaffe.TEST)
    net.copy_from(weights)
    return of_pycaffe(net)


def by_training(files: Files, weights: str) -> WeightCollection:
    run("train", "--solver", files["solver.prototxt"], "--weights", weights)
    return WeightCollection.load("trained_iter_1.caffemodel")


def by_training_with_workers(files: Files, weights: str) -> WeightCollection:
    run("train", "--solver", files["solver.prototxt"], "--weights", weights, "--workers", "2", "--run", "run")
    return WeightCollection.load("run/model.caffemodel")


def by_caffe_train(files: Files, weights: str) -> WeightCollection:
    run("caffe", "train", "-solver", files["solver.prototxt"], "-weights", weights)
    return WeightCollection.load("trained_iter_1.caffemodel")


def by_exporting(files: Files, weights: str) -> WeightCollection:
    run("export", files["table.prototxt"], "--weights", weights, "--to", "caffe", "-o", "out")
    return WeightCollection.load("out/deploy.caffemodel")


def by_converting(files: Files, weights: str) -> WeightCollection:
    run("convert", weights, "out.npz", "--net", files["table.prototxt"])
    return WeightCollection.load("out.npz")


WEIGHTS: dict[str, Callable[[Files, str], WeightCollection]] = {
    "Net": lambda files, weights: Net(files["own.prototxt"], weights=weights).get_weights(),
    "Net.load": by_loading,
    "WeightCollection.load": lambda files, weights: WeightCollection.load(weights, OWN_NET),
    "pycaffe.Net": lambda files, weights: of_pycaffe(pycaffe.Net(files["own.prototxt"], 1, weights=weights)),
    "pycaffe.Net.copy_from": by_copying,
    "train": by_training,
    "caffe train": by_caffe_train,
    "export": by_exporting,
    "convert": by_converting,
}


@pytest.mark.parametrize("weights", FORMATS)
@pytest.mark.parametrize("door", WEIGHTS)
def test_weights_reach_the_net(door: str, weights: str, files: Files, here: None) -> None:
    assert same(WEIGHTS[door](files, files[weights]), files.weights)


@pytest.mark.slow
@pytest.mark.parametrize("weights", FORMATS)
def test_weights_reach_workers(weights: str, files: Files, here: None) -> None:
    assert same(by_training_with_workers(files, files[weights]), files.weights)


def same(found: WeightCollection, wanted: WeightCollection) -> bool:
    return found.keys() == wanted.keys() and all(
        np.array_equal(one, other)
        for name in wanted
        for one, other in zip(found[name], wanted[name], strict=True)
    )  # fmt: skip


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def loss_of(files: Files, net: str, **inputs: np.ndarray) -> str:
    return f"{float(Net(files[net], weights=files.weights).forward(**inputs)['loss']):.6g}"


@pytest.mark.parametrize("weights", FORMATS)
def test_a_test_uses_these_weights(weights: str, files: Files, here: None) -> None:
    own = loss_of(files, "own.prototxt")
    assert f"loss {own}" in run("test", files["own.prototxt"], "--weights", files[weights], "--iterations", "1")
    words = "caffe", "test", "-model", files["own.prototxt"], "-weights", files[weights], "-iterations", "1"
    assert f"Loss: {own}" in run(*words)
    rows = loss_of(files, "table.prototxt", data=files.pixels, label=np.array([0, 1, 2, 2, 1, 0], np.float32))
    words = "--weights", files[weights], "--data", files["rows.parquet"]
    assert f"loss {rows}" in run("test", files["table.prototxt"], *words)


@pytest.mark.parametrize("weights", FORMATS)
def test_predictions_use_these_weights(weights: str, files: Files, here: None) -> None:
    words = "--weights", files[weights], files["rows.parquet"], "-o", "out.parquet"
    run("predict", files["table.prototxt"], *words)
    assert np.allclose(pq.read_table("out.parquet")["probability"].to_pylist(), probabilities(files), rtol=1e-5)


def probabilities(files: Files) -> np.ndarray:
    deploy = deploy_model(open_model(files["table.prototxt"], [files["w.caffemodel"]]))
    return Net(deploy.net, weights=files.weights).forward(data=files.pixels)["prob"].numpy()


@pytest.mark.parametrize("weights", FORMATS)
def test_a_model_with_these_weights_is_recognized_as_the_same(weights: str, files: Files, here: None) -> None:
    net = files["table.prototxt"]
    assert "differs by 0.0e+00" in run("verify", f"{net},{files[weights]}", f"{net},{files['w.caffemodel']}")
    words = "--weights", files[weights], "--iterations", "1"
    assert "whole net: forward" in run("time", net, *words)


@pytest.mark.parametrize("weights", FORMATS)
def test_a_file_without_any_of_the_layers_is_refused_everywhere(weights: str, files: Files, here: None) -> None:
    other = NetParams(
        "other", OWN_DATA, LinearLayer("fc", ["data"], num_outputs=3), SoftmaxWithLoss("loss", ["fc", "label"])
    )
    Path("own.prototxt").write_text(other.prototxt())
    Path("solver.prototxt").write_text(SOLVER)
    reason = (
        "fc"
        if weights == "torch.safetensors"
        else "has weights for 'conv', 'scores', but not for a layer of net 'other'"
    )
    doors: list[Callable[[], Any]] = [
        lambda: Net(other, weights=files[weights]),
        lambda: pycaffe.Net("own.prototxt", 1, weights=files[weights]),
        lambda: run("train", "--solver", "solver.prototxt", "--weights", files[weights]),
        lambda: run("train", "--solver", "solver.prototxt", "--weights", files[weights], "--workers", "2"),
        lambda: run("test", "own.prototxt", "--weights", files[weights], "--iterations", "1"),
        lambda: run("time", "own.prototxt", "--weights", files[weights]),
        lambda: run("export", "own.prototxt", "--weights", files[weights], "--to", "caffe"),
    ]
    for door in doors:
        with pytest.raises(WeightsError, match=reason):
            door()


def test_a_net_without_weights_is_not_accepted_as_weights(files: Files, here: None) -> None:
    with pytest.raises(
        WeightsError, match=r"table\.prototxt: the file contains a net but no weights; name the .caffemodel"
    ):
        Net(files["own.prototxt"], weights=files["table.prototxt"])


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    from netdsl.spark.session import open_session

    with open_session("local[2]") as found:
        yield found


@pytest.mark.spark
@pytest.mark.parametrize("weights", FORMATS)
def test_weights_reach_sparks_tasks(weights: str, files: Files, session: Any, here: None) -> None:
    from netdsl.spark import NetEstimator, NetModel

    rows = session.read.parquet(files["rows.parquet"]).coalesce(1)
    model = NetModel(TABLE_NET, files[weights])
    assert same(model.net().get_weights(), files.weights)
    found = [row["probability"] for row in model.transform(rows).collect()]
    assert np.allclose(found, probabilities(files), rtol=1e-5)
    settings = {"max_iter": 1, "base_lr": 0}
    trained = NetEstimator(net=TABLE_NET, solver=settings, weights=files[weights], workers=2).fit(rows)
    assert same(trained.net().get_weights(), files.weights)
