"""Converts ONNX models to ncnn's format with pnnx, and runs them in ncnn on the CPU, in single precision."""

import importlib.util
import subprocess
from pathlib import Path
from typing import Any

import ncnn
import numpy as np


def run(files: list[str], inputs: dict[str, Any], outputs: list[str]) -> dict[str, Any]:
    """Return the outputs. ncnn's images have no batch, and pnnx names inputs and outputs by their order."""
    shapes = ",".join(f"[{','.join(map(str, array.shape))}]f32" for array in inputs.values())
    command = [str(_converter()), files[0], f"inputshape={shapes}", "fp16=0", "ncnnparam=m.param", "ncnnbin=m.bin"]
    ended = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if not Path("m.param").is_file():
        raise ValueError(f"pnnx writes no model: {(ended.stderr.strip() or ended.stdout.strip()).splitlines()[-1:]}")
    net = ncnn.Net()
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    net.opt.use_bf16_storage = net.opt.use_vulkan_compute = False
    if net.load_param("m.param") or net.load_model("m.bin"):
        raise ValueError("ncnn can't read the model that pnnx wrote")
    extractor = net.create_extractor()
    for number, array in enumerate(inputs.values()):
        extractor.input(f"in{number}", ncnn.Mat(np.ascontiguousarray(array[0])).clone())
    return {name: _output(extractor, number) for number, name in enumerate(outputs)}


def _converter() -> Path:
    found = importlib.util.find_spec("pnnx")  # importing the package would import torch
    assert found is not None and found.origin is not None
    return Path(found.origin).with_name("pnnx")


def _output(extractor: Any, number: int) -> Any:
    code, value = extractor.extract(f"out{number}")
    if code:
        raise ValueError(f"ncnn computes no output {number}")
    return np.array(value)[None]
