"""The verification that an ONNX model computes what its net does: onnxruntime and torch run on the same inputs."""

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
from converters.onnx.session import AnyArray, OnnxSession, open_onnx_session
from netdsl.checking.sample_inputs import sample_inputs
from netdsl.errors import ConversionError
from netdsl.layer import BringsData, HasOnnxForm, Layer, Shape
from netdsl.net.build import Built, running
from netdsl.net.module import NetModule
from netdsl.net.net import Net

TOLERANCE = 1e-5  # of the spread of a blob's values; single-precision sums in another order differ by less


@dataclass(frozen=True)
class Report:
    """The differences of the outputs from torch's, relative to their spread, and the first node that differs."""

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
        summary = f"blob '{worst}' differs by {self.outputs[worst]:.1e} of its spread"
        if self.passed:
            batches = f", with a batch of {' and of '.join(map(str, self.batches))}" if self.batches else ""
            return f"{summary} at most{batches}"
        return f"{summary}, more than {self.tolerance:g}; the first node that differs is {self.first}"


def verify(
    model: Any,
    net: Net | Built,
    *,
    inputs: Mapping[str, npt.ArrayLike] | None = None,
    tolerance: float = TOLERANCE,
) -> Report:
    """Run a model or its file and the net that it was exported from on the same inputs.

    The default inputs are random, with batches of one and of two where the model leaves the batch size open. A model
    that onnxruntime can't run is a ConversionError.
    """
    module = net.module if isinstance(net, Net) else NetModule(net)
    selection_axes = _selection_axes(module.built)
    with open_onnx_session(model, selection_axes) as session:
        trials = [_as_arrays(inputs)] if inputs is not None else list(_trials(session, module.built))
        outputs: dict[str, float] = {}
        first_difference = None
        for trial in trials:
            actual = session(trial)
            expected = _torch_values(module, trial, {name: actual[name] for name in selection_axes if name in actual})
            errors = _errors(actual, expected, selection_axes)
            if not errors:
                raise ConversionError(f"{session.name} has no output that is a blob of the net")
            outputs = {name: max(error, outputs.get(name, 0.0)) for name, error in errors.items()}
            if first_difference is None and max(errors.values()) > tolerance:
                first_difference = _first_difference(model, module, trial, tolerance)
    return Report(
        tolerance, tuple(len(next(iter(trial.values()))) for trial in trials if trial), outputs, first_difference
    )


def difference(actual: AnyArray, expected: AnyArray) -> float:
    """The largest difference, relative to the spread of the expected values; infinite if the shapes differ."""
    if actual.shape != expected.shape:
        return math.inf
    if not expected.size:
        return 0.0
    actual, expected = actual.astype(np.float64), expected.astype(np.float64)
    same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
    if same.all():
        return 0.0
    finite = expected[np.isfinite(expected)]
    spread = float(np.ptp(finite)) if finite.size else 0.0
    worst = float(np.abs(actual - expected)[~same].max())
    return worst / (spread or float(np.abs(finite).max(initial=0.0)) or 1.0) if math.isfinite(worst) else math.inf


def _as_arrays(inputs: Mapping[str, npt.ArrayLike]) -> dict[str, AnyArray]:
    return {name: np.asarray(value, np.float32) for name, value in inputs.items()}


def _trials(session: OnnxSession, built: Built) -> Iterator[dict[str, AnyArray]]:
    """Random inputs; two sets of different lengths if the model leaves lengths open."""
    names = edge_names(built)
    input_shapes = {names[edge]: built.shapes[edge] for edge in NetModule(built).inputs.values()}
    has_open_lengths = any(isinstance(length, str) for shape in session.inputs.values() for length in shape)
    for batch in (1, 2) if has_open_lengths else (0,):
        shapes = {name: _lengths(session.inputs.get(name, shape), shape, batch) for name, shape in input_shapes.items()}
        yield dict(sample_inputs(built, shapes, seed=batch))


def _lengths(model_shape: Sequence[int | str], net_shape: Shape, batch: int) -> Shape:
    """The shape of an input: an open length is the batch size, or grows with it if it counts something else."""
    pairs = zip(model_shape, net_shape, strict=True)
    return tuple(batch if model_length == "batch" else length + batch - 1 if isinstance(model_length, str) else length
                 for model_length, length in pairs)  # fmt: skip


