"""Writes decoders in ONNX operators, so that onnxruntime computes boxes, points and pictures without other code.

Each family has a function in `_FORMS`. It repeats the arithmetic of the family's `decode` with the same constants.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import name_advice
from converters.onnx.files import SplitModel
from converters.onnx.graph import GraphBuilder
from converters.onnx.library import model_of, onnx
from converters.onnx.session import WrittenModel, open_onnx_session
from converters.running import Arrays, difference, input_shapes
from netdsl.errors import ConversionError, DecoderError
from netdsl.layer import Shape
from netdsl.layer.onnx_boxes import corners_onnx, decode_onnx, suppressed_onnx
from netdsl.layer.onnx_form import UNKNOWN, clamped, part, reduced, reshaped, scaled, smaller, transposed
from netdsl.net.build import Built
from netdsl.net.sample_inputs import sample_inputs
from netdsl.prediction.decoders.attributes import AttributeDecoder
from netdsl.prediction.decoders.boxes import (
    LARGEST_EXPONENT,
    Activation,
    BoxCode,
    centers_of,
    grid_centers,
    sides_of,
)
from netdsl.prediction.decoders.centerface import CenterFace
from netdsl.prediction.decoders.colorization import ColorizationDecoder
from netdsl.prediction.decoders.decoder import (
    AttributeGroup,
    Attributes,
    ClassScores,
    Decoded,
    Decoder,
    DetectionDecoder,
    Detections,
    Embedding,
    Picture,
    PointOrder,
    Points,
    Size,
)
from netdsl.prediction.decoders.embedding import EmbeddingDecoder
from netdsl.prediction.decoders.facemask import FaceMask
from netdsl.prediction.decoders.landmarks import LandmarkDecoder, PointUnit
from netdsl.prediction.decoders.picture import PictureDecoder
from netdsl.prediction.decoders.retinaface import RetinaFace
from netdsl.prediction.decoders.ssd import Ssd
from netdsl.prediction.decoders.ultraface import UltraFace
from netdsl.prediction.decoders.yolo import AnchorUnit, Yolo

Values = dict[str, str]  # the values of the graph by the names of the model's outputs

_NAME = "decoder"  # of the graph's nodes
_IMAGE_AXES = 4  # batch, channels, height and width
_FLOAT = 1  # TensorProto.FLOAT
_NET = "net"  # added to blobs that have the name of an output
_CODES = {
    BoxCode.CORNER: pb.PriorBoxParameter.CORNER,
    BoxCode.CENTER_SIZE: pb.PriorBoxParameter.CENTER_SIZE,
    BoxCode.CORNER_SIZE: pb.PriorBoxParameter.CORNER_SIZE,
}


@dataclass(frozen=True)
class OutputDecoding:
    """A decoder as part of an exported model, and the height and width of the net's input."""

    decoder: Decoder
    size: Size

    @classmethod
    def of(cls, decoder: Decoder, built: Built) -> OutputDecoding:
        """Return the decoding of the outputs of a net, which must read images."""
        shapes = [shape for shape in input_shapes(built).values() if len(shape) == _IMAGE_AXES]
        if len(shapes) != 1:
            raise ConversionError(
                f"the net has {len(shapes)} inputs for images, but a decoder needs one; export the net without "
                "a decoder"
            )
        return cls(decoder, (shapes[0][2], shapes[0][3]))

    def decoded(self, blobs: Arrays) -> Arrays:
        """Return what the decoder computes in numpy from blobs with a batch of one, by the names of outputs."""
        return _by_name(self.decoder.decode({name: blobs[name][0] for name in self.decoder.blob_names}, self.size))


