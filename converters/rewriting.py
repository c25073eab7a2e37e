"""Rewrites deployed models as nets that compute the same values in another way, and proves each rewrite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of, with_layers
from caffe_proto.errors import name_advice
from converters.running import Work, difference, edge_values, made_up_inputs, output_values, unreported
from netdsl.errors import ConversionError
from netdsl.layer import Layer
from netdsl.layer.deploying import (
    AbsorbsAffine,
    AbsorbsPreparation,
    BecomesConvolution,
    ChannelAffine,
    ComputedByOthers,
    NewLayer,
)
from netdsl.model.model import Model
from netdsl.model.weights.files import array_of, learned_layers
from netdsl.model.weights.match import AnyArray
from netdsl.model.weights.tensor_files import Precision
from netdsl.net.build import Built
from netdsl.net.graph import Phase

Preprocess = Callable[[AnyArray], AnyArray]
# The layers that replace each layer, by its index; empty if the layer is removed.
Changes = Mapping[int, Sequence[NewLayer]]

TOLERANCE = 1e-4  # relative to the spread of an output; deep nets amplify rounding in single precision
_ROUNDING_TOLERANCES = {Precision.FLOAT16: 1e-2, Precision.BFLOAT16: 1e-1}  # for significands of 11 and 8 bits


@dataclass(frozen=True)
class Rewrites:
    """The rewrites to apply."""

    prune_to: str | None = None
    fold: bool = False
    swap: bool = False  # swaps RGB and BGR
    mean: tuple[float, ...] = ()
    fully_convolutional: bool = False
    precision: Precision | None = None
    lacks: Callable[[pb.LayerParameter], bool] | None = None  # whether the program to write for lacks a layer's type


@dataclass(frozen=True)
class Proof:
    """One rewrite, with the largest difference of an output and its tolerance. Both are relative to the output's
    spread."""

    what: str
    difference: float | None  # None if the rewrite wasn't verified
    tolerance: float


@dataclass(frozen=True)
class _RewriteStep:
    what: str
    rewrite: Callable[[Model], Model]
    preprocess: Preprocess | None = None
    end: str | None = None
    tolerance: float = TOLERANCE


def rewrite(
    model: Model,
    rewrites: Rewrites,
    *,
    verify: bool = True,
    tolerance: float | None = None,
    work: Work = unreported,
) -> tuple[Model, list[Proof]]:
    """Rewrite a model. Raises a `ConversionError` if a rewritten net doesn't compute the same values.

    By default, each rewrite has its own tolerance.
    """
    proofs = []
    for step in _steps(model, rewrites):
        after, limit = step.rewrite(model), step.tolerance if tolerance is None else tolerance
        error = difference_after(model, after, preprocess=step.preprocess, end=step.end, work=work) if verify else None
        if error is not None and error > limit:
            differ = f"the outputs differ by {error:.1e} of their spread, more than {limit:g}"
            raise ConversionError(
                f"{step.what}: {differ}, so the model wasn't rewritten; allow the difference with --tolerance, or "
                "leave this rewrite out"
            )
        proofs.append(Proof(step.what, error, limit))
        model = after
    return model, proofs


def _steps(model: Model, rewrites: Rewrites) -> Iterator[_RewriteStep]:
    """Yield the rewrites in an order that always works. A net can't be pruned to a layer that was folded away."""
    if rewrites.prune_to is not None:
        name = rewrites.prune_to
        yield _RewriteStep(f"the net ends at layer '{name}'", lambda current: prune_to(current, name), end=name)
    if rewrites.fold:
        yield _RewriteStep("normalizations and scales folded", fold_affine)
    if (lacks := rewrites.lacks) is not None:
        built = model.layers(Phase.TEST)
        found = [built.layers[index].layer.type for index in _in_other_layers(built, lacks)]
        if found:
            kinds = ", ".join(dict.fromkeys(found))
            yield _RewriteStep(
                f"layers of type {kinds} as layers that the target has", lambda current: replace_lacking(current, lacks)
            )
    if rewrites.swap or rewrites.mean:
        preprocessing = preprocessing_of(model, rewrites)
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


