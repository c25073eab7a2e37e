"""Opening nets and weights: what can be opened, in which order of precedence, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import FileError
from caffe_proto.files import read_net
from netdsl import LinearLayer, Net, NetParams, RDDLayer, WeightCollection
from netdsl.errors import ShapeWarning, WeightsError
from netdsl.model.formats import FORMATS
from netdsl.model.model import Model, open_net
from netdsl.model.opening import open_model, open_weights
from netdsl.model.weights.writing import write_weights
from netdsl.registry import register_format
from tests.registered import restored

PARAMS = NetParams(
    "two",
    RDDLayer("data", shape=[2, 3]),
    LinearLayer("one", ["data"], num_outputs=4),
    LinearLayer("other", ["one"], num_outputs=5),
)
OLD = """name: "old" input: "data"
layers { name: "ip" type: INNER_PRODUCT bottom: "data" top: "ip" inner_product_param { num_output: 5 } }"""


def filled(value: float, *names: str) -> WeightCollection:
    shapes = {"one": [(4, 3), (4,)], "other": [(5, 4), (5,)]}
    return WeightCollection.of({name: [np.full(shape, value) for shape in shapes[name]] for name in names})


def values(model: Model) -> dict[str, float]:
    return {name: float(arrays[0].flat[0]) for name, arrays in model.weights.items()}


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a net with weights of 1, and files with other weights."""
    monkeypatch.chdir(tmp_path)
    Net(PARAMS, weights=filled(1, "one", "other")).save("whole.caffemodel")
    write_weights(filled(2, "other"), "other.npz")
    write_weights(filled(3, "one", "other"), "both.caffemodel")


def test_the_last_file_with_a_layer_counts(saved: None) -> None:
    model = open_model("whole.caffemodel", ["other.npz"])
    assert values(model) == {"one": 1, "other": 2}
    assert {name: path.name for name, path in model.sources.items()} == {
        "one": "whole.caffemodel",
        "other": "other.npz",
    }
    assert model.file is None
    assert values(open_model("whole.caffemodel", ["both.caffemodel", "other.npz"])) == {"one": 3, "other": 2}
    assert not any(layer.blobs for layer in model.net.layer)


def test_weights_may_be_a_single_string_or_path(saved: None) -> None:
    for file in ("both.caffemodel", Path("both.caffemodel")):
        assert values(open_model(PARAMS, file)) == {"one": 3, "other": 3}


def test_a_file_with_exactly_the_weights_is_found(saved: None) -> None:
    for model in (open_model("both.caffemodel"), open_model(PARAMS, ["both.caffemodel"])):
        assert model.file is not None and model.file.message.layer[0].name == "one"
    assert open_model(PARAMS, ["both.caffemodel", "other.npz"]).file is None


def test_nets_are_accepted_as_messages_descriptions_and_open_files(saved: None) -> None:
    file = read_net("whole.caffemodel")
    assert open_net(PARAMS).net == open_net(PARAMS.message).net == PARAMS.message
    assert values(open_net(file)) == {"one": 1, "other": 1} and file.message.layer[1].blobs


def test_an_input_without_a_shape_gets_a_typical_one_by_default(tmp_path: Path) -> None:
    (tmp_path / "old.prototxt").write_text(OLD)
    net = open_net(tmp_path / "old.prototxt").net
    assert ([*net.input], [layer.type for layer in net.layer]) == (["data"], ["InnerProduct"])
    assert open_net(net).net == net
    with pytest.warns(ShapeWarning, match="'data' is assumed to be 3x224x224"):
        assert Net(net).get_weights()["ip"][0].shape == (5, 3 * 224 * 224)
    assert Net(net, shapes={"data": (7,)}).get_weights()["ip"][0].shape == (5, 7)


def test_names_without_a_counterpart_in_the_net_are_refused(saved: None) -> None:
    write_weights(WeightCollection.of({"third": [np.zeros(2)]}), "third.npz")
    reason = r"third.npz: the file has weights for 'third', but not for a layer of net 'two', which has 'data', 'one'"
    with pytest.raises(WeightsError, match=reason):
        open_model(PARAMS, ["third.npz"])
    Path("bare.prototxt").write_text(PARAMS.prototxt())
    with pytest.raises(WeightsError, match=r"bare.prototxt: the file contains a net but no weights"):
        open_weights("bare.prototxt")
    for name in ("other.npz", "other.safetensors"):
        with pytest.raises(FileError, match=rf"{name}: the file contains weights but no net"):
            open_model(name)
    with pytest.raises(FileError, match="contains a solver's state instead of a net"):
        Path("x.solverstate").write_bytes(pb.SolverState(iter=3, learned_net="x").SerializeToString())
        open_weights("x.solverstate")


def test_weights_without_a_net_are_a_model_without_layers(saved: None) -> None:
    for name, value in (("both.caffemodel", 3), ("other.npz", 2)):
        opened = open_weights(name)
        assert not opened.net.layer and set(values(opened).values()) == {value}
        assert opened.files == (Path(name),) and (opened.file is None) == (name == "other.npz")


@pytest.mark.parametrize("name", ["none.npz", "none.caffemodel"])
def test_a_file_without_weights_is_named(saved: None, name: str) -> None:
    write_weights({}, name)
    for door in (lambda: open_model(PARAMS, [name]), lambda: Net(PARAMS, weights=name)):
        with pytest.raises(
            WeightsError, match=rf"^{name}: the file has no weights; name a file with weights, such as a \.caffemodel$"
        ):
            door()


def test_another_format_is_registered_and_opened_everywhere(tmp_path: Path) -> None:
    (tmp_path / "x.mine").write_text("7")
    with restored(FORMATS):

        @register_format(".mine")
        def read_mine(path: Path) -> Model:
            return Model(PARAMS.message, filled(float(path.read_text()), "one", "other"))

        assert values(open_model(tmp_path / "x.mine")) == {"one": 7, "other": 7}
        assert Net(PARAMS, weights=tmp_path / "x.mine").get_weights() == filled(7, "one", "other")
        assert WeightCollection.load(tmp_path / "x.mine") == filled(7, "one", "other")


def test_importing_converters_loads_no_slow_modules() -> None:
    program = "import sys, converters; print(*{'torch', 'numpy', 'google.protobuf', 'onnx'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