def add_decoder(model: SplitModel, decoding: OutputDecoding, shapes: Mapping[str, Shape]) -> SplitModel:
    """Return a model of a net whose outputs are the decoder's. `shapes` are those of all blobs by name."""
    opset, dtype = model.message.opset_import[0].version, _dtype(model.message)
    graph = model.message.graph
    read = _read_shapes(decoding, shapes)
    expected = _answer_of_zeros(decoding, read)
    if taken := expected.keys() & {value.name for value in graph.input}:
        raise ConversionError(
            f"the decoder's output '{min(taken)}' has the name of an input of the net; rename the input in the prototxt"
        )
    renamed = {name: f"{name}/{_NET}" for name in expected}
    blobs = {name: renamed.get(name, name) for name in read}
    for node in graph.node:
        for values in (node.input, node.output):
            values[:] = [renamed.get(value, value) for value in values]
    used = [value for node in graph.node for value in (*node.input, *node.output)] + [v.name for v in graph.initializer]
    builder, ends = _decoder_graph(decoding, expected, read, blobs, opset, dtype, used)
    graph.node.extend(builder.all_nodes)
    graph.initializer.extend(builder.initializers)
    del graph.output[:]
    graph.output.extend(ends)
    return SplitModel(model.message, [*model.values, *builder.values])


def verify_decoder(written: Any, plain: Any, decoding: OutputDecoding, built: Built) -> float:
    """Return the largest difference between the answers of onnxruntime and of the decoder in numpy.

    First the written model runs on random inputs, and the decoder reads the outputs of the model without it. Random
    inputs rarely show an object. Therefore the written decoder also runs on random blobs with many objects, whose
    values could be probabilities, and on blobs with none. Blobs that don't depend on the input, such as priors, keep
    their values.
    """
    trials = [dict(sample_inputs(built, input_shapes(built), seed=seed)) for seed in (0, 1)]
    with open_onnx_session(plain, decoding.decoder.blob_names) as session:
        blobs = [{**trial, **session(trial)} for trial in trials]
    with open_onnx_session(written) as session:
        worst = [_difference(session(trial), decoding.decoded(each)) for trial, each in zip(trials, blobs, strict=True)]
    read = [{name: each[name] for name in decoding.decoder.blob_names} for each in blobs]
    changing = {name for name, values in read[0].items() if not np.array_equal(values, read[1][name])}
    draw = np.random.default_rng(0)
    drawn = {name: draw.random(values.shape) for name, values in read[0].items() if name in changing}
    opset = (written.message if isinstance(written, WrittenModel) else written).opset_import[0].version
    return max(*worst, _difference_on_blobs(decoding, {**read[0], **drawn}, changing, opset))


def _difference_on_blobs(decoding: OutputDecoding, drawn: Arrays, changing: Collection[str], opset: int) -> float:
    """Return the largest difference on the drawn blobs, and on blobs whose changing values are all -1, which some
    decoders refuse."""
    shapes = {name: values.shape for name, values in drawn.items()}
    expected = _answer_of_zeros(decoding, shapes)
    blobs = {name: f"{name}/{_NET}" if name in expected else name for name in shapes}
    builder, ends = _decoder_graph(decoding, expected, shapes, blobs, opset, np.float32, list(blobs.values()))
    starts = [onnx().helper.make_tensor_value_info(blobs[name], _FLOAT, shape) for name, shape in shapes.items()]
    graph = onnx().helper.make_graph(builder.all_nodes, _NAME, starts, ends, initializer=builder.initializers)
    drawn = {name: values.astype(np.float32) for name, values in drawn.items()}
    empty = {name: np.full_like(values, -1) if name in changing else values for name, values in drawn.items()}
    answers = [(drawn, decoding.decoded(drawn))]
    with suppress(DecoderError):
        answers.append((empty, decoding.decoded(empty)))
    with open_onnx_session(SplitModel(model_of(graph, opset), builder.values).joined()) as session:
        return max(
            _difference(session({blobs[name]: values for name, values in trial.items()}), answer)
            for trial, answer in answers
        )


