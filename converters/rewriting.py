"""Rewrites of a model, applied one after the other, each verified."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from converters.rewrites.layers import fold_affine, make_fully_convolutional, prune_to
from converters.rewrites.precision import round_weights
from converters.rewrites.preprocessing import Preprocessing, absorb_preprocessing
from converters.running import built_only, difference, edge_values, filled, input_shapes, output_values
from netdsl.checking.sample_inputs import sample_inputs
from netdsl.errors import ConversionError
from netdsl.model import Model
from netdsl.weights.match import AnyArray
from netdsl.weights.tensor_files import Precision

Preprocess = Callable[[AnyArray], AnyArray]

TOLERANCE = 1e-4  # of the spread of an output: deep nets amplify what single precision rounds
_ROUNDING_TOLERANCES = {Precision.FLOAT16: 1e-2, Precision.BFLOAT16: 1e-1}  # for values of 11 and of 8 bits


@dataclass(frozen=True)
class Rewrites:
    """The rewrites to apply."""

    prune_to: str | None = None
    fold: bool = False
    swap: bool = False  # RGB for BGR
    mean: tuple[float, ...] = ()
    fully_convolutional: bool = False
    precision: Precision | None = None


@dataclass(frozen=True)
class Proof:
    """One rewrite, with the largest difference of an output and its tolerance, both relative to the output's spread."""

    what: str
    difference: float | None  # None if it wasn't verified
    tolerance: float


@dataclass(frozen=True)
class _RewriteStep:
    what: str
    rewrite: Callable[[Model], Model]
    preprocess: Preprocess | None = None
    end: str | None = None
    tolerance: float = TOLERANCE


def rewrite(
    model: Model, rewrites: Rewrites, *, verify: bool = True, tolerance: float | None = None
) -> tuple[Model, list[Proof]]:
    """Rewrite a model; a ConversionError if a rewritten net doesn't compute the same.

    The default tolerance is that of each rewrite.
    """
    proofs = []
    for step in _steps(model, rewrites):
        after, limit = step.rewrite(model), step.tolerance if tolerance is None else tolerance
        error = difference_after(model, after, preprocess=step.preprocess, end=step.end) if verify else None
        if error is not None and error > limit:
            differ = f"the outputs differ by {error:.1e} of their spread, more than {limit:g}"
            raise ConversionError(f"{step.what}: {differ}, so it isn't done")
        proofs.append(Proof(step.what, error, limit))
        model = after
    return model, proofs


def _steps(model: Model, rewrites: Rewrites) -> Iterator[_RewriteStep]:
    """The rewrites in an order that always works: a net can't be pruned to a layer that was folded away."""
    if rewrites.prune_to is not None:
        name = rewrites.prune_to
        yield _RewriteStep(f"the net ends at layer '{name}'", lambda current: prune_to(current, name), end=name)
    if rewrites.fold:
        yield _RewriteStep("normalisations and scales folded", fold_affine)
    if rewrites.swap or rewrites.mean:
        preprocessing = _preprocessing(model, rewrites)
        what = [*(["BGR to RGB"] if rewrites.swap else []), *(["mean subtracted"] if rewrites.mean else [])]
        yield _RewriteStep(
            f"images: {', '.join(what)}",
            lambda current: absorb_preprocessing(current, preprocessing),
            preprocess=preprocessing,
        )
    if rewrites.fully_convolutional:
        yield _RewriteStep("fully connected layers as convolutions", make_fully_convolutional)
    if rewrites.precision is not None:
        kind = rewrites.precision
        text = f"weights rounded to {kind.name.lower()}, kept as float32"
        yield _RewriteStep(text, lambda current: round_weights(current, kind), tolerance=_ROUNDING_TOLERANCES[kind])


def _preprocessing(model: Model, rewrites: Rewrites) -> Preprocessing:
    """The preprocessing for the channels of the net's image."""
    shape = next((tuple(dims.dim) for layer in model.net.layer for dims in layer.input_param.shape), ())
    if len(shape) < 2:
        raise ConversionError(f"net '{model.net.name}' doesn't begin with an image")
    return Preprocessing.of(shape[1], swap_channels=rewrites.swap, mean=rewrites.mean)


def difference_after(
    before: Model, after: Model, *, preprocess: Preprocess | None = None, end: str | None = None, seed: int = 0
) -> float:
    """The largest difference of the second model's outputs from the first's blobs, relative to the blobs' spread.

    `preprocess` is for the first model's images, if the second preprocesses them itself. `end` is the layer of the
    first whose tops are compared, in case layers in place change them later. Axes of length 1 are ignored.
    """
    old = built_only(before)
    shapes = {name: tuple(length or 1 for length in shape) for name, shape in input_shapes(old).items()}
    image, samples = next(iter(shapes)), sample_inputs(old, shapes, seed)
    actual = output_values(after, samples)[1]
    edges = edge_values(
        filled(before),
        {name: preprocess(array) if preprocess and name == image else array for name, array in samples.items()},
    )
    graph = old.graph
    compared_edges = [edge for node in graph.nodes for edge in node.tops if end in (None, node.layer.name)]
    expected = {graph.blobs[edge]: edges[edge] for edge in compared_edges}
    missing = [name for name in actual if name not in expected]
    if missing:
        raise ConversionError(f"the original net has no blob {', '.join(map(repr, missing))} to compare with")
    return max(_difference(actual[name], expected[name]) for name in actual)


def _difference(actual: AnyArray, expected: AnyArray) -> float:
    return difference(actual.reshape(expected.shape) if actual.size == expected.size else actual, expected)
