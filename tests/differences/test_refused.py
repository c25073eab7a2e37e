"""Nets that Caffe refuses or runs differently, line by line of docs/caffe_differences.md."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from converters.caffe_training import training_for_caffe
from netdsl.checking.lint import Finding, check_net
from netdsl.errors import NetError, ShapeError
from netdsl.net.feed import Feeds
from netdsl.net.graph import resolve
from netdsl.training.net import Net
from tests.differences.shown import shows


def net_of(text: str) -> Net:
    return Net(from_text(text, pb.NetParameter))


def checked(text: str) -> Finding:
    """Return the output of `zoo check` for a net."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "net.prototxt"
        file.write_text(text)
        return check_net(file, run=True)


def notes(text: str) -> list[str]:
    """Return the notes about Caffe that `zoo check` prints for a net that is valid here, without the file's name."""
    finding = checked(text)
    assert finding.resolved and finding.ran, finding.reason
    return [note.partition("net.prototxt:")[2] for note in finding.caffe_notes]


def input_of(**shapes: tuple[int, ...]) -> str:
    tops = " ".join(f"top: '{name}'" for name in shapes)
    stated = " ".join(f"shape {{ {' '.join(f'dim: {length}' for length in shape)} }}" for shape in shapes.values())
    return f"layer {{ name: 'in' type: 'Input' {tops} input_param {{ {stated} }} }}\n"


@shows("A loss with several tops and no `loss_weight`")
def test_a_loss_with_two_tops_and_no_weights_differs() -> None:
    loss = "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'x' bottom: 'y' top: 'loss' top: 'prob' %s }"
    inputs = input_of(x=(2, 3), y=(2,))
    assert net_of(inputs + loss % "").module.losses == {2: 1.0}
    assert notes(inputs + loss % "loss_weight: 1 loss_weight: 0") == []
    assert notes(inputs + loss % "") == ["2: layer 'loss': Caffe refuses 2 tops without loss_weight; give one for each"]


@shows("`BatchNorm` of a bottom with one axis")
def test_batch_norm_on_one_axis() -> None:
    text = input_of(x=(4,)) + "layer { name: 'bn' type: 'BatchNorm' bottom: 'x' top: 'y' %s }"
    net = net_of(text % "batch_norm_param { use_global_stats: false }")  # its eps is 1e-5
    assert net.forward(x=torch.tensor([1.0, 3.0, 1.0, 3.0]))["y"].tolist() == pytest.approx([-1, 1, -1, 1], abs=1e-5)
    (note,) = notes(text % "")
    assert note == "2: layer 'bn': Caffe refuses a bottom with a single axis; add a second axis with a Reshape layer"


@shows("`Input` without a shape")
def test_an_input_without_a_shape() -> None:
    finding = checked("""
    layer { name: 'in' type: 'Input' top: 'x' }
    layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y' inner_product_param { num_output: 2 } }""")
    assert finding.assumed == {"x": (3, 224, 224)}
    (note,) = finding.caffe_notes
    assert note.endswith("layer 'in': Caffe refuses inputs without a shape; add input_param { shape { dim } }")


@shows("A top with a length of 0")
def test_a_top_without_values() -> None:
    with pytest.raises(ShapeError, match=r"layer 'in': top 'x' has shape \[0, 3\], which has no values"):
        net_of(input_of(x=(0, 3)))


IN_PLACE = """
layer { name: 'one' type: 'Power' bottom: 'x' top: 'a' power_param { shift: 1 } }
layer { name: 'other' type: 'Power' bottom: 'z' top: 'b' }
layer { name: 'both' type: '%s' bottom: 'a' %s top: 'a' %s }
"""


def in_place(kind: str, settings: str, *, other: bool = True) -> str:
    text = input_of(x=(1, 4, 1, 1), z=(1, 4, 1, 1)) + IN_PLACE % (kind, "bottom: 'b'" if other else "", settings)
    return text if other else text + "layer { name: 'silent' type: 'Silence' bottom: 'b' }"


def top_in_place(text: str) -> list[float]:
    x, z = torch.tensor([0.0, 1, 2, 3]), torch.tensor([5.0, 6, -7, 8])
    values = {name: each.view(1, 4, 1, 1) for name, each in (("x", x), ("z", z))}
    return net_of(text).forward(**values)["a"].flatten().tolist()