def _read_shapes(decoding: OutputDecoding, shapes: Mapping[str, Shape]) -> dict[str, Shape]:
    """Return the shapes of the blobs that the decoder reads, for which the decoder has been tried."""
    decoder = decoding.decoder
    if type(decoder) not in _FORMS:
        raise ConversionError(
            f"the decoder '{decoder.name}' has no ONNX form, because its result isn't a fixed computation with arrays; "
            "leave --decode out, and decode the outputs with netdsl.decoder_of"
        )
    missing = [name for name in decoder.blob_names if name not in shapes]
    if missing:
        raise ConversionError(f"blobs: the net doesn't compute '{missing[0]}'; {name_advice(missing[0], shapes)}")
    read = {name: shapes[name] for name in decoder.blob_names}
    for name, shape in read.items():
        if shape[:1] != (1,):
            raise ConversionError(
                f"a decoder reads one image, but blob '{name}' has shape {shape}; export the net with --batch 1"
            )
    return read


def _answer_of_zeros(decoding: OutputDecoding, read: Mapping[str, Shape]) -> Arrays:
    """Return the answer for blobs of zeros, whose names and shapes are those of the model's outputs."""
    return decoding.decoded({name: np.zeros(shape, np.float32) for name, shape in read.items()})


def _decoder_graph(
    decoding: OutputDecoding,
    expected: Arrays,
    read: Mapping[str, Shape],
    blobs: Mapping[str, str],
    opset: int,
    dtype: Any,
    used: Sequence[str],
) -> tuple[GraphBuilder, list[Any]]:
    """Return the nodes of a decoder and the values that they end with, which have the names and shapes of the
    `expected` answer. `blobs` are the blobs' names in the graph."""
    builder = GraphBuilder(opset, dtype, [*used, *expected])
    builder.begin(_NAME, {})
    writer = _Writer(builder, decoding.decoder, read, blobs)
    values = _FORMS[type(decoding.decoder)](writer, decoding.decoder, decoding.size)
    builder.end(list(values.values()), list(values))
    kinds = {name: np.dtype(np.int64) if name == "labels" else np.dtype(dtype) for name in values}
    varies = isinstance(decoding.decoder, DetectionDecoder)
    ends = [
        onnx().helper.make_tensor_value_info(
            name,
            onnx().helper.np_dtype_to_tensor_dtype(kinds[name]),
            ["detections", *expected[name].shape[1:]] if varies else expected[name].shape,
        )
        for name in values
    ]
    return builder, ends


def _by_name(decoded: Decoded) -> Arrays:
    """Return a decoded answer by the names of a model's outputs."""
    if isinstance(decoded, Detections):
        found = {"boxes": decoded.boxes, "scores": decoded.scores, "labels": decoded.labels}
        return found if decoded.points is None else {**found, "points": decoded.points}
    if isinstance(decoded, (Attributes, Points)):
        groups = {
            name: np.asarray(group.scores if isinstance(group, ClassScores) else group)
            for name, group in decoded.groups.items()
        }
        return {**groups, "points": decoded.points} if isinstance(decoded, Points) else groups
    assert isinstance(decoded, (Picture, Embedding))
    return {"picture" if isinstance(decoded, Picture) else "embedding": decoded.values}


def _difference(actual: Arrays, expected: Arrays) -> float:
    return max(difference(actual[name], values) for name, values in expected.items())


def _dtype(message: Any) -> Any:
    kind = message.graph.output[0].type.tensor_type.elem_type
    return onnx().helper.tensor_dtype_to_np_dtype(kind)