def _torch_values(
    module: NetModule, trial: Mapping[str, AnyArray], model_values: Mapping[str, AnyArray]
) -> dict[str, AnyArray]:
    """The values that torch computes for every blob, by the model's names.

    Layers that select items, which rounding can change, and the layers after them read `model_values` instead, the
    values that the ONNX model computed.
    """
    built, names = module.built, edge_names(module.built)
    like = next((blob for blob in module.parameters()), torch.empty(0))
    edges = {edge: torch.from_numpy(trial[name]).to(like) for name, edge in module.inputs.items() if name in trial}
    values: dict[str, AnyArray] = {}
    with torch.no_grad(), running(built):
        for node, layer in zip(built.graph.nodes, built.layers, strict=True):
            if isinstance(layer, BringsData):
                continue
            tops = dict(zip(node.tops, _tops(layer, [edges[edge] for edge in node.bottoms]), strict=False))
            values |= {names[edge]: top.detach().float().cpu().numpy() for edge, top in tops.items()}
            replaced = {
                edge: torch.from_numpy(model_values[names[edge]]).to(like)
                for edge in tops
                if names[edge] in model_values
            }
            edges |= tops | replaced
    return values


def _selection_axes(built: Built) -> dict[str, int | None]:
    """The bottoms and tops of layers that select items, with the axis of the items in a top if there is one."""
    names, axes = edge_names(built), dict[str, int | None]()
    for node, layer in zip(built.graph.nodes, built.layers, strict=True):
        if not isinstance(layer, HasOnnxForm) or (layer.varying_axis is None and not layer.discontinuous):
            continue
        axis = layer.varying_axis
        axes |= {names[edge]: None for edge in node.bottoms if names[edge] not in axes}
        for edge in node.tops:
            axes[names[edge]] = axis if axis is not None and axis < len(built.shapes[edge]) else None
    return axes


def _errors(
    actual: Mapping[str, AnyArray], expected: Mapping[str, AnyArray], selection_axes: Mapping[str, int | None]
) -> dict[str, float]:
    return {name: difference(*_aligned_rows(value, expected[name], selection_axes.get(name)))
            for name, value in actual.items() if name in expected}  # fmt: skip


def _aligned_rows(actual: AnyArray, expected: AnyArray, axis: int | None) -> tuple[AnyArray, AnyArray]:
    """Both arrays as rows in the same order: selected items that rank equal can swap, so the nearest are paired."""
    if axis is None or actual.shape != expected.shape or not actual.size:
        return actual, expected
    rows = [np.moveaxis(values, axis, 0).reshape(values.shape[axis], -1) for values in (actual, expected)]
    nearest = [int(np.abs(rows[0] - row).max(1).argmin()) for row in rows[1]]
    return rows[0][nearest], rows[1]


def _tops(layer: Layer, bottoms: list[Tensor]) -> tuple[Tensor, ...]:
    """The tops of a layer, without the memory of an earlier batch and without writing to its bottoms."""
    forget = getattr(layer, "reset", None)
    if callable(forget):
        forget()
    tops = layer(*(bottom.clone() for bottom in bottoms))
    return tops if isinstance(tops, tuple) else (tops,)


def _first_difference(model: Any, module: NetModule, trial: Mapping[str, AnyArray], tolerance: float) -> str:
    """The first node, in the net's order, whose top differs, and by how much.

    The model runs again with all its values as outputs, which changes rounding and so what layers select.
    """
    built = module.built
    names, selection_axes = edge_names(built), _selection_axes(built)
    with open_onnx_session(model, names) as session:
        actual = session(trial)
    expected = _torch_values(module, trial, {name: actual[name] for name in selection_axes if name in actual})
    for node in built.graph.nodes:
        for name in (names[edge] for edge in node.tops):
            error = _errors({name: actual[name]}, expected, selection_axes)[name] if name in actual else 0.0
            if error > tolerance:
                return f"'{node.layer.name}' ({node.layer.type}), whose blob '{name}' differs by {error:.1e}"
    return "none: all blobs agree if all are looked at, so that onnxruntime's own optimisations differ"
