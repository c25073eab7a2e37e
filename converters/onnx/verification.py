"""The proof that a model computes what its net does: onnxruntime beside torch on the same inputs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from converters.onnx.naming import edge_names
from converters.onnx.running import AnyArray, OnnxSession, open_onnx_session
from netdsl.checking.sample_inputs import sample_inputs
from netdsl.errors import ConversionError
from netdsl.layer import BringsData, HasOnnxForm, Layer, Shape
from netdsl.layer.running import KeepsState
from netdsl.net.build import Built, running
from netdsl.net.module import NetModule
from netdsl.net.net import Net

TOLERANCE = 1e-5  # of the spread of a blob's values: what sums in another order differ by in single precision


@dataclass(frozen=True)
class Report:
    """How far the outputs were from torch's, relative to their spread, and the first node where they parted."""

    tolerance: float
    batches: tuple[int, ...]  # the batch sizes that were tried
    outputs: Mapping[str, float] = field(default_factory=dict)
    first: str | None = None

    @property
    def passed(self) -> bool:
        """Whether all outputs agree."""
        return all(error <= self.tolerance for error in self.outputs.values())

    def __str__(self) -> str:
        worst = max(self.outputs, key=lambda name: self.outputs[name])
        told = f"blob '{worst}' differs by {self.outputs[worst]:.1e} of its spread"
        if self.passed:
            batches = f", with a batch of {' and of '.join(map(str, self.batches))}" if self.batches else ""
            return f"{told} at most{batches}"
        return f"{told}, more than {self.tolerance:g}; the first node that differs is {self.first}"


def verify(
    model: Any,
    net: Net | Built,
    *,
    inputs: Mapping[str, npt.ArrayLike] | None = None,
    tolerance: float = TOLERANCE,
) -> Report:
    """Run a model that was made of a net, or the file with it, and the net side by side.

    Without inputs they run on random ones, and where the model leaves the batch open, on batches of one and of two.
    A model that onnxruntime doesn't take is a ConversionError.
    """
    module = net.module if isinstance(net, Net) else NetModule(net)
    counted = _counted(module.built)
    with open_onnx_session(model, counted) as run:
        trials = [_given(inputs)] if inputs is not None else list(_trials(run, module.built))
        outputs: dict[str, float] = {}
        first = None
        for trial in trials:
            found = run(trial)
            wanted = _wanted(module, trial, {name: found[name] for name in counted if name in found})
            errors = _errors(found, wanted, counted)
            if not errors:
                raise ConversionError(f"{run.name} has no output that is a blob of the net")
            outputs = {name: max(error, outputs.get(name, 0.0)) for name, error in errors.items()}
            if first is None and max(errors.values()) > tolerance:
                first = _first(model, module, trial, tolerance)
    return Report(tolerance, tuple(len(next(iter(trial.values()))) for trial in trials if trial), outputs, first)


def difference(got: AnyArray, wanted: AnyArray) -> float:
    """The largest difference, relative to how far the wanted values lie apart; infinite between unlike shapes."""
    if got.shape != wanted.shape:
        return math.inf
    if not wanted.size:
        return 0.0
    got, wanted = got.astype(np.float64), wanted.astype(np.float64)
    same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
    if same.all():
        return 0.0
    finite = wanted[np.isfinite(wanted)]
    spread = float(np.ptp(finite)) if finite.size else 0.0
    worst = float(np.abs(got - wanted)[~same].max())
    return worst / (spread or float(np.abs(finite).max(initial=0.0)) or 1.0) if math.isfinite(worst) else math.inf


def _given(inputs: Mapping[str, npt.ArrayLike]) -> dict[str, AnyArray]:
    return {name: np.asarray(value, np.float32) for name, value in inputs.items()}


def _trials(run: OnnxSession, built: Built) -> Iterator[dict[str, AnyArray]]:
    """Random inputs; several, of other lengths, if the model leaves lengths open."""
    names = edge_names(built)
    own = {names[edge]: built.shapes[edge] for edge in NetModule(built).inputs.values()}
    is_open = any(isinstance(length, str) for shape in run.inputs.values() for length in shape)
    for batch in (1, 2) if is_open else (0,):
        shapes = {name: _lengths(run.inputs.get(name, shape), shape, batch) for name, shape in own.items()}
        yield dict(sample_inputs(built, shapes, seed=batch))