class _Writer:
    """Writes the steps that several families share. All values are of one image, without a batch axis."""

    def __init__(
        self, g: GraphBuilder, decoder: Decoder, shapes: Mapping[str, Shape], blobs: Mapping[str, str]
    ) -> None:
        self.g, self._decoder, self._shapes, self._blobs = g, decoder, shapes, blobs

    def flat(self, name: str) -> str:
        """Return the values of a blob as one vector."""
        return reshaped(self.g, self._blobs[name], UNKNOWN)

    def rows(self, role: str, *shape: int) -> str:
        """Return the values of a role's blobs, one after the other, in a shape."""
        flat = [self.flat(name) for name in self._decoder.names_of(role)]
        return reshaped(self.g, self.g.node("Concat", *flat, axis=0), *shape)

    def maps(self, role: str) -> list[tuple[str, tuple[int, int, int]]]:
        """Return the feature maps of a role and their shapes (channels, height, width)."""
        maps = list[tuple[str, tuple[int, int, int]]]()
        for name in self._decoder.names_of(role):
            channels, height, width = self._shapes[name][1:]
            maps.append((reshaped(self.g, self._blobs[name], channels, height, width), (channels, height, width)))
        return maps

    def length(self, name: str) -> int:
        """Return the number of values in a blob."""
        return math.prod(self._shapes[name])

    def count(self, role: str) -> int:
        """Return the number of values in a role's blobs."""
        return sum(map(self.length, self._decoder.names_of(role)))

    def per_anchor(self, value: str, channels: int, anchors: int) -> str:
        """Return the values of a map with these channels as rows, by position and then by anchor."""
        columns = channels // anchors
        return reshaped(
            self.g, transposed(self.g, reshaped(self.g, value, anchors, columns, UNKNOWN), 2, 0, 1), UNKNOWN, columns
        )

    def boxes(self, code: BoxCode, codes: str, priors: str, variances: str | None = None) -> str:
        """Return the boxes (N, 4) that codes describe relative to priors."""
        if variances is not None:
            codes = self.g.node("Mul", codes, variances)
        if code is BoxCode.CENTER_SIZE:
            limits = [np.inf, np.inf, LARGEST_EXPONENT, LARGEST_EXPONENT]
            codes = self.g.node("Min", codes, self.g.constant(limits))
        return decode_onnx(self.g, _CODES[code], codes, priors)

    def in_pixels(self, boxes: str, size: Size) -> str:
        """Return boxes that are fractions of the input in pixels."""
        return self.g.node("Mul", boxes, self.g.constant(np.asarray(size[::-1] * 2, float)))

    def activated(self, activation: Activation, scores: str) -> str:
        """Return the probabilities of classes, which are on the last axis."""
        if activation is Activation.SIGMOID:
            return self.g.node("Sigmoid", scores)
        return self.g.node("Softmax", scores, axis=-1) if activation is Activation.SOFTMAX else scores

    def joined(self, values: Sequence[str]) -> str:
        """Return rows one after the other."""
        return self.g.node("Concat", *values, axis=0)

    def best(
        self,
        boxes: str,
        scores: str,
        shape: tuple[int, int],
        labels: Sequence[int],
        points: str | None = None,
        pixel: float = 0,
    ) -> Values:
        """Write the choice of detections, as `DetectionDecoder.best` computes it.

        `scores` (boxes, classes) has the given shape, and `labels` are the numbers of the classes. The operators accept
        a score only above a threshold, so the threshold is the number before the decoder's.
        """
        g, decoder = self.g, self._decoder
        assert isinstance(decoder, DetectionDecoder)
        count, classes = shape
        if decoder.one_label and classes > 1:
            likeliest = g.node("ArgMax", scores, axis=1, keepdims=1)
            is_likeliest = g.node("Equal", likeliest, g.constant(np.arange(classes)[None]))
            scores = g.node("Where", is_likeliest, scores, g.constant(-np.inf))
        together = decoder.across_labels
        groups = reshaped(g, scores, 1, count * classes) if together else transposed(g, scores, 1, 0)
        most = min(decoder.candidates, count * classes if together else count)
        sure, index = g.nodes("TopK", groups, g.constant([most]), outputs=2, axis=1)
        box = g.node("Div", index, g.constant(classes)) if together else index
        least = float(np.nextafter(*np.array([decoder.threshold, -np.inf], g.dtype)))
        near, far = (part(g, g.node("Gather", boxes, box), 2, first, first + 2) for first in (0, 2))
        around = g.node("Concat", near, g.node("Max", near, far), axis=2)  # a box that ends before it begins is empty
        group, place = suppressed_onnx(g, around, sure, decoder.overlap, limit=most, least=least, pixel=pixel)
        at = g.node("Concat", group, place, axis=1)
        label = g.node("GatherND", g.node("Mod", index, g.constant(classes)), at) if together else group
        label = g.node("Gather", g.constant(list(labels)), reshaped(g, label, UNKNOWN))
        score, box = g.node("GatherND", sure, at), g.node("GatherND", box, at)
        few = smaller(g, g.node("Shape", score), g.constant([decoder.most]))
        score, order = g.nodes("TopK", score, few, outputs=2, axis=0)
        box = g.node("Gather", box, order)
        found = {"boxes": g.node("Gather", boxes, box), "scores": score, "labels": g.node("Gather", label, order)}
        return found if points is None else {**found, "points": g.node("Gather", points, box)}