def preprocessing_of(model: Model, rewrites: Rewrites) -> Preprocessing:
    """Return the preprocessing for the channels of the net's image that a rewritten net does itself."""
    shape = next((tuple(dims.dim) for layer in model.net.layer for dims in layer.input_param.shape), ())
    if len(shape) < 2:
        raise ConversionError(
            f"net '{model.net.name}' doesn't begin with an image; begin it with an Input layer of shape 1 x 3 x "
            "height x width"
        )
    return Preprocessing.of(shape[1], swap_channels=rewrites.swap, mean=rewrites.mean)


def difference_after(
    before: Model,
    after: Model,
    *,
    preprocess: Preprocess | None = None,
    end: str | None = None,
    seed: int = 0,
    work: Work = unreported,
) -> float:
    """Return the largest difference of the second model's outputs from the first's blobs, relative to the blobs'
    spread.

    `preprocess` prepares the first model's images if the second model preprocesses images itself. `end` names the layer
    of the first model whose tops are compared, because later layers may change them in place. Axes of length 1 are
    ignored.
    """
    built = before.layers(Phase.TEST)
    samples = made_up_inputs(built, seed)
    actual = output_values(after, samples, work, "running the rewritten net")
    image = next(iter(samples))
    prepared = samples if preprocess is None else {**samples, image: preprocess(samples[image])}
    graph = built.graph
    compared_edges = [edge for node in graph.nodes for edge in node.tops if end in (None, node.layer.name)]
    wanted = {edge for edge in compared_edges if graph.blobs[edge] in actual}
    edges = edge_values(
        before.module(Phase.TEST).built, prepared, wanted=wanted, work=work, doing="running the net before it"
    )
    expected = {graph.blobs[edge]: edges[edge] for edge in compared_edges if edge in wanted}
    missing = [name for name in actual if name not in expected]
    if missing:
        raise ConversionError(
            f"the original net doesn't have the blob {', '.join(map(repr, missing))} to compare with; name "
            "another layer with --prune-to"
        )
    return max(_difference(actual[name], expected[name]) for name in actual)


def _difference(actual: AnyArray, expected: AnyArray) -> float:
    return difference(actual.reshape(expected.shape) if actual.size == expected.size else actual, expected)


def prune_to(model: Model, name: str) -> Model:
    """Prune a model to a layer and the layers that it depends on."""
    _check_has_weights(model)
    built = model.layers(Phase.TEST)
    nodes = built.graph.nodes
    ends = [index for index, node in enumerate(nodes) if node.layer.name == name]
    if not ends:
        advice = name_advice(name, (node.layer.name for node in nodes))
        raise ConversionError(f"there is no layer '{name}'; {advice}")
    end = nodes[ends[-1]]
    needed = {id(node) for node in (*built.graph.needed_for(end.bottoms), end)}
    return _with_changes(model, built, {index: () for index, node in enumerate(nodes) if id(node) not in needed})


def fold_affine(model: Model) -> Model:
    """Fold layers that only scale and shift channels into the convolution or fully connected layer before them.

    Layers that share parameters don't change.
    """
    built = _in_double_precision(model)
    changes, nodes = dict[int, Sequence[NewLayer]](), built.graph.nodes
    readers = Counter(edge for node in nodes for edge in node.bottoms)
    # The only reader if there is just one.
    reader = {edge: index for index, node in enumerate(nodes) for edge in node.bottoms}
    for index, layer in enumerate(built.layers):
        if index not in changes and isinstance(layer, AbsorbsAffine) and len(nodes[index].tops) == 1:
            changes |= {} if _shares(layer) else _fold_following(built, index, layer, readers, reader)
    return _with_changes(model, built, changes)


def _fold_following(
    built: Built, index: int, layer: AbsorbsAffine, readers: Counter[int], reader: dict[int, int]
) -> Changes:
    """Return a layer with the layers after it folded in. Those layers are removed."""
    nodes, layers, changes = built.graph.nodes, built.layers, dict[int, Sequence[NewLayer]]()
    edge = nodes[index].tops[0]
    total: tuple[torch.Tensor, torch.Tensor] | None = None
    while readers[edge] == 1 and len(nodes[reader[edge]].bottoms) == len(nodes[reader[edge]].tops) == 1:
        following = layers[reader[edge]]
        affine = following.channel_affine() if isinstance(following, ChannelAffine) else None
        if affine is None:
            break
        factor, shift = affine
        total = affine if total is None else (total[0] * factor, total[1] * factor + shift)
        candidate = layer.with_affine(*total)
        if candidate is None:
            break
        candidate[0].top[:] = nodes[reader[edge]].layer.top
        changes |= {index: [candidate], reader[edge]: ()}
        edge = nodes[reader[edge]].tops[0]
    return changes


