"""Nets as Python programs: running a program returns exactly the net that it was generated from."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.dsl.params import net_message
from netdsl.dsl.source import to_python
from netdsl.errors import NetError, UnknownLayerError

DATA = 'layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 dim: 8 dim: 9 } } }'


def run(program: str, monkeypatch: pytest.MonkeyPatch | None = None) -> pb.NetParameter:
    """Run a program and return its net. With a monkeypatch, the net may also be one that wouldn't work."""
    if monkeypatch is not None:

        def described(*layers: Any, **settings: Any) -> Any:
            return type("Described", (), {"message": net_message(layers, settings)})

        monkeypatch.setattr("netdsl.dsl.NetParams", described)
    names: dict[str, Any] = {}
    exec(program, names)
    message: pb.NetParameter = names["params"].message
    return message


def net(text: str) -> pb.NetParameter:
    return from_text(text, pb.NetParameter)


def test_a_net_is_written_as_in_hand_written_code() -> None:
    text = DATA + (
        'layer { name: "c" type: "Convolution" bottom: "data" top: "c" param { lr_mult: 1 } param { lr_mult: 2.5 } '
        'convolution_param { num_output: 4 kernel_size: 3 weight_filler { type: "xavier" } } }'
        'layer { name: "r" type: "ReLU" bottom: "c" top: "c" }'
        'layer { name: "p" type: "Pooling" bottom: "c" top: "p" include { phase: TRAIN } '
        "pooling_param { pool: AVE kernel_size: 2 } }"
    )
    assert to_python(net(f'name: "small" force_backward: true {text}')) == (
        '"""small."""\n'
        "\n"
        "from netdsl import Convolution, NetParams, Pooling, RDDLayer, ReLU\n"
        "\n"
        "params = NetParams(\n"
        '    "small",\n'
        '    RDDLayer("data", shape=[2, 3, 8, 9]),\n'
        "    Convolution(\n"
        '        "c",\n'
        '        ["data"],\n'
        "        num_output=4,\n"
        "        kernel_size=3,\n"
        '        weight_filler={"type": "xavier"},\n'
        '        param=[{"lr_mult": 1}, {"lr_mult": 2.5}],\n'
        "    ),\n"
        '    ReLU("r", ["c"], in_place=True),\n'
        '    Pooling("p", ["c"], pool="AVE", kernel_size=2, include={"phase": "TRAIN"}),\n'
        "    force_backward=True,\n"
        ")\n"
    )


CONV = (
    'layer { name: "%s" type: "Convolution" bottom: "%s" top: "%s" '
    "convolution_param { num_output: %d kernel_size: 1 } }"
)
RELU = 'layer { name: "%s" type: "ReLU" bottom: "%s" top: "%s" }'


def groups(*parts: tuple[str, str, int]) -> str:
    """Return a convolution and a ReLU for every part: its number, its bottom, its outputs."""
    return "".join(
        CONV % (f"conv{name}", bottom, f"conv{name}", outputs) + RELU % (f"relu{name}", f"conv{name}", f"conv{name}")
        for name, bottom, outputs in parts
    )


VGG = groups(("1_1", "data", 64), ("1_2", "conv1_1", 64), ("2_1", "conv1_2", 128), ("2_2", "conv2_1", 128))
VGG += groups(("3_1", "conv2_2", 256), ("3_2", "conv3_1", 256), ("3_3", "conv3_2", 256))
VGG += groups(("4_1", "conv3_3", 512), ("4_2", "conv4_1", 512), ("4_3", "conv4_2", 512))


def test_repeated_layers_become_a_function() -> None:
    program = to_python(net(DATA + VGG))
    assert program == (
        '"""A net."""\n'
        "\n"
        "from caffe_proto.caffe_pb2 import LayerParameter\n"
        "from netdsl import Convolution, NetParams, RDDLayer, ReLU\n"
        "\n"
        "\n"
        "def conv_block(name: str, bottom: str, num_output: int) -> list[LayerParameter]:\n"
        "    return [\n"
        '        Convolution(f"conv{name}", [bottom], num_output=num_output, kernel_size=1),\n'
        '        ReLU(f"relu{name}", [f"conv{name}"], in_place=True),\n'
        "    ]\n"
        "\n"
        "\n"
        "params = NetParams(\n"
        '    RDDLayer("data", shape=[2, 3, 8, 9]),\n'
        '    *conv_block("1_1", "data", num_output=64),\n'
        '    *conv_block("1_2", "conv1_1", num_output=64),\n'
        '    *conv_block("2_1", "conv1_2", num_output=128),\n'
        '    *conv_block("2_2", "conv2_1", num_output=128),\n'
        '    *conv_block("3_1", "conv2_2", num_output=256),\n'
        '    *conv_block("3_2", "conv3_1", num_output=256),\n'
        '    *conv_block("3_3", "conv3_2", num_output=256),\n'
        '    *conv_block("4_1", "conv3_3", num_output=512),\n'
        '    *conv_block("4_2", "conv4_1", num_output=512),\n'
        '    *conv_block("4_3", "conv4_2", num_output=512),\n'
        ")\n"
    )
    assert run(program) == net(DATA + VGG)