def _ssd(w: _Writer, decoder: Ssd, size: Size) -> Values:
    g = w.g
    if decoder.feature_maps:
        codes, scores = (
            w.joined([reshaped(g, transposed(g, value, 1, 2, 0), UNKNOWN) for value, _ in w.maps(role)])
            for role in ("locations", "scores")
        )
        codes = reshaped(g, codes, UNKNOWN, 4)
    else:
        codes, scores = w.rows("locations", UNKNOWN, 4), w.rows("scores", UNKNOWN)
    count = w.count("locations") // 4
    if decoder.priors:
        priors, variances = (g.constant(each) for each in decoder.described_priors(size))
    else:
        halves = [reshaped(g, w.flat(name), 2, UNKNOWN, 4) for name in decoder.names_of("priors")]
        both = g.node("Concat", *halves, axis=1)
        priors, variances = (reshaped(g, part(g, both, 0, each, each + 1), UNKNOWN, 4) for each in (0, 1))
    if decoder.variances:
        variances = g.constant(np.asarray(decoder.variances, float))
    classes = w.count("scores") // count
    scores = w.activated(decoder.activation, reshaped(g, scores, count, classes))
    labels = [label for label in range(classes) if label != decoder.background]
    if len(labels) < classes:
        scores = g.node("Gather", scores, g.constant(labels), axis=1)
    boxes = w.in_pixels(w.boxes(decoder.code, codes, priors, variances), size)
    return w.best(boxes, scores, (count, len(labels)), labels)


def _ultraface(w: _Writer, decoder: UltraFace, size: Size) -> Values:
    g, variances = w.g, np.repeat([decoder.center_variance, decoder.size_variance], 2)
    priors, points = decoder.priors(size), None
    boxes = w.boxes(BoxCode.CENTER_SIZE, w.rows("boxes", UNKNOWN, 4), g.constant(priors), g.constant(variances))
    scores = part(g, w.activated(decoder.activation, w.rows("scores", UNKNOWN, 2)), 1, 1, 2)
    if decoder.names_of("landmarks"):
        shifts = scaled(g, w.rows("landmarks", decoder.count(size), UNKNOWN, 2), decoder.center_variance)
        moved = g.node("Mul", shifts, g.constant(sides_of(priors)[:, None]))
        points = g.node("Add", moved, g.constant(centers_of(priors)[:, None]))
        points = g.node("Mul", points, g.constant(np.asarray(size[::-1], float)))
    return w.best(w.in_pixels(boxes, size), scores, (decoder.count(size), 1), [0], points)


def _facemask(w: _Writer, decoder: FaceMask, size: Size) -> Values:
    codes, variances = w.rows("boxes", UNKNOWN, 4), w.g.constant(np.asarray(decoder.variances, float))
    boxes = w.boxes(BoxCode.CENTER_SIZE, codes, w.g.constant(decoder.anchors()), variances)
    classes = w.count("scores") // decoder.count
    scores = w.rows("scores", decoder.count, classes)
    return w.best(w.in_pixels(boxes, size), scores, (decoder.count, classes), range(classes))


