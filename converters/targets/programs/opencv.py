"""Runs models in OpenCV's module dnn."""

from typing import Any

import cv2


def run(files: list[str], inputs: dict[str, Any], outputs: list[str], reader: str, engine: str = "") -> dict[str, Any]:
    """Return the outputs. In a net of Caffe, OpenCV names them after their layers, so they are matched by order."""
    arguments = [getattr(cv2.dnn, engine)] if engine else []
    net = getattr(cv2.dnn, reader)(*files, *arguments)
    for name, array in inputs.items():
        net.setInput(array, name)
    names = net.getUnconnectedOutLayersNames()
    values = dict(zip(names, net.forward(names), strict=True))
    if set(outputs) <= set(values):
        return values
    return dict(zip(outputs, values.values(), strict=True))
