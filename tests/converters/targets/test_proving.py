"""Proofs in targets, also of nets whose layers select items."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from converters import export_onnx
from converters.onnx.quantization import Quantization
from converters.targets.proving import prove_in_target, prove_quantized_in_target
from netdsl import Net
from netdsl.errors import ConversionError
from netdsl.model.model import Model
from netdsl.model.opening import open_model
from tests.converters.nets import DETECTOR
from tests.converters.targets.conftest import Ready

pytest.importorskip("onnxruntime")

# Runs the model in onnxruntime, and then what a test adds.
PROGRAM = """import numpy as np
import onnxruntime

def run(files, inputs, outputs):
    values = onnxruntime.InferenceSession(files[0]).run(outputs, inputs)
    return {{name: change(value) for name, value in zip(outputs, values)}}

def change(value):
    return {change}
"""


@pytest.fixture
def detector(tmp_path: Path) -> tuple[Model, Path]:
    Net(from_text(DETECTOR, pb.NetParameter)).save(tmp_path / "w.caffemodel")
    model = open_model(tmp_path / "w.caffemodel")
    export_onnx(model, tmp_path / "m.onnx", verify=False)
    return model, tmp_path / "m.onnx"


def test_layers_that_select_nothing_in_random_images_are_proved_apart(
    ready: Ready, detector: tuple[Model, Path]
) -> None:
    found = prove_in_target(detector[0], ready(), [detector[1]], 1e-4)
    assert [each.part for each in found] == ["the layers before the selection", "layer 'd'"]
    assert max(each.difference for each in found) < 1e-5


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ("value if value.shape[-1] == 7 else value + 1", "the layers before the selection"),
        ("value * 1.01 if value.shape[-1] == 7 else value", "layer 'd'"),
    ],
)
def test_a_part_that_differs_is_named(ready: Ready, detector: tuple[Model, Path], change: str, part: str) -> None:
    target = ready(PROGRAM.format(change=change))
    with pytest.raises(ConversionError, match=f"the outputs of {part} in The program differ by"):
        prove_in_target(detector[0], target, [detector[1]], 1e-4)


def test_rows_of_zeros_after_the_selected_items_do_not_count(ready: Ready, detector: tuple[Model, Path]) -> None:
    filled = "np.concatenate([value[..., ::-1, :], 0 * value[..., :1, :]], 2) if value.shape[-1] == 7 else value"
    target = ready(PROGRAM.format(change=filled))
    with pytest.raises(ConversionError, match="the outputs of layer 'd' in The program have another shape"):
        prove_in_target(detector[0], target, [detector[1]], 1e-4)
    target = msgspec.structs.replace(target, adds_zeros=True)
    found = prove_in_target(detector[0], target, [detector[1]], 1e-4)
    assert found[-1].part == "layer 'd'" and found[-1].difference < 1e-5


def test_a_net_that_selects_nothing_is_proved_as_a_whole(ready: Ready, tmp_path: Path) -> None:
    text = DETECTOR[: DETECTOR.index('layer { name: "c"')]
    Net(from_text(text, pb.NetParameter)).save(tmp_path / "w.caffemodel")
    model = open_model(tmp_path / "w.caffemodel")
    export_onnx(model, tmp_path / "m.onnx")
    assert [each.part for each in prove_in_target(model, ready(), [tmp_path / "m.onnx"], 1e-4)] == [""]
    assert np.isfinite(prove_in_target(model, ready(), [tmp_path / "m.onnx"], 1e-4)[0].difference)


@pytest.mark.parametrize("selects", [True, False])
def test_a_quantized_net_is_compared_with_onnxruntime(ready: Ready, tmp_path: Path, selects: bool) -> None:
    text = DETECTOR if selects else DETECTOR[: DETECTOR.index('layer { name: "c"')]
    Net(from_text(text, pb.NetParameter)).save(tmp_path / "w.caffemodel")
    model, file = open_model(tmp_path / "w.caffemodel"), tmp_path / "m.onnx"
    images = np.random.default_rng(0).standard_normal((5, 1, 2, 4)).astype(np.float32)
    quantization = Quantization(lambda: [{"x": images}])
    export_onnx(model, file, quantization=quantization)
    (found,) = prove_quantized_in_target(model, ready(), file, quantization, 0.05)
    assert (found.difference, found.part) == (0, "the layers before the selection" if selects else "")
    target = ready(PROGRAM.format(change="value + 1"))
    with pytest.raises(ConversionError, match="in The program differ by"):
        prove_quantized_in_target(model, target, file, quantization, 0.05)


SHRINKING = """
layer { name: "x" type: "Input" top: "x" input_param { shape { dim: [1, 2, 9, 8] } } }
layer { name: "c" type: "Convolution" bottom: "x" top: "c"
  convolution_param { num_output: 3 kernel_size: 3 stride: 2 weight_filler { type: "xavier" } } }
"""


@pytest.fixture
def free_sizes(tmp_path: Path) -> tuple[Model, Path]:
    Net(from_text(SHRINKING, pb.NetParameter)).save(tmp_path / "w.caffemodel")
    model = open_model(tmp_path / "w.caffemodel")
    export_onnx(model, tmp_path / "m.onnx", free={"x": (1, 2, "H", "W")})
    return model, tmp_path / "m.onnx"


def test_a_model_with_free_sizes_is_proved_at_three(ready: Ready, free_sizes: tuple[Model, Path]) -> None:
    own, *others = prove_in_target(free_sizes[0], ready(), [free_sizes[1]], 1e-4)
    assert own.part == "" and len(others) == 2
    assert all(each.part.startswith("the net for x 1x2x") and each.difference < 1e-5 for each in others)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("value if value.shape[2] == 4 else value + 1", "outputs of the net for x 1x2x.* in The program differ by"),
        (
            "value if value.shape[2] == 4 else [][0]",
            "the net for x 1x2x.*: The program can't run m.onnx.* fixed lengths",
        ),
    ],
)
def test_a_program_that_takes_only_one_size_is_refused(
    ready: Ready, free_sizes: tuple[Model, Path], change: str, reason: str
) -> None:
    with pytest.raises(ConversionError, match=reason):
        prove_in_target(free_sizes[0], ready(PROGRAM.format(change=change)), [free_sizes[1]], 1e-4)
