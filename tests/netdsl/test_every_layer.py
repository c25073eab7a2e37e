"""Rules for every layer type, checked on every recorded case: shapes, gradients, and other batch sizes."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.net.build import build, reshape
from netdsl.net.graph import Phase, resolve
from netdsl.net.module import NetModule
from tests.device import DEVICE

TEXT = (Path(__file__).parent.parent / "data/layers/cases.prototxts").read_text()
CASES = dict(part.split("\n", 1) for part in TEXT.split("## ")[1:])

# Caffe's own gradient differs from the derivative on purpose, or the derivative doesn't exist at the corners that
# random input hits.
NO_DERIVATIVE = {
    "act_threshold": "a step",
    "bn_train_frac": "sums move while gradcheck runs, outputs don't depend on them",
    "lstm": "carries its state from one pass to the next",
    "lstm_static": "carries its state from one pass to the next",
    "rnn": "carries its state from one pass to the next",
    "mvn": "Caffe counts eps as part of the deviation",
    "loss_hinge_l1": "corners",
    "loss_infogain": "labels index a matrix",
    "ssd_normalize_channel": "the fork projects before it scales",
}

# Zeros aren't boxes, a bottom has a fixed number of rows, or the shape depends on the values.
OTHER_INPUT = {"ssd_detect_center", "ssd_detect_corner_varenc", "ssd_multibox_softmax", "filter"}

# Blobs run along the batch, or shapes are written into the net.
FIXED_BATCH = {"parameter", "scale_bias_axis0", "rnn", "lstm", "lstm_static", "lstm_unit", "reshape", "batch_reindex"}


def module(case: str, dtype: torch.dtype = torch.float32) -> NetModule:
    torch.manual_seed(0)
    text = CASES[case]
    phase = Phase.TRAIN if "phase: TRAIN" in text.split("\n", 1)[0] else Phase.TEST
    return NetModule(build(resolve(from_text(text, pb.NetParameter), phase))).allocate(DEVICE).to(dtype)


def inputs(net: NetModule, dtype: torch.dtype = torch.float32) -> dict[int, Tensor]:
    """Return positive values away from corners, with zeros for labels and indices."""
    pairs = list(zip(net.built.graph.nodes, net.built.layers, strict=True))
    found = {}
    for edge in net.inputs.values():
        readers = [(layer, node.bottoms.index(edge)) for node, layer in pairs if edge in node.bottoms]
        labels = any(place in layer.no_gradient for layer, place in readers)
        shape = net.built.shapes[edge]
        found[edge] = (torch.zeros(shape, dtype=dtype) if labels else torch.rand(shape, dtype=dtype) + 0.1).to(DEVICE)
    return found


@pytest.mark.parametrize("case", [case for case in CASES if case not in OTHER_INPUT])
def test_computed_shapes_equal_inferred_shapes(case: str) -> None:
    net = module(case)
    with torch.no_grad():
        found = net(**{name: inputs(net)[edge] for name, edge in net.inputs.items()})
    for name, edge in net.outputs.items():
        assert tuple(found[name].shape) == net.built.shapes[edge]


DIFFERENTIABLE = [case for case in CASES if "force_backward: true" in CASES[case] and case not in NO_DERIVATIVE]


@pytest.mark.parametrize("case", DIFFERENTIABLE)
def test_gradients_are_derivatives(case: str) -> None:
    net = module(case, torch.float64)
    edges = inputs(net, torch.float64)
    moving = [edge for edge, value in edges.items() if value.any()]
    parameters = [parameter for parameter in net.parameters() if parameter.requires_grad]
    for parameter in parameters:
        parameter.data.uniform_(0.1, 0.9)

    def outputs(*values: Tensor) -> tuple[Tensor, ...]:
        given = edges | dict(zip(moving, values, strict=False))
        made = net.run(dict(given))
        return tuple(made[edge] for edge in net.outputs.values() if made[edge].requires_grad)

    if not moving:
        pytest.skip("nothing that could have a gradient")
    leaves = [edges[edge].requires_grad_() for edge in moving]
    if not outputs(*leaves):
        pytest.skip("nothing that has a gradient")
    # A GPU adds gradients in any order.
    torch.autograd.gradcheck(outputs, (*leaves, *parameters), atol=1e-5, fast_mode=True, nondet_tol=1e-9)


BATCHED = [case for case in CASES if case not in OTHER_INPUT | FIXED_BATCH]


@pytest.mark.parametrize("case", BATCHED)
def test_another_batch_size_works(case: str) -> None:
    net = module(case)
    batched = {edge: net.built.shapes[edge] for edge in net.inputs.values() if net.built.shapes[edge]}
    first = {shape[0] for shape in batched.values()}
    if len(first) != 1:
        pytest.skip("its inputs have no batch in common")
    reshape(net.built, {edge: (shape[0] + 3, *shape[1:]) for edge, shape in batched.items()})
    with torch.no_grad():
        net.run(inputs(net))
