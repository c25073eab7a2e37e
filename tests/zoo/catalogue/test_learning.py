"""Every net of the catalogue learns from data in its own format, and is exported with its random weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from netdsl import Net
from netdsl.errors import NetError
from netdsl.layer import Shape
from netdsl.model.model import Model
from netdsl.net.build import build
from netdsl.net.graph import Phase, resolve
from netdsl.net.sample_inputs import Array, sample_inputs
from zoo import catalogue
from zoo.catalogue.writing import write_model
from zoo.exporting import export


def _names(quick: int) -> list[Any]:
    """Return all names. Nets with many parameters are marked slow, and so are those for larger images than detectors
    use."""
    return [pytest.param(name, marks=pytest.mark.slow if _is_large(name, quick) else []) for name in catalogue.names()]


def _is_large(name: str, quick: int) -> bool:
    card = catalogue.card_of(name)
    pixels = math.prod(card.input.size) if card.input else 0
    return (card.parameters or 0) > quick or pixels > 300 * 300


def _with_inputs(
    net: pb.NetParameter, inputs: Mapping[str, Shape], items: Callable[[int], int]
) -> tuple[pb.NetParameter, dict[str, Shape]]:
    """Return the net in TRAIN with inputs instead of its data layers, and their shapes for this many items."""
    built = Model(net, items=inputs).settled(Phase.TRAIN).built
    data = {id(node) for node, _ in built.data_layers()}
    fed, shapes = pb.NetParameter(name=net.name), dict[str, Shape]()
    for node in built.graph.nodes:
        if id(node) not in data:
            fed.layer.append(node.layer)
            continue
        layer = fed.layer.add(name=node.layer.name, type="Input", top=node.layer.top)
        batch = built.shapes[node.tops[0]][0]
        for edge in node.tops:
            first, *rest = built.shapes[edge] or (0,)
            shape = shapes[built.graph.blobs[edge]] = (items(batch) if first == batch else first, *rest)
            layer.input_param.shape.add(dim=shape)
    return fed, shapes


def _fed_net(net: pb.NetParameter, inputs: Mapping[str, Shape]) -> tuple[pb.NetParameter, dict[str, Array]]:
    """Return the net with inputs and their values: two items, or the net's own number if it supports no other."""
    for items in (lambda batch: min(batch, 2), lambda batch: batch):
        fed, shapes = _with_inputs(net, inputs, items)
        try:
            built = build(resolve(fed, Phase.TRAIN))
        except NetError:
            continue
        return fed, sample_inputs(built, shapes)
    raise AssertionError("the net takes not even its own batch")


def _fill_zeros(net: Net) -> None:
    """Set random weights in layers without a filler, which their authors always initialized from another net."""
    with torch.no_grad():
        for tensor in net.module.parameters():
            if tensor.dim() > 1 and not tensor.any():
                tensor.normal_(std=0.01)


@pytest.mark.parametrize("name", _names(quick=20_000_000))
def test_a_net_learns(name: str) -> None:
    entry = catalogue.entry_of(name)
    message, values = _fed_net(entry.train_val.message, entry.inputs)
    net = Net(message, phase="TRAIN")
    _fill_zeros(net)
    before = {key: tensor.clone() for key, tensor in net.module.named_parameters()}
    net.set_training_data([values])
    assert math.isfinite(net.train(1, base_lr=1e-4))
    after = dict(net.module.named_parameters())
    moved = [key for key, tensor in before.items() if not torch.equal(tensor, after[key])]
    assert moved
    assert all(bool(torch.isfinite(tensor).all()) for tensor in after.values())


def _made_up(net: Net) -> Net:
    """Return the net with weights that pass differences through to the end, as trained weights do and many fillers'
    don't."""
    for layer in net.module.built.layers:
        for blob in layer.blob_tensors():
            if blob.dim() > 1:
                torch.nn.init.normal_(blob, std=math.sqrt(2 / blob[0].numel()))
            elif not isinstance(blob, torch.nn.Parameter):
                torch.nn.init.ones_(blob)  # statistics whose zeros an untrained net would divide by
    return net


@pytest.mark.parametrize("name", _names(quick=5_000_000))
def test_a_net_is_exported_to_caffe_and_onnx_with_proofs(name: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    write_model(name, tmp_path / "model")
    deploy, weights = str(tmp_path / "model/deploy.prototxt"), str(tmp_path / "random.caffemodel")
    _made_up(Net(deploy)).save(weights)
    for target, output in (("caffe", "caffe"), ("onnx", "model.onnx")):
        exported = export(net=deploy, weights=(weights,), target=target, output=str(tmp_path / output))
        assert all(proof.difference is not None and np.isfinite(proof.difference) for proof in exported.proofs)
        assert all(file.stat().st_size for file in exported.files)
        for file in exported.files:
            file.unlink()  # half a gigabyte in some cases
    Path(weights).unlink()
