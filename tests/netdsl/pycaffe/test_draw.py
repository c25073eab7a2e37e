"""Pictures of nets: the text of nodes and edges, and files in several formats."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl import pycaffe
from netdsl.errors import NetError
from netdsl.pycaffe import draw

NET = from_text(
    """
    name: "small"
    layer { name: "data" type: "Data" top: "data" data_param { batch_size: 7 } include { phase: TRAIN } }
    layer { name: "conv" type: "Convolution" bottom: "data" top: "conv" param { lr_mult: 3 }
      convolution_param { num_output: 20 kernel_size: 5 pad: 2 } }
    layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
    layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool" pooling_param { pool: AVE kernel_size: 2
      stride: 2 } }
    layer { name: "ip" type: "InnerProduct" bottom: "pool" top: "ip" inner_product_param { num_output: 10 } }
    layer { name: "strange" type: "Strange" bottom: "ip" top: "end" }
    """,
    pb.NetParameter,
)


def test_the_text_for_graphviz_has_every_layer_and_blob() -> None:
    text = draw.draw_net(NET, "LR", "raw").decode()
    assert text.startswith('digraph "small" {\nrankdir=LR;\n') and text.endswith("}\n")
    assert r'label="conv\n(Convolution)\nkernel size: 5\nstride: 1\npad: 2", shape=record' in text
    assert r'label="pool\n(Pooling AVE)\nkernel size: 2\nstride: 2\npad: 0"' in text
    assert '"conv_Convolution" -> "conv_blob" [label="20"];' in text
    assert '"data_Data" -> "data_blob" [label="Batch 7"];' in text
    assert '"conv_blob" -> "relu_ReLU" [label=""];' in text and '"relu_ReLU" -> "conv_blob" [label=""];' in text


def test_labels_are_on_one_line_where_there_is_room() -> None:
    labels = [draw.get_layer_label(layer, "TB", display_lrm=True) for layer in NET.layer]
    assert labels == [
        "data (Data)",
        "conv (Convolution) kernel size: 5 stride: 1 pad: 2 lr mult: 3.0, 1.0",
        "relu (ReLU)",
        "pool (Pooling AVE) kernel size: 2 stride: 2 pad: 0",
        "ip (InnerProduct) lr mult: 1.0, 1.0",
        "strange (Strange)",
    ]


def test_layer_kinds_have_different_colors() -> None:
    types = ["Convolution", "Deconvolution", "Pooling", "InnerProduct", "Softmax", "Strange"]
    colors = [draw.choose_color_by_layertype(kind) for kind in types]
    assert colors[0] == colors[1] and colors[4] == colors[5]
    assert len(set(colors)) == 4


def test_a_phase_leaves_out_layers_that_are_not_in_it() -> None:
    assert "data_Data" in draw.get_pydot_graph(NET, "LR", phase=pycaffe.TRAIN).nodes
    assert "data_Data" not in draw.get_pydot_graph(NET, "LR", phase=pycaffe.TEST).nodes


def test_names_with_quotes_are_escaped() -> None:
    net = from_text("layer { name: 'a\"b' type: 'Input' top: 'x' }", pb.NetParameter)
    assert r'"a\"b_Input" [label="a\"b\n(Input)"' in draw.draw_net(net, "LR", "dot").decode()


@pytest.mark.parametrize("rankdir", ["LR", "TB", "BT"])
def test_pictures_are_drawn_without_graphviz(rankdir: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    image = Image.open(io.BytesIO(draw.draw_net(NET, rankdir)))
    assert image.format == "PNG"
    assert (image.width > image.height) == (rankdir == "LR")
    assert len(set(image.convert("RGB").get_flattened_data())) > 5


def test_the_suffix_decides_the_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    draw.draw_net_to_file(NET, tmp_path / "net.svg")
    assert "<svg" in (tmp_path / "net.svg").read_text()
    draw.draw_net_to_file(NET, str(tmp_path / "net.raw"), "TB")
    assert "rankdir=TB" in (tmp_path / "net.raw").read_text()
    with pytest.raises(NetError, match="'gold' isn't a supported picture format; use png, svg or pdf"):
        draw.draw_net_to_file(NET, tmp_path / "net.gold")
    assert not (tmp_path / "net.gold").exists()


def test_graphviz_is_used_if_it_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "dot"
    program.write_text('#!/bin/sh\n/bin/echo "$1"; exec /bin/cat\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert draw.draw_net(NET, "LR", "png").decode() == "-Tpng\n" + draw.draw_net(NET, "LR", "raw").decode()
    program.write_text('#!/bin/sh\necho "Format not recognized" >&2; exit 1\n')
    with pytest.raises(NetError, match="graphviz can't draw the net as gold: Format not recognized"):
        draw.draw_net(NET, "LR", "gold")


def test_a_direction_is_one_of_three() -> None:
    with pytest.raises(NetError, match="rankdir is 'up'; set it to one of LR, TB, BT"):
        draw.draw_net(NET, "up")


def test_only_layers_that_learn_have_rates() -> None:
    with pytest.raises(ValueError, match="Pooling layers do not have a learning rate multiplier"):
        draw.get_layer_lr_mult(NET.layer[3])