def _retinaface(w: _Writer, decoder: RetinaFace, size: Size) -> Values:
    g, count = w.g, 0
    landmarks = w.maps("landmarks")
    boxes, scores, points = list[str](), list[str](), list[str]()
    for index, ((codes, shape), (sure, (channels, height, width))) in enumerate(
        zip(w.maps("boxes"), w.maps("scores"), strict=True)
    ):
        anchors, each = decoder.anchors(index, height, width), channels // 2
        own = w.per_anchor(codes, shape[0], each)
        boxes.append(w.boxes(BoxCode.CENTER_SIZE, own, g.constant(anchors), g.constant(float(decoder.box_scale))))
        scores.append(w.per_anchor(part(g, sure, 0, each, channels), each, each))
        count += len(anchors)
        if landmarks:
            value, shape = landmarks[index]
            own = reshaped(g, w.per_anchor(value, shape[0], each), UNKNOWN, shape[0] // each // 2, 2)
            sides = g.constant(sides_of(anchors)[:, None] * decoder.landmark_scale)
            points.append(g.node("Add", g.node("Mul", own, sides), g.constant(centers_of(anchors)[:, None])))
    limits = g.constant(np.asarray(size[::-1] * 2, float))
    cut = g.node("Min", g.node("Max", w.joined(boxes), g.constant(0.0)), limits)
    return w.best(cut, w.joined(scores), (count, 1), [0], w.joined(points) if points else None)


def _yolo(w: _Writer, decoder: Yolo, size: Size) -> Values:
    g, count, classes = w.g, 0, 0
    boxes, scores = list[str](), list[str]()
    for index, (grid, (channels, height, width)) in enumerate(w.maps("grids")):
        anchors = np.reshape(decoder.anchors[index], (-1, 2))
        scale = decoder.xy_scale[index] if decoder.xy_scale else 1
        cell = np.array([size[1] / width, size[0] / height])
        unit = cell if decoder.unit is AnchorUnit.CELLS else 1
        columns, classes = channels // len(anchors), channels // len(anchors) - 5
        raw = w.per_anchor(grid, channels, len(anchors))
        corner = np.repeat(grid_centers(height, width, 0), len(anchors), 0) - (scale - 1) / 2
        shift = scaled(g, g.node("Sigmoid", part(g, raw, 1, 0, 2)), scale)
        centers = g.node("Mul", g.node("Add", shift, g.constant(corner)), g.constant(cell))
        growth = g.node("Exp", clamped(g, part(g, raw, 1, 2, 4), -np.inf, LARGEST_EXPONENT))
        sides = g.node("Mul", growth, g.constant(np.tile(anchors * unit, (height * width, 1)).astype(float)))
        boxes.append(corners_onnx(g, centers, sides))
        sure = g.node("Sigmoid", part(g, raw, 1, 4, 5))
        scores.append(g.node("Mul", sure, w.activated(decoder.activation, part(g, raw, 1, 5, columns))))
        count += height * width * len(anchors)
    return w.best(w.joined(boxes), w.joined(scores), (count, classes), range(classes))


def _centerface(w: _Writer, decoder: CenterFace, size: Size) -> Values:
    g = w.g
    ((heat, (_, height, width)),) = w.maps("heatmap")
    cell = np.array([size[0] / height, size[1] / width])
    scale, offset = (w.per_anchor(w.maps(role)[0][0], 2, 1) for role in ("scale", "offset"))
    sides = g.node("Mul", g.node("Exp", clamped(g, scale, -np.inf, LARGEST_EXPONENT)), g.constant(cell))
    grid = grid_centers(height, width)[:, ::-1]
    centers = g.node("Mul", g.node("Add", offset, g.constant(grid)), g.constant(cell))
    limits, swapped = g.constant(np.asarray(size, float)), g.constant([1, 0])
    first = g.node("Sub", centers, scaled(g, sides, 0.5))
    first = g.node("Min", g.node("Max", first, g.constant(0.0)), limits)
    last = g.node("Min", g.node("Add", first, sides), limits)
    boxes = g.node("Concat", *(g.node("Gather", each, swapped, axis=1) for each in (first, last)), axis=1)
    points = None
    for value, (channels, _, _) in w.maps("landmarks"):
        parts = reshaped(g, w.per_anchor(value, channels, 1), UNKNOWN, channels // 2, 2)
        wide, begin = (reshaped(g, each, UNKNOWN, 1, 2) for each in (sides, first))
        points = g.node("Gather", g.node("Add", g.node("Mul", parts, wide), begin), swapped, axis=2)
    return w.best(boxes, reshaped(g, heat, UNKNOWN, 1), (height * width, 1), [0], points, pixel=1)


def _landmarks(w: _Writer, decoder: LandmarkDecoder, size: Size) -> Values:
    (blob,) = decoder.names_of("points")
    values = part(
        w.g, w.flat(blob), 0, decoder.first, decoder.first + (decoder.count or w.length(blob) - decoder.first)
    )
    if decoder.order is PointOrder.XY:
        values = reshaped(w.g, values, UNKNOWN, 2)
    else:
        values = transposed(w.g, reshaped(w.g, values, 2, UNKNOWN), 1, 0)
    units = size[::-1] if decoder.unit is PointUnit.FRACTIONS else (1, 1)
    moved = scaled(w.g, values, decoder.scale, decoder.offset)
    return {"points": w.g.node("Mul", moved, w.g.constant(np.asarray(units, float))), **_groups(w, decoder.groups)}


def _embedding(w: _Writer, decoder: EmbeddingDecoder, size: Size) -> Values:
    g, vector = w.g, w.rows("embedding", UNKNOWN)
    if decoder.normalize:
        length = reduced(g, "ReduceL2", vector, [0])
        length = g.node("Where", g.node("Equal", length, g.constant(0.0)), g.constant(1.0), length)
        vector = g.node("Div", vector, length)
    return {"embedding": vector}


def _picture(w: _Writer, decoder: PictureDecoder, size: Size) -> Values:
    ((values, _),) = w.maps("picture")
    if decoder.residual:
        values = w.g.node("Add", values, w.maps("input")[0][0])
    mean = w.g.constant(np.reshape(decoder.mean, (-1, 1, 1)).astype(float))
    return {"picture": w.g.node("Add", scaled(w.g, values, decoder.scale), mean)}


def _colorization(w: _Writer, decoder: ColorizationDecoder, size: Size) -> Values:
    g, ((values, (channels, height, width)),) = w.g, w.maps("colors")
    if channels == 2:
        return {"picture": values}
    flat = reshaped(g, values, channels, UNKNOWN)
    if decoder.softmax:
        flat = g.node("Softmax", scaled(g, flat, decoder.sharpness), axis=0)
    total = reduced(g, "ReduceSum", flat, [0])
    total = g.node("Where", g.node("Equal", total, g.constant(0.0)), g.constant(1.0), total)
    mean = g.node("Div", g.node("MatMul", g.constant(decoder.colors.T), flat), total)
    return {"picture": reshaped(g, mean, 2, height, width)}


def _attributes(w: _Writer, decoder: AttributeDecoder, size: Size) -> Values:
    return _groups(w, decoder.groups)


def _groups(w: _Writer, groups: Mapping[str, AttributeGroup]) -> Values:
    g, found = w.g, Values()
    for name, group in groups.items():
        length = w.length(group.blob)
        end = group.first + group.count if group.count else length
        values = part(g, w.flat(group.blob), 0, group.first, end)
        if group.softmax:
            values = g.node("Softmax", values, axis=0)
        if group.expected:
            weighted = g.node("Mul", values, g.constant(np.arange(end - group.first, dtype=float)))
            sums = [reduced(g, "ReduceSum", each, [0], keep=False) for each in (weighted, values)]
            values = scaled(g, g.node("Div", *sums), group.scale)
        elif end - group.first == 1 and not group.names:
            values = scaled(g, g.node("Squeeze", values, g.constant([0])), group.scale)
        found[name] = values
    return found


_FORMS: dict[type[Decoder], Callable[[_Writer, Any, Size], Values]] = {
    AttributeDecoder: _attributes,
    CenterFace: _centerface,
    ColorizationDecoder: _colorization,
    EmbeddingDecoder: _embedding,
    FaceMask: _facemask,
    LandmarkDecoder: _landmarks,
    PictureDecoder: _picture,
    RetinaFace: _retinaface,
    Ssd: _ssd,
    UltraFace: _ultraface,
    Yolo: _yolo,
}
