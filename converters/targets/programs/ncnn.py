"""Converts ONNX models to ncnn's format with pnnx, and runs them in ncnn on the CPU, in single precision."""

import importlib.util
import subprocess
from pathlib import Path
from typing import Any

import ncnn
import numpy as np


def run(files: list[str], inputs: dict[str, Any], outputs: list[str]) -> dict[str, Any]:
    """Return the outputs. ncnn's images have no batch, so each item runs by itself."""
    net = _converted(files[0], [(1, *array.shape[1:]) for array in inputs.values()])
    items = range(len(next(iter(inputs.values()))))
    values = [_values(net, [array[item] for array in inputs.values()], len(outputs)) for item in items]
    return {name: np.stack([value[number] for value in values]) for number, name in enumerate(outputs)}


def _converted(model: str, shapes: list[tuple[int, ...]]) -> Any:
    """Convert a model for inputs of these shapes, and load it."""
    shapes_text = ",".join(f"[{','.join(map(str, shape))}]f32" for shape in shapes)
    command = [str(_converter()), model, f"inputshape={shapes_text}", "fp16=0", "ncnnparam=m.param", "ncnnbin=m.bin"]
    ended = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if not Path("m.param").is_file():
        raise ValueError(f"pnnx writes no model: {(ended.stderr.strip() or ended.stdout.strip()).splitlines()[-1:]}")
    net = ncnn.Net()
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    net.opt.use_bf16_storage = net.opt.use_vulkan_compute = False
    if net.load_param("m.param") or net.load_model("m.bin"):
        raise ValueError("ncnn can't read the model that pnnx wrote")
    return net


def _values(net: Any, inputs: list[Any], outputs: int) -> list[Any]:
    """Return the outputs for one item. pnnx names inputs and outputs by their order."""
    extractor = net.create_extractor()
    for number, array in enumerate(inputs):
        extractor.input(f"in{number}", ncnn.Mat(np.ascontiguousarray(array)).clone())
    values = []
    for number in range(outputs):
        code, value = extractor.extract(f"out{number}")
        if code:
            raise ValueError(f"ncnn computes no output {number}")
        values.append(np.array(value))
    return values


def _converter() -> Path:
    found = importlib.util.find_spec("pnnx")  # importing the package would import torch
    assert found is not None and found.origin is not None
    return Path(found.origin).with_name("pnnx")
