"""Transferring weights between files and the layers of a built net."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from caffe_proto.files import CaffeFile, Form, read_net, write
from netdsl.errors import WeightsError
from netdsl.model.opening import load_weights
from netdsl.model.weights.files import allocate_with_weights, copy_weights, learned_layers, save_net, shared_blobs
from netdsl.model.weights.match import arrays_of
from netdsl.net.build import Built, build
from netdsl.net.graph import Phase, resolve
from netdsl.net.module import NetModule

# Two layers with the same name, one without a name, shared parameters of equal and of different shapes, and a loss
# without a top.
TEXT = """name: "whole"
layer { name: "in" type: "Input" top: "x" top: "z" input_param { shape { dim: 2 dim: 6 } shape { dim: 2 dim: 4 } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "a" param { name: "w" }
  inner_product_param { num_output: 4 weight_filler { type: "gaussian" std: 1 } } }
layer { name: "ip" type: "InnerProduct" bottom: "a" top: "b"
  inner_product_param { num_output: 3 weight_filler { type: "gaussian" std: 1 } } }
layer { name: "same" type: "InnerProduct" bottom: "x" top: "c" param { name: "w" }
  inner_product_param { num_output: 4 bias_filler { type: "gaussian" std: 1 } } }
layer { name: "turned" type: "InnerProduct" bottom: "z" top: "d" param { name: "w" share_mode: PERMISSIVE }
  inner_product_param { num_output: 6 bias_term: false } }
layer { type: "BatchNorm" bottom: "x" top: "n" batch_norm_param { moving_average_fraction: 0.5 } }
layer { name: "loss" type: "EuclideanLoss" bottom: "a" bottom: "c" }
"""


def made(text: str = TEXT, phase: Phase = Phase.TRAIN) -> Built:
    return NetModule(build(resolve(from_text(text, pb.NetParameter), phase))).allocate().built


def values(built: Built) -> dict[str, list[np.ndarray]]:
    layers = learned_layers(built).items()
    return {name: [blob.detach().numpy().copy() for blob in layer.blob_tensors()] for name, layer in layers}


def same(one: dict[str, list[np.ndarray]], other: dict[str, list[np.ndarray]]) -> bool:
    return one.keys() == other.keys() and all(
        np.array_equal(mine, theirs) for name in one for mine, theirs in zip(one[name], other[name], strict=True)
    )


def test_every_layer_with_blobs_has_a_unique_name():
    built = made()
    assert [*learned_layers(built)] == ["ip", "ip (2)", "same", "turned", ""]
    assert shared_blobs(built) == {("same", 0), ("turned", 0)}


def test_saved_weights_are_loaded_unchanged(tmp_path: Path) -> None:
    net, other = made(), made()
    module = NetModule(net)
    module(torch.rand(2, 6), torch.rand(2, 4))  # fills BatchNorm's sums
    save_net(net, tmp_path / "x.caffemodel")
    assert not same(values(net), values(other))
    report = load_weights(tmp_path / "x.caffemodel", other)
    assert report.matched == tuple(learned_layers(net)) and not report.missing and not report.unused
    assert same(values(net), values(other)) and values(other)[""][2].tolist() == [1]
    one, two = (learned_layers(other)[name].weight for name in ("ip", "turned"))
    assert one.data_ptr() == two.data_ptr()


def test_a_caffemodel_has_caffes_own_format(tmp_path: Path) -> None:
    net = made()
    save_net(net, tmp_path / "x.caffemodel")
    file = read_net(tmp_path / "x.caffemodel")
    assert file.message.name == "whole" and not file.message.HasField("state")
    assert [layer.name for layer in file.message.layer] == ["in", "ip", "ip", "same", "turned", "", "loss"]
    assert not file.message.layer[-1].top and file.message.layer[1].phase == pb.TRAIN
    shapes = [[list(blob.shape.dim) for blob in layer.blobs] for layer in file.message.layer]
    assert shapes == [[], [[4, 6], [4]], [[3, 4], [3]], [[4, 6], [4]], [[6, 4]], [[6], [6], [1]], []]
    assert same(arrays_of(file), values(net))


def test_hdf5_stores_a_shared_blob_once(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    text = TEXT.replace('name: "ip" type: "InnerProduct" bottom: "a"', 'name: "ip2" type: "InnerProduct" bottom: "a"')
    text = text.replace('layer { type: "BatchNorm"', 'layer { name: "bn" type: "BatchNorm"')
    net, other = made(text), made(text)
    save_net(net, tmp_path / "x.caffemodel.h5")
    with h5py.File(tmp_path / "x.caffemodel.h5") as file:
        assert {name: list(file["data"][name]) for name in ("ip", "same", "turned")} == {
            "ip": ["0", "1"],
            "same": ["1"],
            "turned": [],
        }
    report = load_weights(tmp_path / "x.caffemodel.h5", other)
    assert not report.missing and report.unused == ()
    assert same(values(net), values(other))


def test_a_net_from_a_file_with_weights_is_saved_with_its_own(tmp_path: Path) -> None:
    net = made()
    save_net(net, tmp_path / "x.caffemodel")
    again = NetModule(build(resolve(read_net(tmp_path / "x.caffemodel").message, Phase.TRAIN))).allocate().built
    save_net(again, tmp_path / "y.caffemodel")
    assert same(arrays_of(read_net(tmp_path / "y.caffemodel")), values(again))


def test_no_weights_are_copied_if_any_do_not_fit(tmp_path: Path) -> None:
    save_net(made(), tmp_path / "x.caffemodel")
    other = made(TEXT.replace("num_output: 3", "num_output: 5"))
    before = values(other)
    with pytest.raises(WeightsError, match=r"x.caffemodel: layer 'ip \(2\)': blob 0 has shape \[5, 4\]"):
        load_weights(tmp_path / "x.caffemodel", other)
    assert same(values(other), before)
    report = load_weights(tmp_path / "x.caffemodel", other, partial=True)
    assert [each.layer for each in report.mismatched] == ["ip (2)"]
    assert not same(values(other), before)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_blobs_of_other_types_keep_the_same_values(tmp_path: Path, dtype: torch.dtype) -> None:
    built = made('layer { name: "p" type: "Parameter" top: "y" parameter_param { shape { dim: 2 dim: 3 } } }')
    NetModule(built).to(dtype)
    given = np.array([[0.5, 1, -2], [3, 4, 5]])
    copy_weights(built, {"p": [given]})
    (blob,) = learned_layers(built)["p"].blob_tensors()
    assert blob.dtype is dtype and blob.tolist() == given.tolist()
    save_net(built, tmp_path / "x.caffemodel")
    np.testing.assert_array_equal(arrays_of(read_net(tmp_path / "x.caffemodel"))["p"][0], given)


def test_halves_and_doubles_of_old_shape_come_from_a_file(tmp_path: Path) -> None:
    file = CaffeFile(pb.NetParameter(), form=Form.BINARY)
    layer = file.message.layers.add(name="ip")
    for array in (np.arange(24.0).reshape(1, 1, 4, 6), np.arange(4.0).reshape(1, 1, 1, 4)):
        blob = layer.blobs.add()
        file.blobs.put(blob, array)
        blob.num, blob.channels, blob.height, blob.width = array.shape
        blob.ClearField("shape")
    write(file, tmp_path / "x.caffemodel")
    net = made()
    report = load_weights(tmp_path / "x.caffemodel", net)
    assert (report.matched, report.missing) == (("ip",), ("ip (2)", "same", ""))
    assert values(net)["ip"][0].tolist() == np.arange(24.0).reshape(4, 6).tolist()
    assert values(net)["ip"][1].tolist() == [0, 1, 2, 3]


def test_a_mapped_file_is_read_without_a_copy_of_it_in_memory(tmp_path: Path) -> None:
    """tracemalloc sees numpy's memory, so it would see the biggest blob."""
    import tracemalloc

    text = """layer { name: "p" type: "Parameter" top: "y" parameter_param { shape { dim: 1000 dim: 1003 } } }"""
    save_net(made(text), tmp_path / "x.caffemodel")
    net = made(text)
    tracemalloc.start()
    try:
        load_weights(tmp_path / "x.caffemodel", net)
        assert tracemalloc.get_traced_memory()[1] < 1000 * 1003  # a quarter of the blob's bytes
    finally:
        tracemalloc.stop()


def test_layers_get_memory_filled_from_a_mapped_file(tmp_path: Path) -> None:
    net = made()
    save_net(net, tmp_path / "x.caffemodel")
    weights = arrays_of(read_net(tmp_path / "x.caffemodel"))
    for _ in range(2):  # released pages are read from the file again
        other = build(resolve(from_text(TEXT, pb.NetParameter), Phase.TRAIN))
        allocate_with_weights(other, weights)
        assert same(values(net), values(other))
    one, shared, turned = (learned_layers(other)[name].weight for name in ("ip", "same", "turned"))
    assert one is shared and one.data_ptr() == turned.data_ptr()
    without = build(resolve(from_text(TEXT, pb.NetParameter), Phase.TRAIN))
    with pytest.raises(WeightsError, match=r"there are no weights for layer 'ip \(2\)'"):
        allocate_with_weights(without, {name: arrays for name, arrays in weights.items() if name != "ip (2)"})
    with pytest.raises(WeightsError, match="net 'whole' has no weights here; name their files"):
        allocate_with_weights(without, {})