@shows("`Eltwise` with PROD or MAX, `LRN` and `Filter` in place")
def test_in_place_layers_that_caffe_runs_on_a_gpu_without_gradients() -> None:
    assert top_in_place(in_place("Eltwise", "eltwise_param { operation: PROD }")) == [5, 12, -21, 32]
    assert top_in_place(in_place("Eltwise", "eltwise_param { operation: MAX }")) == [5, 6, 3, 8]
    (note,) = notes(in_place("Eltwise", "eltwise_param { operation: MAX }"))
    assert note.endswith(
        "in place, Caffe loses the first bottom on a CPU and overwrites the gradient that it still needs; "
        "give the top another name"
    )
    lrn = in_place("LRN", "lrn_param { local_size: 1 alpha: 1 beta: 1 k: 0 }", other=False)
    assert top_in_place(lrn) == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4])  # x / x**2, and not x**-2
    assert "in place, Caffe loses the bottom before scaling it" in notes(lrn)[0]
    x, z = (torch.full((1, 4, 1, 1), 3.0, requires_grad=True) for _ in "xz")
    net_of(in_place("Eltwise", "eltwise_param { operation: PROD }")).module(x=x, z=z)["a"].sum().backward()
    assert x.grad is not None and z.grad is not None  # gradients of (x + 1) * z
    assert x.grad.flatten().tolist() == [3] * 4 and z.grad.flatten().tolist() == [4] * 4


@shows("`InnerProduct`, `Concat` and `Tile` in place")
def test_in_place_layers_that_caffe_refuses() -> None:
    fill = "num_output: 1 weight_filler { type: 'constant' value: 1 }"
    product = in_place("InnerProduct", f"inner_product_param {{ {fill} }}", other=False)
    assert top_in_place(product) == [10]
    assert "in place, Caffe's matrix product overwrites numbers that it still needs" in notes(product)[0]
    assert top_in_place(in_place("Concat", "")) == [1, 2, 3, 4, 5, 6, -7, 8]
    tiled = in_place("Tile", "tile_param { axis: 3 tiles: 2 }", other=False)
    assert top_in_place(tiled) == [1, 1, 2, 2, 3, 3, 4, 4]
    assert (
        "writes beyond its memory" in notes(tiled)[0] and "writes beyond its memory" in notes(in_place("Concat", ""))[0]
    )


def test_a_sum_in_place_is_caffes() -> None:
    text = in_place("Eltwise", "eltwise_param { coeff: 3 coeff: 2 } loss_weight: 1")
    assert top_in_place(text) == [10, 12, -14, 16]  # 2 z: the first bottom isn't included
    assert "sets the first bottom to 0 before adding it, and so does netdsl" in notes(text)[0]
    x, z = (torch.ones(1, 4, 1, 1, requires_grad=True) for _ in "xz")
    net_of(text).module(x=x, z=z)["a"].sum().backward()
    assert x.grad is not None and z.grad is not None
    assert x.grad.flatten().tolist() == [3] * 4 and z.grad.flatten().tolist() == [6] * 4


@shows("A label that isn't a class, and an index that isn't a row or an item")
def test_labels_and_indices_out_of_range() -> None:
    loss = "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'x' bottom: 'y' top: 'loss' }"
    with pytest.raises(NetError, match=r"layer 'loss': label -1 isn't among the 3 classes, which are 0 to 2; it is at"):
        net_of(input_of(x=(2, 3), y=(2,)) + loss).forward(x=torch.zeros(2, 3), y=torch.tensor([0.0, -1.0]))
    embed = "layer { name: 'words' type: 'Embed' bottom: 'y' top: 'z' embed_param { input_dim: 5 num_output: 2 } }"
    with pytest.raises(
        NetError, match=r"layer 'words': index 5 isn't among the 5 rows, which are 0 to 4; it is at \[1\]"
    ):
        net_of(input_of(y=(2,)) + embed).forward(y=torch.tensor([0.0, 5.0]))


@shows(
    "`data_param`'s source can be `digits:train`, `mnist:FOLDER`, `parquet:PATH` and similar names, and its settings "
    "`resize_param` and `shuffle`"
)
def test_data_that_caffe_cannot_read() -> None:
    text = """layer { name: 'data' type: 'Data' top: 'x' top: 'y' data_param { source: 'digits:train' batch_size: 2 }
      transform_param { resize_param { resize_mode: WARP height: 5 width: 6 } } }"""
    net = from_text(text, pb.NetParameter)
    with closing(Feeds.open(resolve(net))) as feeds:
        assert [tuple(top.shape) for top in feeds.next().values()] == [(2, 1, 5, 6), (2,)]
    assert training_for_caffe(net, None).unread == (
        "layer 'data': Caffe can't read source 'digits:train', resize_param",
    )
    (database,) = training_for_caffe(net, None, with_databases=True).databases
    assert database.name == "data_lmdb"