def make_fully_convolutional(model: Model) -> Model:
    """Replace every fully connected layer by a convolution, so that a classifier scans larger images.

    Predictions get two more axes.
    """
    built = _in_double_precision(model)
    changes = dict[int, Sequence[NewLayer]]()
    for index, (node, layer) in enumerate(built.pairs()):
        if isinstance(layer, BecomesConvolution) and len(node.bottoms) == 1:
            convolution = layer.as_convolution(built.shapes[node.bottoms[0]])
            if convolution is not None:
                changes[index] = [convolution]
    if not changes:
        raise ConversionError(
            f"no fully connected layer of net '{model.net.name}' can become a convolution; leave out "
            "--fully-convolutional"
        )
    return _with_changes(model, built, changes)


def replace_lacking(model: Model, lacks: Callable[[pb.LayerParameter], bool]) -> Model:
    """Replace the layers whose types a program lacks by layers that compute the same values, where there are such."""
    if not _in_other_layers(model.layers(Phase.TEST), lacks):
        return model
    built = model.module(Phase.TEST).built
    return _with_changes(model, built, _in_other_layers(built, lacks))


def _in_other_layers(built: Built, lacks: Callable[[pb.LayerParameter], bool]) -> Changes:
    """Return the layers that replace those whose types a program lacks, where there are such."""
    changes = dict[int, Sequence[NewLayer]]()
    for index, (node, layer) in enumerate(built.pairs()):
        if isinstance(layer, ComputedByOthers) and lacks(node.layer) and not _shares(layer):
            others = layer.in_other_layers()
            if others is not None:
                changes[index] = others
    return changes


def round_weights(model: Model, precision: Precision) -> Model:
    """Round the weights of a model to a precision. They are still stored as float32, which Caffe needs."""
    weights = {name: [_round(array, precision) for array in arrays] for name, arrays in model.weights.items()}
    overflowing = [
        name
        for name, arrays in weights.items()
        if any(_overflows(*pair) for pair in zip(model.weights[name], arrays, strict=True))
    ]
    if overflowing:
        raise ConversionError(
            f"the weights of layer {', '.join(map(repr, overflowing))} are too large for "
            f"{precision.name.lower()}; leave out --precision, or use --precision bfloat16"
        )
    return replace(model, weights=weights, file=None)


def _round(array: AnyArray, precision: Precision) -> AnyArray:
    return torch.from_numpy(np.array(array)).to(precision.value).float().numpy()


def _overflows(before: AnyArray, after: AnyArray) -> bool:
    return bool(np.isfinite(before).all() and not np.isfinite(after).all())


@dataclass(frozen=True)
class Preprocessing:
    """The preprocessing that a net expects: an order of channels, then a mean to subtract from each channel."""

    order: Sequence[int]
    mean: Sequence[float]

    @classmethod
    def of(cls, channels: int, *, swap_channels: bool, mean: Sequence[float] = ()) -> Preprocessing:
        """Return the preprocessing of images with a number of channels.

        `swap_channels` swaps BGR and RGB. A single mean applies to all channels.
        """
        means = [*mean] * channels if len(mean) == 1 else [*mean] or [0.0] * channels
        if len(means) != channels:
            raise ConversionError(
                f"the mean has {len(means)} values, but the images have {channels} channels; give one value, or one "
                "for each channel"
            )
        order = range(channels)
        return cls([*reversed(order)] if swap_channels else [*order], means)

    def __call__(self, image: AnyArray) -> AnyArray:
        """Return a preprocessed batch of images."""
        mean = np.asarray(self.mean, np.float32).reshape(-1, *[1] * (image.ndim - 2))
        return np.ascontiguousarray(image[:, list(self.order)] - mean)

    def undo(self, image: AnyArray) -> AnyArray:
        """Return the batch of images that becomes this one when it is preprocessed."""
        mean = np.asarray(self.mean, np.float32).reshape(-1, *[1] * (image.ndim - 2))
        return np.ascontiguousarray((image + mean)[:, np.argsort(self.order)])


