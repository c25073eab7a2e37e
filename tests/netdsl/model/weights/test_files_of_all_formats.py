"""Files that contain weights only, in other programs' formats."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text, read_net
from caffe_proto.errors import FileError
from netdsl.errors import WeightsError
from netdsl.model.model import Model
from netdsl.model.opening import layout_of, open_weights
from netdsl.model.weights.tensor_files import Precision, write_tensors
from netdsl.model.weights.torch_names import MatchedBy, TensorMatch
from netdsl.model.weights.writing import caffe_file_of, write_weights
from netdsl.training.net import Net

NET = from_text(
    """name: "n"
    layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 2 dim: 3 dim: 7 dim: 7 } } }
    layer { name: "conv1/3x3.a" type: "Convolution" bottom: "x" top: "c"
      convolution_param { num_output: 4 kernel_size: 3 bias_term: false weight_filler { type: "xavier" } } }
    layer { name: "bn" type: "BatchNorm" bottom: "c" top: "c" }
    layer { name: "scale" type: "Scale" bottom: "c" top: "c" scale_param { bias_term: true } }
    layer { name: "ip" type: "InnerProduct" bottom: "c" top: "ip"
      inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }""",
    pb.NetParameter,
)


class ReorderedNet(nn.Module):
    """The same net as torch users would write it, with its parts in another order."""

    def __init__(self, classes: int = 5) -> None:
        super().__init__()
        self.head = nn.Linear(100, classes)
        self.features = nn.Sequential(nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU())


def skip_without_its_extra(name: str) -> None:
    for suffix, package in ((".safetensors", "safetensors"), (".h5", "h5py")):
        if name.endswith(suffix):
            pytest.importorskip(package)


def weights() -> dict[str, list[np.ndarray]]:
    random = np.random.default_rng(0)
    return {
        layer: [random.standard_normal(shape).astype(np.float32) for shape in blobs.values()]
        for layer, blobs in layout_of(Model(NET)).items()
    }


def same(one: dict[str, list[np.ndarray]], other: dict[str, list[np.ndarray]]) -> bool:
    return one.keys() == other.keys() and all(
        mine.dtype == theirs.dtype and np.array_equal(mine, theirs)
        for name in one
        for mine, theirs in zip(one[name], other[name], strict=True)
    )


def test_the_bytes_of_a_file_depend_only_on_its_contents(tmp_path: Path) -> None:
    safe_open = pytest.importorskip("safetensors").safe_open
    arrays = {"b": np.ones(3, np.float32), "a": np.ones((2, 1), np.float16)}
    about = {f"key {number}": "é" for number in range(20)}
    for number in range(2):
        write_tensors(tmp_path / f"{number}.safetensors", arrays, about=about)
    assert (tmp_path / "0.safetensors").read_bytes() == (tmp_path / "1.safetensors").read_bytes()
    with safe_open(tmp_path / "0.safetensors", "np") as file:
        assert file.metadata() == about
        assert all(np.array_equal(file.get_tensor(name), array) for name, array in arrays.items())


@pytest.mark.parametrize("name", ["w.safetensors", "w.npz", "w.pt", "w.pth", "w.caffemodel", "w.h5"])
def test_written_files_are_read_again(name: str, tmp_path: Path) -> None:
    skip_without_its_extra(name)
    write_weights(weights(), tmp_path / name, net=NET)
    assert same(open_weights(tmp_path / name).weights, weights())
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_blobs_are_named_by_layer_and_index_for_other_programs(tmp_path: Path) -> None:
    safe_open = pytest.importorskip("safetensors").safe_open
    write_weights(weights(), tmp_path / "w.safetensors", net=NET)
    with safe_open(tmp_path / "w.safetensors", "np") as file:
        assert file.metadata() == {"format": "caffe", "names": "LAYER.INDEX", "net": "n"}
        assert np.array_equal(file.get_tensor("conv1/3x3.a.0"), weights()["conv1/3x3.a"][0])
    write_weights(weights(), tmp_path / "w.pt")
    assert "bn.2" in torch.load(tmp_path / "w.pt", weights_only=True)


@pytest.mark.parametrize(
    ("name", "precision"), [("w.npz", "FLOAT16"), ("w.pt", "BFLOAT16"), ("w.safetensors", "BFLOAT16")]
)
def test_weights_can_be_kept_in_half_the_space(name: str, precision: str, tmp_path: Path) -> None:
    skip_without_its_extra(name)
    write_weights(weights(), tmp_path / name, precision=Precision[precision])
    kind = Precision[precision].value
    found = open_weights(tmp_path / name).weights["ip"][0]
    assert np.array_equal(found.astype(np.float32), torch.from_numpy(weights()["ip"][0]).to(kind).float().numpy())
    write_weights(weights(), tmp_path / f"full.{name}")
    assert (tmp_path / name).stat().st_size < 0.8 * (tmp_path / f"full.{name}").stat().st_size


def test_a_caffemodel_has_the_layers_of_its_net(tmp_path: Path) -> None:
    write_weights(weights(), tmp_path / "w.caffemodel", net=NET)
    assert [layer.type for layer in read_net(tmp_path / "w.caffemodel").message.layer][1] == "Convolution"
    twice = pb.NetParameter(layer=[pb.LayerParameter(name="a"), pb.LayerParameter(name="a")])
    made = caffe_file_of({"a": [np.zeros(2)], "a (2)": [np.zeros(3)]}, twice).message
    assert [[*layer.blobs[0].shape.dim] for layer in made.layer] == [[2], [3]]


def test_a_state_dict_is_matched_by_shape_and_the_matches_are_reported(tmp_path: Path) -> None:
    module = ReorderedNet()
    module.features[1].running_mean.uniform_()
    torch.save({"state_dict": module.state_dict(), "epoch": 3}, tmp_path / "w.pt")
    found = open_weights(tmp_path / "w.pt", Model(NET))
    assert found.names == (
        TensorMatch("features.0", "conv1/3x3.a", MatchedBy.SHAPE),
        TensorMatch("features.1.running_mean", "bn", MatchedBy.SHAPE),
        TensorMatch("features.1", "scale", MatchedBy.SHAPE),
        TensorMatch("head", "ip", MatchedBy.SHAPE),
    )
    x = torch.randn(2, 3, 7, 7)
    net = Net(NET, weights=found.weights)
    with torch.no_grad():
        wanted = module.eval().head(module.features[:2](x).flatten(1))
    torch.testing.assert_close(net.forward(x=x)["ip"], wanted)  # torch's own tolerance for single precision


def test_tensors_are_matched_by_order_and_by_our_modules_names(tmp_path: Path) -> None:
    state = ReorderedNet().state_dict()
    ordered = {name: state[name] for name in sorted(state)}  # this puts features before head
    torch.save(ordered, tmp_path / "w.pt")
    assert {each.by for each in open_weights(tmp_path / "w.pt", Model(NET)).names} == {MatchedBy.ORDER}
    torch.save(Net(NET, weights=weights()).module.state_dict(), tmp_path / "own.pt")
    own = open_weights(tmp_path / "own.pt", Model(NET))
    assert same(own.weights, weights())
    assert {each.by for each in own.names} == {MatchedBy.NAME}


def test_all_mismatches_are_reported_at_once(tmp_path: Path) -> None:
    torch.save({**ReorderedNet(classes=6).state_dict(), "extra": torch.zeros(2, 3)}, tmp_path / "w.pt")
    wanted = r"w.pt: there are no tensors for layer .* there is no layer for 'head' \(6x100, 6\), '.extra' \(2x3\)"
    with pytest.raises(WeightsError, match=wanted):
        open_weights(tmp_path / "w.pt", Model(NET))
    torch.save({"a.0": torch.zeros(2), "a.2": torch.zeros(2)}, tmp_path / "gap.pt")
    with pytest.raises(WeightsError, match=r"gap.pt: names such as 'a.0' don't have the form LAYER.INDEX"):
        open_weights(tmp_path / "gap.pt")
    with pytest.raises(
        WeightsError, match=r"w.pt: names such as 'head.weight' don't have the form LAYER.INDEX; name the net"
    ):
        open_weights(tmp_path / "w.pt")


class Evil:
    def __reduce__(self):
        return (Path.touch, (Path("touched"),))


def test_nothing_is_ever_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"a": Evil()}, "w.pt")
    Path("w.pth").write_bytes(pickle.dumps({"a": Evil()}))
    np.savez("w.npz", a=np.array([Evil()], object))
    for name in ("w.pt", "w.pth", "w.npz"):
        with pytest.raises(FileError, match=f"{name}: not a readable .* file"):
            open_weights(name)
    assert not Path("touched").exists()


@pytest.mark.parametrize("name", ["w.safetensors", "w.npz", "w.pt"])
def test_missing_and_damaged_files_are_reported(name: str, tmp_path: Path) -> None:
    skip_without_its_extra(name)
    with pytest.raises(FileError, match="can't be opened"):
        open_weights(tmp_path / name)
    write_weights(weights(), tmp_path / name)
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:-700])
    with pytest.raises(FileError, match=f"{name}: not a readable"):
        open_weights(tmp_path / name)


def test_weights_that_cannot_be_written_are_reported_and_leave_no_file(tmp_path: Path) -> None:
    with pytest.raises(
        FileError, match=r"weights can't be written as '.txt'; use one of \.caffemodel, \.h5, \.safetensors"
    ):
        write_weights(weights(), tmp_path / "w.txt")
    with pytest.raises(FileError, match="numpy doesn't have bfloat16"):
        write_weights(weights(), tmp_path / "w.npz", precision=Precision.BFLOAT16)
    torch.save([torch.zeros(2)], tmp_path / "w.pt")
    with pytest.raises(FileError, match="doesn't contain a state_dict"):
        open_weights(tmp_path / "w.pt")
    assert [path.name for path in tmp_path.iterdir()] == ["w.pt"]