def _lengths(wanted: Sequence[int | str], own: Shape, batch: int) -> Shape:
    """The shape of a trial's input: open lengths are the batch, or if they count something else not less than now."""
    pairs = zip(wanted, own, strict=True)
    return tuple(batch if length == "batch" else now + batch - 1 if isinstance(length, str) else now
                 for length, now in pairs)  # fmt: skip


def _wanted(module: NetModule, trial: Mapping[str, AnyArray], taken: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """What torch computes for every blob, by the names that the model has for them.

    Layers that choose, and whose choice the last digit can change, read what the model's own layers gave theirs, and
    so do those behind them.
    """
    built, names = module.built, edge_names(module.built)
    like = next((blob for blob in module.parameters()), torch.empty(0))
    edges = {edge: torch.from_numpy(trial[name]).to(like) for name, edge in module.inputs.items() if name in trial}
    found: dict[str, AnyArray] = {}
    with torch.no_grad(), running(built):
        for node, layer in zip(built.graph.nodes, built.layers, strict=True):
            if isinstance(layer, BringsData):
                continue
            tops = dict(zip(node.tops, _tops(layer, [edges[edge] for edge in node.bottoms]), strict=False))
            found |= {names[edge]: top.detach().float().cpu().numpy() for edge, top in tops.items()}
            shared = {edge: torch.from_numpy(taken[names[edge]]).to(like) for edge in tops if names[edge] in taken}
            edges |= tops | shared
    return found


def _counted(built: Built) -> dict[str, int | None]:
    """What layers read and make that choose: of the tops, the axis along which chosen items are, if there is one."""
    names, found = edge_names(built), dict[str, int | None]()
    for node, layer in zip(built.graph.nodes, built.layers, strict=True):
        if not isinstance(layer, HasOnnxForm) or (layer.varying_axis is None and not layer.discontinuous):
            continue
        axis = layer.varying_axis
        found |= {names[edge]: None for edge in node.bottoms if names[edge] not in found}
        for edge in node.tops:
            found[names[edge]] = axis if axis is not None and axis < len(built.shapes[edge]) else None
    return found


def _errors(
    found: Mapping[str, AnyArray], wanted: Mapping[str, AnyArray], counted: Mapping[str, int | None]
) -> dict[str, float]:
    return {name: difference(*_in_one_order(value, wanted[name], counted.get(name)))
            for name, value in found.items() if name in wanted}  # fmt: skip


def _in_one_order(got: AnyArray, wanted: AnyArray, axis: int | None) -> tuple[AnyArray, AnyArray]:
    """Items that were chosen can change places with others that are as good: each is compared with the nearest."""
    if axis is None or got.shape != wanted.shape or not got.size:
        return got, wanted
    rows = [np.moveaxis(each, axis, 0).reshape(each.shape[axis], -1) for each in (got, wanted)]
    nearest = [int(np.abs(rows[0] - row).max(1).argmin()) for row in rows[1]]
    return rows[0][nearest], rows[1]


def _tops(layer: Layer, bottoms: list[Tensor]) -> tuple[Tensor, ...]:
    """A layer by itself, which neither remembers a batch before nor overwrites what is compared later."""
    if isinstance(layer, KeepsState):
        layer.reset()
    found = layer(*(bottom.clone() for bottom in bottoms))
    return found if isinstance(found, tuple) else (found,)


def _first(model: Any, module: NetModule, trial: Mapping[str, AnyArray], most: float) -> str:
    """The first node, in the net's order, whose top differs, and by how much.

    A model that shows all its values has other last digits, which choices are to be taken from again.
    """
    built = module.built
    names, counted = edge_names(built), _counted(built)
    with open_onnx_session(model, names) as run:
        found = run(trial)
    wanted = _wanted(module, trial, {name: found[name] for name in counted if name in found})
    for node in built.graph.nodes:
        for name in (names[edge] for edge in node.tops):
            error = _errors({name: found[name]}, wanted, counted)[name] if name in found else 0.0
            if error > most:
                return f"'{node.layer.name}' ({node.layer.type}), whose blob '{name}' differs by {error:.1e}"
    return "none: all blobs agree if all are looked at, so that onnxruntime's own optimisations differ"