def absorb_preprocessing(model: Model, preprocessing: Preprocessing) -> Model:
    """Rewrite a model so that it accepts images without preprocessing.

    If the first layer pads images with zeros, the padding stands for the mean. A separate layer then subtracts the
    mean.
    """
    built = _in_double_precision(model)
    index, layer = _image_layer(built)
    shift = -torch.tensor(preprocessing.mean, dtype=torch.float64)
    can_prepare = isinstance(layer, AbsorbsPreparation)
    replacement = layer.with_preparation(preprocessing.order, shift) if can_prepare else None
    if replacement is not None:
        return _with_changes(model, built, {index: [replacement]})
    replacement = layer.with_preparation(preprocessing.order, torch.zeros_like(shift)) if can_prepare else None
    if replacement is None:
        what = f"layer '{layer.layer.name}' of type {layer.layer.type}"
        raise ConversionError(
            f"{what} can't absorb the preprocessing; leave out --rgb and --mean, and preprocess the images instead"
        )
    bias = _bias(built, layer, preprocessing.order, shift)
    replacement[0].bottom[:] = bias[0].top
    return _with_changes(model, built, {index: [bias, replacement]})


def _image_layer(built: Built) -> tuple[int, Layer]:
    """Return the only layer that reads the image."""
    graph, layers, image = built.graph, built.layers, built.input_edges()[:1]
    readers = [index for index, node in enumerate(graph.nodes) if set(image).intersection(node.bottoms)]
    if len(readers) != 1 or _shares(layers[readers[0]]):
        names = ", ".join(repr(graph.nodes[index].layer.name) for index in readers) or "none"
        raise ConversionError(
            "images must be read by exactly one layer, which doesn't share parameters, but they are read by "
            f"{names}; leave out --rgb and --mean, and preprocess the images instead"
        )
    return readers[0], layers[readers[0]]


def _bias(built: Built, layer: Layer, order: Sequence[int], shift: Tensor) -> NewLayer:
    """Return a layer that adds a shift to the channels, in the image's own order."""
    used_names = {node.layer.name for node in built.graph.nodes} | set(built.graph.blobs)
    name = f"{layer.layer.bottom[0]}_without_mean"
    while name in used_names:
        name += "_"
    values = torch.empty_like(shift)
    values[list(order)] = shift
    return pb.LayerParameter(name=name, type="Bias", bottom=layer.layer.bottom, top=[name]), [values]


def _check_has_weights(model: Model) -> None:
    if not model.weights:
        raise ConversionError(
            f"net '{model.net.name}' can't be rewritten without its weights; name them with --weights"
        )


def _in_double_precision(model: Model) -> Built:
    """Return the layers of a model with its weights in double precision."""
    _check_has_weights(model)
    return model.module(Phase.TEST).double().built


def _shares(layer: Layer) -> bool:
    """Return whether another layer may share this layer's parameters. Such parameters must not change."""
    return any(spec.name for spec in layer.layer.param)


def _with_changes(model: Model, built: Built, changes: Changes) -> Model:
    """Return the model with some layers replaced, and with the weights of the new layers."""
    names = {id(layer): name for name, layer in learned_layers(built).items()}
    layers, weights = list[pb.LayerParameter](), dict[str, list[AnyArray]]()
    for index, (message, layer) in enumerate(zip(model.net.layer, built.layers, strict=True)):
        name = names.get(id(layer))
        if index not in changes:
            layers.append(message)
            weights |= {} if name is None else {name: list(model.weights[name])}
        for new, blobs in changes.get(index, ()):
            layers.append(new)
            weights[name if name and new.name == message.name else new.name] = _in_single_precision(blobs)
    net = with_layers(model.net, (copy_of(layer, without=["phase"]) for layer in layers))
    return replace(model, net=net, weights=weights, file=None)


def _in_single_precision(blobs: Sequence[Tensor]) -> list[AnyArray]:
    return [np.ascontiguousarray(array_of(blob), np.float32) for blob in blobs]
