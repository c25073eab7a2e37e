"""MTCNN's three nets with one random convolution for each of their outputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import netdsl.pycaffe as caffe
from netdsl.prediction.decoders.mtcnn import Mtcnn

SETTINGS = Mtcnn(threshold=(0.5, 0.4, 0.4), smallest_face=24)


def _head(name: str, bottom: str, outputs: int, side: int) -> str:
    return f"""layer {{ name: '{name}' type: 'Convolution' bottom: '{bottom}' top: '{name}' convolution_param {{
        num_output: {outputs} kernel_size: {side} stride: 2 }} }} """


def write_mtcnn(folder: Path) -> Path:
    """Write the nets and their weights into a folder. Returns the folder."""
    draw = np.random.default_rng(1)
    folder.mkdir(exist_ok=True)
    for index, (name, side) in enumerate(zip(Mtcnn.nets, (12, 24, 48), strict=True)):
        shape = f"input_param {{ shape {{ dim: [1, 3, {side}, {side}] }} }}"
        text = f"layer {{ name: 'data' type: 'Input' top: 'data' {shape} }}"
        text += _head("score", "data", 2, side) + _head(SETTINGS.boxes[index], "data", 4, side)
        text += "layer { name: 'prob1' type: 'Softmax' bottom: 'score' top: 'prob1' }"
        if index == 2:
            text += _head(SETTINGS.landmarks, "data", 10, side)
        path = folder / f"{name}.prototxt"
        path.write_text(text)
        net = caffe.Net(str(path), caffe.TEST)
        for blob in (blob for params in net.params.values() for blob in params):
            blob.data[...] = draw.normal(0, 0.5 / side, blob.data.shape)
        net.save(str(path.with_suffix(".caffemodel")))
    return folder
