"""Nets as Python expressions: their names and messages."""

from __future__ import annotations

import copy

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl.errors import NetError
from netdsl.pycaffe import NetSpec, to_proto
from netdsl.pycaffe import layers as L
from netdsl.pycaffe import params as P
from netdsl.pycaffe.net_spec import assign_proto, param_name_dict

DATA = {"shape": [{"dim": [2, 1, 8, 8]}, {"dim": [2]}], "ntop": 2}


def net(text: str) -> pb.NetParameter:
    return from_text(text, pb.NetParameter)


def test_attributes_name_blobs_and_layers() -> None:
    n = NetSpec()
    n.data, n.label = L.DummyData(**DATA)
    n.conv = L.Convolution(
        n.data, kernel_size=3, num_output=4, weight_filler={"type": "xavier"}, param=[{"lr_mult": 1}, {"lr_mult": 2}]
    )
    n.pool = L.Pooling(n.conv, pool=P.Pooling.AVE, kernel_size=2)
    n.relu = L.ReLU(n.pool, in_place=True)
    n["ip"] = L.InnerProduct(n.relu, num_output=10, loss_weight=0.5)
    n.loss = L.SoftmaxWithLoss(n["ip"], n.label, loss_param={"ignore_label": 3}, include={"phase": pb.TRAIN})
    assert n.to_proto() == net("""
        layer { name: "data" type: "DummyData" top: "data" top: "label"
          dummy_data_param { shape { dim: 2 dim: 1 dim: 8 dim: 8 } shape { dim: 2 } } }
        layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
          param { lr_mult: 1 } param { lr_mult: 2 }
          convolution_param { num_output: 4 kernel_size: 3 weight_filler { type: "xavier" } } }
        layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool" pooling_param { pool: AVE kernel_size: 2 } }
        layer { name: "relu" type: "ReLU" bottom: "pool" top: "pool" }
        layer { name: "ip" type: "InnerProduct" bottom: "pool" top: "ip" loss_weight: 0.5
          inner_product_param { num_output: 10 } }
        layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss"
          loss_param { ignore_label: 3 } include { phase: TRAIN } }
    """)


def test_unnamed_tops_are_named_by_type_and_number() -> None:
    data, label = L.DummyData(**DATA)
    one = L.ReLU(L.InnerProduct(data, num_output=3), in_place=True)
    two = L.Dropout(L.InnerProduct(one, num_output=3))
    loss = L.SoftmaxWithLoss(two, label)
    names = [(layer.name, list(layer.bottom), list(layer.top)) for layer in loss.to_proto().layer]
    assert names == [
        ("DummyData1", [], ["DummyData1", "DummyData2"]),
        ("InnerProduct1", ["DummyData1"], ["InnerProduct1"]),
        ("ReLU1", ["InnerProduct1"], ["InnerProduct1"]),
        ("InnerProduct2", ["InnerProduct1"], ["InnerProduct2"]),
        ("Dropout1", ["InnerProduct2"], ["Dropout1"]),
        ("SoftmaxWithLoss1", ["Dropout1", "DummyData2"], ["SoftmaxWithLoss1"]),
    ]
    assert [layer.name for layer in to_proto(one, label).layer] == ["DummyData1", "InnerProduct1", "ReLU1"]


def test_given_and_generated_names_do_not_clash() -> None:
    n = NetSpec()
    data = L.Input(shape={"dim": [1, 2]})
    n.out = L.Eltwise(L.Power(data), L.Power(data))
    n.data = data
    assert [(layer.name, list(layer.bottom)) for layer in n.to_proto().layer] == [
        ("data", []),
        ("Power1", ["data"]),
        ("Power2", ["data"]),
        ("out", ["Power1", "Power2"]),
    ]
    assert n.to_proto() == n.to_proto()


def test_layers_without_tops_are_named_too() -> None:
    n = NetSpec()
    n.data, n.more = L.DummyData(shape={"dim": 3}, ntop=2)
    n.quiet = L.Silence(n.data, ntop=0)
    assert [(layer.name, len(layer.top)) for layer in n.to_proto().layer] == [("data", 2), ("quiet", 0)]
    assert to_proto(L.Silence(n.data, ntop=0), L.Silence(n.more, ntop=0)).layer[2].name == "Silence2"


def test_a_layers_type_may_be_unknown_or_use_another_types_settings() -> None:
    n = NetSpec()
    n.mine = L.Nobodys(propagate_down=[], python_param={"module": "m", "layer": "x"})
    n.up = L.Deconvolution(n.mine, num_output=2, kernel_size=[3, 4])
    n.six = L.ReLU(n.up, negative_slope=0.5)
    mine, up, six = n.to_proto().layer
    assert mine.type == "Nobodys" and mine.python_param.module == "m"
    assert up.convolution_param.num_output == 2 and list(up.convolution_param.kernel_size) == [3, 4]
    assert six.relu_param.negative_slope == 0.5


def test_a_net_of_a_thousand_unnamed_layers_is_written() -> None:
    top = L.Input(shape={"dim": 1})
    for _ in range(1500):
        top = L.Power(top)
    assert to_proto(top).layer[-1].name == "Power1500"


def test_layers_accept_only_blobs_as_bottoms() -> None:
    data = L.DummyData(ntop=2)
    with pytest.raises(TypeError, match=r"^Silence input 0 is not a Top \(type is <class 'tuple'>\); pass a top of"):
        L.Silence(data, ntop=0)
    n = NetSpec()
    n.data = data
    with pytest.raises(NetError, match="'data' isn't a blob but a tuple"):
        n.to_proto()


def test_wrong_settings_are_named() -> None:
    with pytest.raises(NetError, match="ConvolutionParameter has no setting 'kernel_sise'; did you mean kernel_size"):
        L.Convolution(kernel_sise=3).to_proto()
    with pytest.raises(NetError, match="FillerParameter has no setting 'kind'"):
        L.Convolution(weight_filler={"kind": "xavier"}).to_proto()
    with pytest.raises(AttributeError):
        _ = P.Pooling.MEDIAN
    with pytest.raises(AttributeError, match="has no blob 'fc'"):
        _ = NetSpec().fc


def test_a_value_is_stored_in_the_field_of_its_type() -> None:
    layer = pb.LayerParameter()
    assign_proto(layer, "top", "one")
    assign_proto(layer, "top", ("two", "three"))
    assign_proto(layer, "include", {"phase": pb.TEST, "stage": ["a"]})
    assign_proto(layer, "include", [{"stage": "b"}, {}])
    assign_proto(layer, "relu_param", {})
    assert list(layer.top) == ["one", "two", "three"] and not layer.HasField("relu_param")
    assert [list(rule.stage) for rule in layer.include] == [["a"], ["b"], []]


def test_settings_are_found_by_type() -> None:
    names = param_name_dict()
    assert names["Convolution"] == "convolution" and names["ReLU"] == "relu" and names["LRN"] == "lrn"
    assert names["InnerProduct"] == "inner_product" and names["PriorBox"] == "prior_box"


def test_a_spec_can_be_copied() -> None:
    n = NetSpec()
    n.data = L.Input(shape={"dim": 1})
    assert copy.copy(n).to_proto() == n.to_proto()


def test_the_net_runs(make_net) -> None:
    n = NetSpec()
    n.data, n.label = L.DummyData(**DATA)
    n.ip = L.InnerProduct(n.data, num_output=10)
    n.loss = L.SoftmaxWithLoss(n.ip, n.label)
    assert make_net(str(n.to_proto())).forward()["loss"] == pytest.approx(2.302585)