HOSTILE = r"""name: "ev\"\"\"il\nimport os\\" """ + DATA
UNUSUAL = {
    "no name": DATA,
    "an empty name": 'name: "" ' + DATA,
    "no layers": 'name: "n" debug_info: true',
    "nothing": "",
    "net settings": 'name: "n" force_backward: true debug_info: true state { phase: TRAIN level: -2 stage: "a" } '
    + DATA,
    "names that are no identifiers": HOSTILE + r'layer { name: "a\"{b}\\/\n" type: "ReLU" bottom: "data" top: "\'\"" }',
    "a layer without name": DATA + 'layer { type: "ReLU" bottom: "data" top: "r" }',
    "a layer without tops": DATA + 'layer { name: "r" type: "ReLU" bottom: "data" }',
    "an empty message": DATA + 'layer { name: "r" type: "ReLU" bottom: "data" top: "r" relu_param {} }',
    "a word of Python's": DATA + 'layer { name: "m" type: "ELU" bottom: "data" top: "m" elu_param { lambda: 3 } }',
    "one name twice": 'layer { name: "c" type: "Convolution" engine: "MKL" convolution_param { engine: CAFFE } }',
    "old fields": 'input: "x" input_dim: 2 layers { name: "r" type: RELU bottom: "x" top: "r" }',
    "numbers": DATA
    + 'layer { name: "p" type: "Power" bottom: "data" top: "p" power_param { power: -0 scale: inf shift: 1e+20 } '
    "loss_weight: nan loss_weight: 0.1 }",
    "bytes": 'layer { name: "p" type: "Python" python_param { param_str: "{\'a\': 1}" } }',
    "shared weights": 'layer { name: "c" type: "InnerProduct" param { name: "w" share_mode: PERMISSIVE } }',
    "unknown types": 'layer { name: "a" type: "__import__(\'os\')" } layer { name: "b" type: "1 2" } '
    'layer { name: "c" type: "NetParams" } layer { name: "d" type: "12" relu_param { engine: CAFFE } }',
}


@pytest.mark.parametrize("text", UNUSUAL.values(), ids=UNUSUAL)
def test_unusual_nets_survive_writing_and_reading(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    again = run(to_python(net(text)), monkeypatch)
    assert again.SerializePartialToString(deterministic=True) == net(text).SerializePartialToString(deterministic=True)


def test_an_unknown_type_is_reported_when_the_program_runs() -> None:
    program = to_python(net(DATA + 'layer { name: "f" type: "Foo" bottom: "data" top: "f" }'))
    assert 'Foo = Constructor("Foo")' in program
    with pytest.raises(UnknownLayerError, match="unknown layer type 'Foo'"):
        run(program)


def test_weights_are_left_out() -> None:
    message = net('layer { name: "i" type: "InnerProduct" blobs { data: 1 data: 2 } }')
    assert "blobs" not in to_python(message)
    assert message.layer[0].blobs[0].data == [1, 2]


def test_a_layer_without_a_type_is_an_error() -> None:
    with pytest.raises(NetError, match="layer 'x' has no type"):
        to_python(net('layer { name: "x" }'))


def test_programs_are_formatted_as_formatters_would(tmp_path: Path) -> None:
    wide = 'layer { name: "s" type: "Slice" bottom: "data" %s slice_param { axis: 1 } }'
    text = DATA + VGG + wide % " ".join(f'top: "a_rather_long_name_{index}"' for index in range(7))
    program = to_python(
        net(f'{text} layer {{ type: "LRN" }} layer {{ type: "ROIPooling" }} layer {{ type: "Pooling" }}')
    )
    assert max(map(len, program.splitlines())) <= 120
    (tmp_path / "program.py").write_text(program)
    ruff = [str(Path(sys.executable).with_name("ruff"))]
    options = ["--isolated", "--no-cache", "--config", "line-length = 120"]
    for command in (["format", "--check", *options], ["check", "--select", "E,F,I,W", *options]):
        done = subprocess.run([*ruff, *command, "program.py"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
    assert re.search(r"(?m)^        tops=\[$", program)
