"""Runs models in onnxruntime, on the CPU."""

from typing import Any

import onnxruntime


def run(files: list[str], inputs: dict[str, Any], outputs: list[str]) -> dict[str, Any]:
    """Return the outputs."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(files[0], options, providers=["CPUExecutionProvider"])
    return dict(zip(outputs, session.run(outputs, inputs), strict=True))
