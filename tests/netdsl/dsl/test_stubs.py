"""The DSL as editors and type checkers see it."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from inspect import cleandoc
from keyword import iskeyword
from pathlib import Path

import pytest

import netdsl
from netdsl.dsl.constructors import ARGUMENTS, COMMON_FIELDS
from netdsl.dsl.stubs import MODULE, STUB, module, stub
from netdsl.layers import LAYERS

ROOT = Path(__file__).parents[3]
FUNCTIONS = {node.name: node for node in ast.parse(stub()).body if isinstance(node, ast.FunctionDef)}

GOOD = """
import netdsl
from netdsl import (
    ELU, ActivationLayer, Average, Convolution, ConvLayer, Max, NetParams, Pooling, PoolLayer, RDDLayer, ReLU, Slice
)
from caffe_proto import caffe_pb2 as pb

params = NetParams(
    "n",
    RDDLayer("data", shape=(2, 3, 8, 9)),
    ConvLayer("a", ["data"], kernel=(5, 3), num_filters=20, weight_filler={"type": "xavier"}),
    Convolution("b", "a", num_output=20, kernel_size=[1, 2], engine="CAFFE", layer={"engine": "MKL2017"}),
    Convolution("c", ["b"], weight_filler=pb.FillerParameter(), param=[{"lr_mult": 1}, {"lr_mult": 0.5}]),
    ActivationLayer("d", ["c"], activation=ReLU),
    Pooling("e", ["d"], pool=Max, include={"phase": "TEST"}),
    Pooling("f", ["d"], pool="AVE", include=[{"phase": "TEST"}, {"stage": ["x"]}]),
    PoolLayer("g", ["d"], pool=Average, kernel=3),
    PoolLayer("h", ["d"], pool="MAX", kernel=3),
    ELU("i", ["e"], elu_param={"lambda": 1.0}),
    netdsl.SoftmaxWithLoss("j", ["e", "f"], loss_param={"normalization": "VALID"}, loss_weight=2),
    *[Slice(f"s{index}", ["a"], tops=["x", "y"], slice_point=index) for index in range(3)],
    force_backward=True,
)
net = netdsl.Net(params)
"""
BAD = {
    'ConvLayer("c", ["d"], kernel=5, num_filters="20")': 'Argument "num_filters" to "ConvLayer"',
    'Convolution("c", ["d"], num_outputs=3)': 'Unexpected keyword argument "num_outputs" for "Convolution"',
    'Convolution("c", ["d"], num_output="3")': 'Argument "num_output" to "Convolution"',
    'Convolution("c", [3])': "List item 0 has incompatible type",
    'Convolution("c", ["d"], weight_filler={"typ": "xavier"})': 'Argument "weight_filler" to "Convolution"',
    'Convolution("c", ["d"], param=[{"lr_mult": "1"}])': 'expected "ParamSpecDict | ParamSpec"',
    'Pooling("p", ["d"], pool="MAXIMUM")': 'Argument "pool" to "Pooling"',
    'Pooling("p", ["d"], kernel_size=[2, 2])': 'Argument "kernel_size" to "Pooling"',
    'ReLU("r", ["d"], include={"phase": "TESTING"})': 'Argument "include" to "ReLU"',
    "NetParams(ReLU)": 'Argument 1 to "NetParams"',
    'NetParams("n", force_backwards=True)': 'Unexpected keyword argument "force_backwards" for "NetParams"',
    "netdsl.Convolutoin()": 'Module has no attribute "Convolutoin"',
}


def test_generated_stubs_are_up_to_date() -> None:
    assert MODULE.read_text() == module(), "run `make stubs`"
    assert STUB.read_text() == stub(), "run `make stubs`"


def test_a_net_is_described_without_torch() -> None:
    program = """
import sys
from netdsl import ConvLayer, RDDLayer, Silence
from netdsl.dsl.params import net_message
layers = RDDLayer("x", shape=[1, 1, 5, 5]), ConvLayer("c", "x", kernel=3, num_filters=2), Silence("s", "c")
net_message(layers, {})
print("torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_every_layer_type_has_a_function_with_its_docstring() -> None:
    assert set(FUNCTIONS) == set(LAYERS)
    for name in LAYERS:
        assert getattr(netdsl, name).__doc__ == cleandoc(LAYERS[name].__doc__ or "")
    for name, node in FUNCTIONS.items():
        assert " ".join((ast.get_docstring(node) or "").split()) == " ".join((LAYERS[name].__doc__ or "").split())


def test_the_stubs_settings_are_those_that_constructors_accept() -> None:
    for name, node in FUNCTIONS.items():
        own = getattr(netdsl, name).type_settings
        offered = {argument.arg for argument in node.args.kwonlyargs} - ARGUMENTS
        assert {each for each in own if not iskeyword(each)} <= offered <= {*own, *COMMON_FIELDS}, name


@pytest.mark.slow
def test_mypy_accepts_correct_and_refuses_wrong_programs(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(GOOD)
    header = "import netdsl\nfrom netdsl import ConvLayer, Convolution, NetParams, Pooling, ReLU\n"
    (tmp_path / "bad.py").write_text(header + "\n".join(BAD))
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={tmp_path / 'cache'}"]
    done = subprocess.run(
        [*command, "--follow-imports=silent", "--hide-error-codes", "good.py", "bad.py"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    found = done.stdout.splitlines()
    assert not [line for line in found if line.startswith("good.py")]
    for number, (program, message) in enumerate(BAD.items(), 3):
        told = [line for line in found if line.startswith(f"bad.py:{number}:")]
        assert any(message in line for line in told), (program, told)
