"""The time of a net, layer by layer and as a whole, with its operations and bytes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from statistics import fmean

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.layer import BringsData, Layer
from netdsl.layer.deploying import WritesFile
from netdsl.layer.running import OverwritesBottom
from netdsl.layers import type_of
from netdsl.model.data_shapes import DataShape
from netdsl.model.model import Model
from netdsl.model.opening import copy_model
from netdsl.net.build import Built, running, set_batch
from netdsl.net.graph import Phase, without_layers
from netdsl.net.learning import cut_of, learned_blobs, learning_edges
from netdsl.net.memory import check_blobs
from netdsl.net.memory_format import channels_last_pays, laid_out, wish_of
from netdsl.net.module import NetModule
from netdsl.net.sample_inputs import sample_tensors
from netdsl.planner.layer_costs import layer_costs


@dataclass(frozen=True)
class LayerTime:
    """The time of one layer alone in mean milliseconds, its forward operations, and the bytes of all its blobs.

    `flops` are those of convolutions and matrix products, where a multiplication and an addition count as two. A layer
    without these counts one for each value of its largest bottom or top. `bytes` are those of bottoms, tops and learned
    blobs.
    """

    name: str
    type: str
    forward: float
    backward: float
    flops: int
    bytes: int


@dataclass(frozen=True)
class Pass:
    """The milliseconds of the whole net, forward and backward."""

    forward: float
    backward: float


@dataclass(frozen=True)
class NetTime:
    """The times of every layer in turn, and of every pass of the whole net, which may run several layers as one.

    `data` contains the shapes of the data layers' tops, and how they were determined.
    """

    layers: tuple[LayerTime, ...]
    passes: tuple[Pass, ...]
    data: Mapping[str, DataShape]

    @property
    def forward(self) -> float:
        """The mean milliseconds of a forward pass."""
        return fmean(each.forward for each in self.passes)

    @property
    def backward(self) -> float:
        """The mean milliseconds of a backward pass."""
        return fmean(each.backward for each in self.passes)

    @property
    def flops(self) -> int:
        """The operations of a forward pass."""
        return sum(layer.flops for layer in self.layers)


def time_net(
    model: Model,
    phase: Phase = Phase.TRAIN,
    *,
    batch: int | None = None,
    device: torch.device | str = "cpu",
    iterations: int = 10,
    done: Callable[[float], object] = lambda part: None,
) -> NetTime:
    """Time a phase of a model's net on random input, with labels of 0. Writes no files.

    `batch` replaces the net's own. Calls `done` with the work that was done, in passes of the whole net. There are
    about two for each iteration.
    """
    device = torch.device(device)
    quiet = without_layers(model.net, _writes_file)
    model = model if len(quiet.layer) == len(model.net.layer) else replace(model, net=quiet)
    module = NetModule(model.layers(phase).with_own_blobs())
    if not module.built.layers:
        raise NetError(
            f"the net has no layers in phase {phase.name} with this level and these stages; choose another --phase, "
            "--level or --stage"
        )
    if batch is not None:
        set_batch(module.built, batch)
    check_blobs(module.built, device)
    module.allocate(device)
    if model.weights:
        copy_model(model, module.built)
    inputs = {edge: values.to(device) for edge, values in sample_tensors(module.built, module.inputs.values()).items()}
    with running(module.built):
        passes = []
        for _ in range(iterations + 1):
            passes.append(_time_pass(module, inputs, device))
            done(1)
        layers = []
        for layer in _time_layers(module.built, inputs, device, iterations):
            layers.append(layer)
            done((iterations + 1) / len(module.built.layers))
        return NetTime(tuple(layers), tuple(passes[1:]), model.data(phase))


def _writes_file(layer: pb.LayerParameter) -> bool:
    kind = type_of(layer)
    return kind is not None and issubclass(kind, WritesFile)


def _time_pass(module: NetModule, inputs: dict[int, Tensor], device: torch.device) -> Pass:
    began = _time_after_all(device)
    edges = module.run(dict(inputs))
    middle = _time_after_all(device)
    ends = [edges[edge] for edge in module.losses or module.outputs.values()]
    _differentiate(ends, module.parameters())
    return Pass(1000 * (middle - began), 1000 * (_time_after_all(device) - middle))


def _time_layers(built: Built, inputs: dict[int, Tensor], device: torch.device, iterations: int) -> Iterator[LayerTime]:
    """Yield the time of each layer, run on the tops of earlier layers in the layout of a whole pass.

    Releases blobs that no later layer reads.
    """
    nodes, edges, learning = built.graph.nodes, dict(inputs), learning_edges(built)
    costs = iter(layer_costs(built, device))
    last = {edge: index for index, node in enumerate(nodes) for edge in node.bottoms}
    channels_last = channels_last_pays(built)
    for index, (node, layer) in enumerate(built.pairs()):
        if isinstance(layer, BringsData):
            continue
        cut = cut_of(built, node, layer)
        if channels_last:
            edges |= {edge: laid_out(edges[edge], wish_of(layer)) for edge in node.bottoms}
        bottoms = [
            _leaf_of(edges[edge], learns=edge in learning and place not in cut)
            for place, edge in enumerate(node.bottoms)
        ]
        if isinstance(layer, OverwritesBottom):
            layer.may_overwrite = ()  # it would overwrite the bottoms that it reads again in its next turn
        tops, passes = _time_layer(layer, bottoms, device, iterations)
        edges.update(zip(node.tops, tops, strict=False))
        for edge in node.bottoms:
            if last[edge] == index:
                edges.pop(edge, None)
        forward, backward = fmean(each.forward for each in passes), fmean(each.backward for each in passes)
        cost = next(costs)
        yield LayerTime(cost.name, cost.type, forward, backward, cost.flops, cost.bytes)


def _leaf_of(bottom: Tensor, *, learns: bool) -> Tensor:
    return bottom.detach().requires_grad_(learns and bottom.is_floating_point())


def _time_layer(
    layer: Layer, bottoms: list[Tensor], device: torch.device, iterations: int
) -> tuple[list[Tensor], list[Pass]]:
    """Return the tops of a layer, and its times after a warm-up."""
    tops = _tops_of(layer, bottoms)
    leaves = [*learned_blobs(layer), *(bottom for bottom in bottoms if bottom.requires_grad)]
    _differentiate(tops, leaves)
    return tops, [_time_alone(layer, bottoms, leaves, device) for _ in range(iterations)]


def _time_alone(layer: Layer, bottoms: list[Tensor], leaves: list[Tensor], device: torch.device) -> Pass:
    began = _time_after_all(device)
    tops = _tops_of(layer, bottoms)
    middle = _time_after_all(device)
    learns = _differentiate(tops, leaves)
    return Pass(1000 * (middle - began), 1000 * (_time_after_all(device) - middle) if learns else 0.0)


def _tops_of(layer: Layer, bottoms: list[Tensor]) -> list[Tensor]:
    tops = layer(*bottoms)
    return list(tops) if isinstance(tops, tuple) else [tops]


def _differentiate(tops: Iterable[Tensor], leaves: Iterable[Tensor]) -> bool:
    """Compute the gradients of leaves, starting from ones. Returns whether there are any."""
    ends = [top for top in tops if top.requires_grad]
    leaves = [leaf for leaf in leaves if leaf.requires_grad]
    if not ends or not leaves:
        return False
    torch.autograd.grad(ends, leaves, [torch.ones_like(end) for end in ends], allow_unused=True)
    return True


def _time_after_all(device: torch.device) -> float:
    """Return the time in seconds, after waiting for all work on a GPU."""
    if device.type != "cpu":
        torch.accelerator.synchronize(device)
    return time.perf_counter()
