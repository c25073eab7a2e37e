"""Verifies that an ONNX model computes the same values as its net. onnxruntime and torch run on the same inputs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from converters.lengths import named_sources, rebuilt, trial_shapes
from converters.onnx.files import load_onnx
from converters.onnx.graph import edge_names
from converters.onnx.quantization import Quantized
from converters.onnx.session import OnnxSession, name_of, open_onnx_session
from converters.running import (
    TOLERANCE,
    Arrays,
    NetToRun,
    Work,
    aligned_rows,
    built_only,
    difference,
    edge_values,
    input_shapes,
    module_of,
    rounded_otherwise,
    selection_axes,
    uninformative,
    unreported,
)
from netdsl.errors import ConversionError
from netdsl.layer import HasOnnxForm, Shape
from netdsl.net.build import Built
from netdsl.net.sample_inputs import sample_inputs

SelectionAxes = dict[str, int | None]

_DRAWS = 5  # of random inputs, while rounding explains the differences
_ROUNDED_MORE = 32  # times as much as in our estimate, rounding can change the outputs in another program
_MOST_UNAVOIDABLE = 10  # times the tolerance: if rounding changes the outputs more, a comparison proves too little


@dataclass(frozen=True)
class Report:
    """The differences of the outputs from torch's, relative to their spread, and the first node that differs.

    The differences prove nothing about `uninformative` outputs. For all tested inputs, such an output contains one
    value only, or values that aren't finite.
    """

    tolerance: float
    batches: tuple[int, ...]  # the batch sizes that were tested
    outputs: Mapping[str, float] = field(default_factory=dict)
    first: str | None = None
    uninformative: tuple[str, ...] = ()
    decoded: float | None = None  # the difference of the decoder's outputs from those in numpy, if it is in the model
    rounding: float = 0.0  # how much rounding changes the outputs for random inputs that were therefore left out
    unavoidable: float = 0.0  # how much rounding alone changes the outputs, if it explains their differences
    quantized: Quantized | None = None  # the effect of a quantization, which follows the comparison
    shapes: tuple[Mapping[str, Shape], ...] = ()  # the shapes of the inputs that were tested

    @property
    def difference(self) -> float:
        """The largest difference of an output."""
        return max(self.outputs.values(), default=0.0)

    @property
    def passed(self) -> bool:
        """Whether the difference of every output is within the tolerance, or within what rounding alone changes."""
        return self.difference <= max(self.tolerance, self.unavoidable) and (self.decoded or 0.0) <= self.tolerance

    def __str__(self) -> str:
        worst = max(self.outputs, key=lambda name: self.outputs[name])
        summary = f"blob '{worst}' differs by {self.outputs[worst]:.1e} of its spread"
        if self.difference <= max(self.tolerance, self.unavoidable) and not self.passed:
            return f"the decoded outputs differ by {self.decoded:.1e} of their spread, more than {self.tolerance:g}"
        if self.passed:
            batches = f", with batches of {' and '.join(map(str, self.batches))}" if self.batches else ""
            return f"{summary} at most{batches}"
        return f"{summary}, more than {self.tolerance:g}; the first node that differs is {self.first}"


def verify(
    model: Any,
    net: NetToRun,
    *,
    inputs: Mapping[str, npt.ArrayLike] | None = None,
    tolerance: float = TOLERANCE,
    work: Work = unreported,
) -> Report:
    """Run a model and the net that it was exported from on the same inputs, and report the differences.

    The model is a ModelProto or a file. The default inputs are random, with batches of one and two if the model leaves
    the batch size open. If it leaves other axes open, there are inputs of the net's own shapes, and smaller and larger
    ones, for which the net is built again. Raises a `ConversionError` if onnxruntime can't run the model.
    """
    model = load_onnx(model) if isinstance(model, (str, Path)) else model
    given = None if inputs is None else {name: np.asarray(value, np.float32) for name, value in inputs.items()}
    axes, left_out, unavoidable = _selection_axes(built_only(net)), 0.0, 0.0
    for draw in range(_DRAWS):
        trials, actual = _run_model(model, built_only(net), axes, given, draw, work)
        built = module_of(net).built  # after onnxruntime has released its copy of the weights
        nets = [_net_for(built, trial) for trial in trials]
        runs = [_run(*each, axes, work) for each in zip(nets, trials, actual, strict=True)]
        if not all(run.errors for run in runs):
            raise ConversionError(
                f"no output of {name_of(model)} is a blob of the net; verify the model that was exported from this net"
            )
        worse = [run for run in runs if run.worst > tolerance]
        if not worse:
            break
        roundings = [_rounding(run, axes, work) for run in worse]
        compared = list(zip((run.worst for run in worse), roundings, strict=True))
        if all(difference <= rounding <= _MOST_UNAVOIDABLE * tolerance for difference, rounding in compared):
            worse, unavoidable = [], max(roundings)
            break
        if given is not None or any(difference > _ROUNDED_MORE * rounding for difference, rounding in compared):
            break
        left_out = max(left_out, *roundings)
    outputs = {blob: max(run.errors[blob] for run in runs) for blob in runs[0].errors}
    ends = [name for edge, name in enumerate(edge_names(built)) if edge in built.graph.outputs and name in outputs]
    return Report(
        tolerance,
        tuple(len(next(iter(trial.values()))) for trial in trials if trial),
        outputs,
        next((_first_difference(model, run.net, run.inputs, tolerance) for run in worse), None),
        uninformative(*({name: run.expected[name] for name in ends} for run in runs)),
        rounding=left_out,
        unavoidable=unavoidable,
        shapes=tuple({name: values.shape for name, values in trial.items()} for trial in trials),
    )


@dataclass(frozen=True)
class _Run:
    """The values of both programs for the same inputs, and the differences of the blobs."""

    net: Built  # in the inputs' sizes
    inputs: Arrays
    actual: Arrays
    expected: Arrays
    errors: dict[str, float]

    @property
    def worst(self) -> float:
        return max(self.errors.values())


def _run(built: Built, inputs: Arrays, actual: Arrays, axes: SelectionAxes, work: Work) -> _Run:
    expected = _torch_values(built, inputs, actual, axes, work=work)
    return _Run(built, inputs, actual, expected, _errors(actual, expected, axes))


def _rounding(run: _Run, axes: SelectionAxes, work: Work) -> float:
    """Return how much rounding alone changes the values of a run, relative to their spread.

    A net can amplify rounding so much, for some inputs, that a comparison proves nothing.
    """
    values = _torch_values(run.net, run.inputs, run.actual, axes, changed=rounded_otherwise(), work=work)
    return max(_errors(values, run.expected, axes).values())


def _run_model(
    model: Any, built: Built, more_outputs: Collection[str], given: Arrays | None, draw: int, work: Work
) -> tuple[list[Arrays], list[Arrays]]:
    """Return the inputs and onnxruntime's results for each. The inputs are random if none are given."""
    with open_onnx_session(model, more_outputs) as session:
        trials = list(_trials(session, built, draw)) if given is None else [given]
        with work("running onnxruntime", len(trials)) as advance:
            return trials, [_advanced(session(trial), advance) for trial in trials]


