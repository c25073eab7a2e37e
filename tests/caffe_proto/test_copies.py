"""Copying messages."""

from __future__ import annotations

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of, with_layers, with_texts


def test_changing_a_copy_leaves_the_original_unchanged() -> None:
    layer = pb.LayerParameter(name="a", top=["b"])
    copy = copy_of(layer)
    copy.top[0] = "c"
    assert (layer.top, copy.top) == (["b"], ["c"])


def test_a_copy_without_some_fields_keeps_the_others() -> None:
    param = pb.SolverParameter(net="n", base_lr=0.5, test_iter=[3])
    assert copy_of(param, without=("net", "test_iter", "snapshot")) == pb.SolverParameter(base_lr=0.5)
    assert param.net == "n"


def test_layers_can_be_replaced_while_the_nets_other_fields_stay() -> None:
    net = pb.NetParameter(name="n", force_backward=True, layer=[pb.LayerParameter(name="a")])
    other = with_layers(net, [*net.layer, pb.LayerParameter(name="b")])
    other.layer[0].name = "changed"
    assert [layer.name for layer in other.layer] == ["changed", "b"]
    assert (other.name, other.force_backward, net.layer[0].name) == ("n", True, "a")


def test_texts_are_changed_at_all_depths_of_a_copy() -> None:
    layer = pb.LayerParameter(name="a", top=["a", "b"], data_param=pb.DataParameter(source="a/c", batch_size=3))
    changed = with_texts(pb.NetParameter(layer=[layer]), lambda text: text.replace("a", "d"))
    assert changed.layer[0] == pb.LayerParameter(
        name="d", top=["d", "b"], data_param=pb.DataParameter(source="d/c", batch_size=3)
    )
    assert layer.name == "a"
