"""Runs models in OpenVINO, on the CPU and in single precision."""

from typing import Any

import openvino


def run(files: list[str], inputs: dict[str, Any], outputs: list[str]) -> dict[str, Any]:
    """Return the outputs."""
    settings = {"INFERENCE_PRECISION_HINT": "f32"}
    results = openvino.Core().compile_model(files[0], "CPU", settings)(inputs)
    return {name: results[name] for name in outputs}