def _advanced(values: Arrays, advance: Callable[..., object]) -> Arrays:
    advance()
    return values


def _trials(session: OnnxSession, built: Built, draw: int) -> Iterator[Arrays]:
    """Yield random inputs. If the model leaves lengths open, there are two or three sets with different lengths.

    The first draw has numbers of both signs. Later ones have numbers from 0 to 1, like pictures, which no net
    amplifies as much.
    """
    sources = named_sources(built, session.inputs)
    if not all(source.counts_items() for source in sources):
        for seed, trial in enumerate(trial_shapes(built, sources)):
            yield dict(sample_inputs(built, trial, seed + 3 * draw, fractions=draw > 0))
        return
    for batch in (1, 2) if sources else (0,):
        shapes = {
            name: _lengths(session.inputs.get(name, shape), shape, batch) for name, shape in input_shapes(built).items()
        }
        yield dict(sample_inputs(built, shapes, seed=batch + 2 * draw, fractions=draw > 0))


def _net_for(built: Built, inputs: Arrays) -> Built:
    """Return the net for inputs. It is built again if they have other sizes, but not for another number of items."""
    shapes = {name: values.shape for name, values in inputs.items()}
    own = input_shapes(built)
    return (
        built
        if all(shape[1:] == own.get(name, shape)[1:] for name, shape in shapes.items())
        else rebuilt(built, shapes)
    )


def _lengths(model_shape: Sequence[int | str | None], net_shape: Shape, batch: int) -> Shape:
    """Return the shape of an input.

    An open length is the batch size, or grows with it if it counts something else.
    """
    pairs = zip(model_shape, net_shape, strict=True)
    return tuple(batch if model_length == "batch" else length + batch - 1 if isinstance(model_length, str) else length
                 for model_length, length in pairs)  # fmt: skip


def _torch_values(
    built: Built,
    inputs: Arrays,
    actual: Arrays,
    selection_axes: SelectionAxes,
    *,
    changed: Callable[[Tensor], Tensor] | None = None,
    work: Work = unreported,
) -> Arrays:
    """Return torch's values of the blobs that the model returns, by the model's names.

    Rounding can change the items that a layer selects. Such layers, and the layers after them, therefore read the ONNX
    model's values.
    """
    names = edge_names(built)
    selected = {edge: actual[name] for edge, name in enumerate(names) if name in selection_axes and name in actual}
    wanted = {edge for edge, name in enumerate(names) if name in actual}
    doing = "running the net in torch"
    values = edge_values(built, inputs, selected, wanted=wanted, changed=changed, work=work, doing=doing)
    return {names[edge]: value for edge, value in values.items()}


def _selection_axes(built: Built) -> SelectionAxes:
    """Return the bottoms and tops of layers that select items, with the items' axis for the tops that have one."""
    names, axes, of_edges = edge_names(built), dict[str, int | None](), selection_axes(built)
    for node, layer in built.pairs():
        if not isinstance(layer, HasOnnxForm) or (layer.varying_axis is None and not layer.discontinuous):
            continue
        axes |= {names[edge]: None for edge in node.bottoms if names[edge] not in axes}
        axes |= {names[edge]: of_edges.get(edge) for edge in node.tops}
    return axes


def _errors(actual: Arrays, expected: Arrays, selection_axes: SelectionAxes) -> dict[str, float]:
    return {name: difference(*aligned_rows(value, expected[name], selection_axes.get(name)))
            for name, value in actual.items() if name in expected}  # fmt: skip


def _first_difference(model: Any, built: Built, inputs: Arrays, tolerance: float) -> str:
    """Return a description of the first node, in the net's order, whose top differs.

    The model runs again with all values as outputs. This changes rounding, and therefore the items that layers select.
    """
    names, selection_axes = edge_names(built), _selection_axes(built)
    with open_onnx_session(model, names) as session:
        actual = session(inputs)
    expected = _torch_values(built, inputs, actual, selection_axes)
    for node in built.graph.nodes:
        for name in (names[edge] for edge in node.tops):
            error = _errors({name: actual[name]}, expected, selection_axes)[name] if name in actual else 0.0
            if error > tolerance:
                return f"'{node.layer.name}' ({node.layer.type}): blob '{name}' differs by {error:.1e}"
    return "unknown: all blobs agree when all are outputs, so the difference comes from onnxruntime's optimizations"
