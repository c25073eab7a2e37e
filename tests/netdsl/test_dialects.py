"""Each way of opening a net builds it by its fork's rules, and written files keep them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest

import netdsl.pycaffe as caffe
from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from caffe_proto.dialects import marks_of
from caffe_proto.errors import DialectError
from caffe_proto.files import CaffeFile, read_net, write
from netdsl import Constructor, Net, NetParams, RDDLayer
from netdsl.distributed.run import Run
from netdsl.dsl.source import to_python
from netdsl.errors import DialectWarning
from netdsl.model.deploy.deploy_net import deploy
from netdsl.model.model import open_net
from netdsl.model.opening import add_weights, open_model
from netdsl.solver.settings import open_settings

# With a fourth blob of 3, PSPNet's layer divides by its root, and happynear's multiplies by it.
NET = """name: "n" layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 1 dim: 1 dim: 1 dim: 2 } } }
layer { name: "b" type: "BN" bottom: "x" top: "y"
  bn_param { slope_filler { value: 1 } } }"""
WEIGHTS = {"b": [np.full((1, 1, 1, 1), value, np.float32) for value in (1, 0, 0, 3)]}
X = np.float32([[[[2, -1]]]])
HAPPYNEAR = [6, -3]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    Path("net.prototxt").write_text(NET)
    Path("said.prototxt").write_text("# dialect: happynear\n" + NET)
    yield
    caffe.set_dialect(None)


def top(net: Net) -> list[float]:
    net.set_weights(WEIGHTS)
    return net.forward(x=X)["y"].flatten().tolist()


def test_the_caller_can_name_a_nets_fork() -> None:
    assert top(Net("net.prototxt", dialect="happynear")) == HAPPYNEAR
    assert top(Net("net.prototxt", dialect="pspnet")) == pytest.approx([2 / 3**0.5, -1 / 3**0.5], rel=1e-5)
    assert top(Net(from_text(NET, pb.NetParameter), dialect="happynear")) == HAPPYNEAR
    with pytest.raises(DialectError, match="no dialect 'hapynear'"):
        Net("net.prototxt", dialect="hapynear")


def test_a_net_can_name_its_own_fork() -> None:
    assert top(Net("said.prototxt")) == HAPPYNEAR
    assert top(Net("said.prototxt", dialect="pspnet")) != HAPPYNEAR


def test_ambiguous_layers_are_reported_once() -> None:
    more = 'layer { name: "c" type: "BN" bottom: "y" top: "z" bn_param { } }'
    Path("net.prototxt").write_text(f"{NET}\n{more}")
    with pytest.warns(DialectWarning) as caught:
        Net("net.prototxt")
    (warning,) = caught
    text = str(warning.message)
    assert text.startswith("net.prototxt:2: layer 'b' and 1 more: BN is assumed to be PSPNet's")
    assert "happynear's averages inverse deviations" in text
    assert text.endswith("if the net is for another fork of Caffe, name its dialect")


def test_fields_of_other_layers_determine_the_fork() -> None:
    more = 'layer { name: "c" type: "CenterLoss" center_loss_param { distance_type: "L1" } exclude { } }'
    assert top(Net(from_text(f"{NET}\n{more}", pb.NetParameter))) == HAPPYNEAR


def test_a_binary_weight_file_determines_the_fork() -> None:
    net = Net("net.prototxt", dialect="happynear-ms")
    net.set_weights(WEIGHTS)
    net.save("net.caffemodel")
    assert Net("net.prototxt", weights="net.caffemodel").forward(x=X)["y"].flatten().tolist() == HAPPYNEAR
    assert (
        caffe.Net("net.prototxt", caffe.TEST, weights="net.caffemodel").forward(x=X)["y"].flatten().tolist()
        == HAPPYNEAR
    )
    undecided = open_model("net.prototxt")
    assert marks_of(add_weights(undecided, ["net.caffemodel"]).net) == ("happynear-ms",)
    assert len(marks_of(undecided.net)) > 1


def test_pycaffe_accepts_a_dialect_for_all_nets() -> None:
    caffe.set_dialect("happynear")
    net = caffe.Net("net.prototxt", caffe.TEST)
    for blob, value in zip(net.params["b"], WEIGHTS["b"], strict=True):
        blob.data[...] = value
    net.blobs["x"].data[...] = X
    assert net.forward()["y"].flatten().tolist() == HAPPYNEAR
    caffe.set_dialect(None)
    with pytest.warns(DialectWarning):
        caffe.Net("net.prototxt", caffe.TEST)
    with pytest.raises(DialectError):
        caffe.set_dialect("hapynear")


def test_threads_open_nets_of_different_forks() -> None:
    together = Barrier(2)

    def marks(dialect: str) -> set[tuple[str, ...]]:
        together.wait()
        return {marks_of(open_net("net.prototxt", dialect=dialect).net) for _ in range(20)}

    with ThreadPoolExecutor() as threads:
        assert list(threads.map(marks, ("happynear", "pspnet"))) == [{("happynear",)}, {("pspnet",)}]
    assert len(marks_of(open_net("net.prototxt").net)) > 1


def test_pycaffes_dialect_is_for_its_own_nets_alone() -> None:
    caffe.set_dialect("happynear")
    assert len(marks_of(open_net("net.prototxt").net)) > 1


def test_a_solvers_nets_keep_the_named_dialect(tmp_path: Path) -> None:
    named = pb.SolverParameter(net="net.prototxt", test_iter=[1], test_interval=1)
    inside = open_settings(named).message
    for param in (named, inside):
        opened = open_settings(param, dialect="happynear")
        Run(opened).settled().save(tmp_path / f"run{len(param.net)}")
        for solver in (opened, Run.load(tmp_path / f"run{len(param.net)}").solver):
            assert [marks_of(model.net) for model in (solver.trained, *solver.tested)] == [("happynear",)] * 2


def test_a_net_in_python_names_its_fork() -> None:
    params = NetParams(
        "n",
        RDDLayer("x", shape=[1, 1, 1, 2]),
        Constructor("BN")("b", ["x"], tops=["y"]),
        dialect="happynear",
    )
    assert params.prototxt().startswith("# dialect: happynear\n")
    assert top(Net(params)) == HAPPYNEAR
    source = to_python(open_net(params).net)
    assert '    dialect="happynear",\n)' in source


def test_written_nets_keep_their_meaning() -> None:
    net = open_net("net.prototxt", dialect="happynear").net
    for path in ("again.prototxt", "again.caffemodel"):
        write(CaffeFile(net), path)
        assert top(Net(path)) == HAPPYNEAR
    write(CaffeFile(deploy(net)), "deploy.prototxt")
    assert top(Net("deploy.prototxt")) == HAPPYNEAR
    Net(net).save("saved.caffemodel")
    assert marks_of(read_net("saved.caffemodel").message) == ("happynear",)


def test_a_bvlc_net_is_unaffected_by_dialects(recwarn: pytest.WarningsRecorder) -> None:
    text = NET.replace('"BN"', '"ReLU"').replace("bn_param { slope_filler { value: 1 } }", "")
    assert marks_of(open_net(from_text(text, pb.NetParameter)).net) == ()
    Net(from_text(text, pb.NetParameter))
    assert not recwarn
