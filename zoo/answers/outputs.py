"""Chooses the blobs of a net's answer and how each is read.

The user's choice comes first, then the card, the layer types, the losses of the training net, and the names of classes.
Nothing else is claimed: other blobs are read as values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from netdsl.data.transforms.decode import COLORS, GRAY
from netdsl.errors import DecoderError, NetError
from netdsl.layer import Layer, Shape
from netdsl.layer.tops import MakesDetections, MakesIndices, MakesRegions, Meaning
from netdsl.model.deploy.captioner import CaptionerParts
from netdsl.model.model import Model
from netdsl.net.build import Built, reshape
from netdsl.net.graph import Graph
from netdsl.prediction.decoders import DECODERS, recognize
from netdsl.prediction.decoders.decoder import Decoder, Recognized
from netdsl.prediction.decoders.picture import PictureDecoder
from netdsl.prediction.meanings import KnownMeaning, Meanings, maker_of, vector_length
from netdsl.prediction.predictor import Predictor
from zoo.answers.answer import ImageSize
from zoo.answers.readers import (
    BlobPlace,
    ClassNames,
    ClassReader,
    DecoderReader,
    DetectionReader,
    EmbeddingReader,
    OutputReader,
    RegionReader,
    ScalarReader,
    SegmentReader,
    SeveralReader,
    ValueReader,
)
from zoo.cards import Task
from zoo.requests.using import View

_MAP_TASKS = (Task.SEGMENTATION, Task.EDGES)  # tasks whose outputs may be smaller than their inputs
_VALUE_TASKS = (Task.KEYPOINTS, Task.RECONSTRUCTION, Task.SEQUENCE)
_AGNOSTIC = (
    8  # channels of box codes that are shared by all object classes: four for the background and four for objects
)
_INPUT_ROLE = "input"  # of decoders that also read the net's input

Say = Callable[[str], object]  # receives a sentence about how an answer is read


@dataclass(frozen=True)
class StatedOutput:
    """The facts about a net's outputs that the user, the card and the files next to the net state.

    `decoder` is the user's or the card's. `classes` are the classes that a test set distinguishes.
    """

    blob: str | None = None
    view: View | None = None
    decoder: Decoder | None = None
    task: Task | None = None
    names: Sequence[str] = ()
    classes: int | None = None
    trained: Callable[[], Sequence[Graph]] = field(default=lambda: ())  # the graphs of the net as it was trained


@dataclass(frozen=True)
class NetOutput:
    """The blobs of a net's answer, or none if the answer is the net's prediction.

    `recognized` is set if neither the user nor the card names the decoder.
    """

    predictor: Predictor
    blobs: tuple[str, ...]
    stated: StatedOutput
    outputs: tuple[str, ...] = ()  # the outputs of the whole net
    note: str = ""  # a notice for the user about the choice
    decoder: Decoder | None = None
    recognized: Recognized | None = None

    @property
    def edge(self) -> int:
        """The edge of the answer's first blob."""
        edge = self.predictor.outputs[self.blobs[0]] if self.blobs else self.predictor.prediction
        assert edge is not None
        return edge

    def reader(self, image: int, size: ImageSize, say: Say) -> OutputReader:
        """Return a reader for the answer of a net with images of this size at the edge `image`.

        `say` receives sentences about readings that neither the user nor the card states, and about unused names.
        """
        if self.decoder is not None:
            if self.recognized is not None:
                reason = self.recognized.reason
                say(f"no card describes the output; {reason}, so the decoder '{self.decoder.name}' reads it")
            places = _places(self._built, image, {**self.predictor.outputs, self._built.graph.blobs[image]: image})
            decoder = _named(self.decoder, self._names(self.edge, say).names)
            names = ClassNames(tuple(getattr(decoder, "names", ())))
            return DecoderReader(self.edge, names, image, decoder, places)
        if isinstance(self._maker(self.edge), MakesRegions) and self.stated.view is None:
            _, scores, codes = (self.predictor.outputs[blob] for blob in self.blobs)
            return RegionReader(self.edge, self._names(self.edge, say), scores, codes)
        if len(self.blobs) > 1:
            readers = {blob: self._reader(self.predictor.outputs[blob], size, say) for blob in self.blobs}
            return SeveralReader(self.edge, next(iter(readers.values())).names, readers)
        return self._reader(self.edge, size, say)

    @property
    def _built(self) -> Built:
        return self.predictor.built

    def _maker(self, edge: int) -> Layer:
        return maker_of(self._built, edge)

    @cached_property
    def _meanings(self) -> Meanings:
        # The layers for chosen blobs may end inside the net, where a sigmoid doesn't mean classes.
        own = () if self.blobs else (self._built.graph,)
        return Meanings.of([*own, *self.stated.trained()])

    def _reader(self, edge: int, size: ImageSize, say: Say) -> OutputReader:
        """Return the reader of a blob."""
        if isinstance(self._maker(edge), MakesDetections) and self.stated.view is None:
            return DetectionReader(edge, self._names(edge, say))
        return self._reader_as(self.view(edge, size, say), edge, say)

    def view(self, edge: int, size: ImageSize | None, say: Say) -> View:
        """Return the way to read a blob of a net with images of this size."""
        blob = self._built.graph.blobs[edge]
        view = self.stated.view or self._view_of_task(edge, blob)
        if view is None:
            view, reason = self._shown_view(edge, size)
            say(reason or _unknown(blob, self._built.shapes[edge], self._meanings.of_edge(self._built, edge)))
        return view

    def _reader_as(self, view: View, edge: int, say: Say) -> OutputReader:
        shape, layer = self._built.shapes[edge], self._maker(edge)
        if view is View.VALUES:
            return (ValueReader if math.prod(shape[1:]) > 1 else ScalarReader)(edge, ClassNames())
        if view is View.EMBEDDING:
            return EmbeddingReader(edge, ClassNames())
        if view is View.SEGMENTS and is_map(shape):
            has_indices = isinstance(layer, MakesIndices) and layer.makes_indices()
            return SegmentReader(edge, self._names(edge, say), has_indices)
        if view is View.CLASSES and vector_length(shape):
            return ClassReader(edge, self._names(edge, say))
        needed = "a vector" if view is View.CLASSES else "a map with a score for each class and pixel"
        raise NetError(
            f"--as {view.value} needs {needed}, but the blob '{self._built.graph.blobs[edge]}' has shape "
            f"{list(shape[1:])} for each image; use --as values, or name another blob with --blob"
        )

    def _view_of_task(self, edge: int, blob: str) -> View | None:
        """Return the view of the card's task. A task describes the outputs of a net, not its inner blobs."""
        task, shape = self.stated.task, self._built.shapes[edge]
        if self.blobs and blob not in self.outputs:
            return None
        if task in _VALUE_TASKS or (task is Task.EMBEDDING and not vector_length(shape)):
            return View.VALUES
        if task is Task.EMBEDDING:
            return View.EMBEDDING
        if task in _MAP_TASKS and is_map(shape):
            return View.SEGMENTS
        if task is Task.CLASSIFICATION and vector_length(shape) > 1:
            return View.CLASSES
        return None

    def _shown_view(self, edge: int, size: ImageSize | None) -> tuple[View, str]:
        """Return the view that the net shows, and a sentence with the reason. Without a reason, it is values."""
        shape, layer, blob = self._built.shapes[edge], self._maker(edge), self._built.graph.blobs[edge]
        length, covers = vector_length(shape), is_map(shape) and shape[2:] == size
        fits = View.CLASSES if length > 1 else View.SEGMENTS if covers else None
        known = self._meanings.of_edge(self._built, edge)
        if isinstance(layer, MakesIndices) and layer.makes_indices() and covers:
            return View.SEGMENTS, f"layer '{layer.layer.name}' ({layer.layer.type}) computes the class of each pixel"
        if known is not None and known.meaning is Meaning.CLASSES and fits:
            return fits, _reason(blob, known)
        if known is not None and known.meaning is Meaning.EMBEDDING and length > 1:
            return View.EMBEDDING, _reason(blob, known)
        if known is not None and (known.meaning is Meaning.VALUES or length == 1):
            advice = "; if they are a picture, use --as picture" if could_be_picture(shape) else ""
            return View.VALUES, _reason(blob, known) + advice
        if known is None and fits and len(self.stated.names) == shape[1]:
            return fits, f"blob '{blob}' is read as classes, because the net's labels name {shape[1]} of them"
        if known is None and fits is View.SEGMENTS and self.stated.classes == shape[1]:
            return fits, f"blob '{blob}' is read as classes of pixels, because the data have {shape[1]} classes"
        return View.VALUES, ""

    def _names(self, edge: int, say: Say) -> ClassNames:
        """Return the names of labels. If only the background lacks a name, add it. Names of another number aren't
        used."""
        names, labels, layer = self.stated.names, self._labels(edge), self._maker(edge)
        if not names or labels in (None, len(names)):
            return ClassNames(tuple(names))
        background = layer.background() if isinstance(layer, MakesDetections) else None
        background = 0 if isinstance(layer, MakesRegions) else background
        if background is not None and labels == len(names) + 1:
            return ClassNames((*names[:background], "background", *names[background:]))
        say(f"the net distinguishes {labels} classes, but the labels next to it name {len(names)}; they aren't used")
        return ClassNames()

    def _labels(self, edge: int) -> int | None:
        """Return the number of labels, including the background, or `None` if it is unknown."""
        layer, shape = self._maker(edge), self._built.shapes[edge]
        if isinstance(layer, MakesDetections):
            return layer.label_count()
        if isinstance(layer, MakesRegions):
            return self._built.shapes[self.predictor.outputs[self.blobs[1]]][1]
        if self.decoder is not None or (isinstance(layer, MakesIndices) and layer.makes_indices()):
            return None
        if is_map(shape) and shape[1] == 1:
            return 2  # whether the score of a pixel reaches the threshold
        return shape[1] if len(shape) > 1 else None


def find_output(model: Model, stated: StatedOutput, size: ImageSize | None) -> NetOutput:
    """Return the answer of a deployed model: the named blob, the model's prediction, the output of a detector's layers,
    or all outputs whose meanings are known.

    `size` is the size of the net's input, or `None` if it isn't an image.
    """
    built = model.settled(model.phases[0]).built
    outputs = {edge: built.graph.blobs[edge] for edge in built.graph.outputs}
    names = tuple(outputs.values())
    if stated.decoder is not None:
        return _decoded(model, stated, names, stated.decoder)
    if stated.blob is not None:
        return NetOutput(Predictor(model, (stated.blob,)), (stated.blob,), stated, names)
    detecting = _detecting_blobs(built, outputs)
    if stated.view is None and not detecting and stated.task in (None, Task.DETECTION, Task.KEYPOINTS) and size:
        shapes = {name: built.shapes[edge][1:] for edge, name in outputs.items()}
        if (recognized := recognize(shapes, (size.height, size.width))) is not None:
            return replace(_decoded(model, stated, names, recognized.decoder), recognized=recognized)
    predictor = Predictor(model)
    if predictor.prediction is not None:
        return NetOutput(predictor, (), stated, names)
    if detecting and stated.view is None:
        return NetOutput(Predictor(model, detecting), detecting, stated, names)
    if stated.task in _MAP_TASKS and outputs:  # earlier outputs only help training
        last = outputs[max(outputs)]
        note = (
            f"the net has several outputs, {', '.join(names)}; the answer is the last one, or the one that --blob names"
        )
        return NetOutput(Predictor(model, (last,)), (last,), stated, names, note)
    meanings = Meanings.of(stated.trained())
    if outputs and (stated.view is not None or any(meanings.of_edge(built, edge) for edge in outputs)):
        return NetOutput(Predictor(model, names), names, stated, names)
    raise NetError(
        f"the net has several outputs, {', '.join(names) or 'none'}; name the one to read with --blob, or read all of "
        f"them with --as {View.VALUES.value} or with a decoder ({', '.join(DECODERS)})"
    )


def features_output(parts: CaptionerParts) -> NetOutput:
    """Return the image features that a model computes for captions."""
    if not any(layer.bottom for layer in parts.image.net.layer):
        features = ", ".join(f"'{name}'" for name in parts.features)
        raise NetError(
            f"the net reads features of an image, {features}, that another net computes; name that net with "
            "--features-net"
        )
    return NetOutput(Predictor(parts.image, parts.features), parts.features, StatedOutput())


def _decoded(model: Model, stated: StatedOutput, outputs: tuple[str, ...], decoder: Decoder) -> NetOutput:
    """Return the blobs that a decoder reads.

    Its role for the net's input reads the input. If another role has no blob, it reads the blob that the user names, or
    the net's only output.
    """
    built = model.settled(model.phases[0]).built
    inputs = tuple(built.graph.blobs[edge] for edge in built.input_edges())
    free = [role for role in decoder.published if role != _INPUT_ROLE and not decoder.names_of(role)]
    blobs = dict(decoder.blobs)
    if _INPUT_ROLE in decoder.published and _INPUT_ROLE not in blobs:
        blobs[_INPUT_ROLE] = inputs
    choice = (stated.blob,) if stated.blob else outputs
    if len(free) == len(choice) == 1:
        blobs[free[0]] = choice
    decoder = replace(decoder, blobs=blobs)
    read = tuple(blob for blob in decoder.blob_names if blob not in inputs)
    if not read:
        raise DecoderError(
            f"output.blobs: the net has the outputs {', '.join(outputs)}; name the blobs of the decoder "
            f"'{decoder.name}' for {', '.join(decoder.published)}"
        )
    return NetOutput(Predictor(model, read), read, stated, outputs, decoder=decoder)


def _named(decoder: Decoder, names: tuple[str, ...]) -> Decoder:
    """Return a decoder with the names of the net's labels, if it reads names and has none."""
    if not names or getattr(decoder, "names", None) != ():
        return decoder
    changed: dict[str, Any] = {"names": names}
    return replace(decoder, **changed)


def _places(built: Built, image: int, edges: Mapping[str, int]) -> dict[str, BlobPlace]:
    """Return the places of blobs. The axis of the images is the axis whose length follows the batch."""
    before = list(built.shapes)
    batch = before[image][0]
    try:
        reshape(built, {image: (batch + 1, *before[image][1:])})
        after = list(built.shapes)
    except NetError:  # the net's layers fix the batch
        return {name: BlobPlace(edge, 0) for name, edge in edges.items()}
    finally:
        built.shapes[:] = before
    if not all(keeps_apart(before[edge], after[edge], batch, batch + 1) for edge in edges.values()):
        return {name: BlobPlace(edge, 0) for name, edge in edges.items()}
    return {name: BlobPlace(edge, _changed_axis(before[edge], after[edge])) for name, edge in edges.items()}


def keeps_apart(before: Shape, after: Shape, old: int, new: int) -> bool:
    """Return whether a blob keeps images apart when their number changes: the lengths of its axes stay, or follow the
    number of images. A reshape to one row instead joins the values of all images."""
    return len(before) == len(after) and all(
        length == changed or (length, changed) == (old, new) for length, changed in zip(before, after, strict=True)
    )


def _changed_axis(before: Shape, after: Shape) -> int | None:
    """Return the first axis whose length differs between two shapes, or `None`."""
    return next((axis for axis, (old, new) in enumerate(zip(before, after, strict=True)) if old != new), None)


def _reason(blob: str, known: KnownMeaning) -> str:
    return f"no card describes the output; blob '{blob}' contains {known.meaning.value}, because {known.reason}"


def _unknown(blob: str, shape: Shape, known: KnownMeaning | None) -> str:
    """Return a sentence that explains why a blob is shown as values, and how to change that."""
    count = math.prod(shape[1:])
    values = "value is" if count == 1 else "values are"
    if known is not None:
        problem = f"blob '{blob}' contains {known.meaning.value}, but in shape {list(shape[1:])}"
    else:
        problem = f"nothing shows what blob '{blob}' contains"
    others = [View.CLASSES.value, View.EMBEDDING.value] if vector_length(shape) > 1 else []
    others += [View.SEGMENTS.value] if is_map(shape) and shape[1] > 1 else []
    others += [PictureDecoder.name] if could_be_picture(shape) else []
    choices = ", ".join(f"--as {name}" for name in others)
    advice = f"{choices} or the field `output` of a card" if choices else "the field `output` of a card"
    return f"{problem}, so its {count:,} {values} shown without a meaning; to read it otherwise, use {advice}"


def _detecting_blobs(built: Built, outputs: Mapping[int, str]) -> tuple[str, ...]:
    """Return the names of the blobs in a detector's answer, or nothing if the net isn't a detector."""
    for edge, name in outputs.items():
        if isinstance(maker_of(built, edge), MakesDetections):
            return (name,)
    regions = [built.graph.blobs[node.tops[0]] for node, layer in built.pairs() if isinstance(layer, MakesRegions)]
    flat = {edge: built.shapes[edge][1] for edge in outputs if math.prod(built.shapes[edge][2:]) == 1}
    if regions and len(flat) == 2:
        scores, codes = sorted(flat, key=lambda edge: _are_codes(flat[edge], flat.values()))
        return regions[0], outputs[scores], outputs[codes]
    return ()


def _are_codes(channels: int, of_both: Collection[int]) -> bool:
    """Return whether an output contains box codes: four numbers for each class or, as in R-FCN, for the background and
    for objects."""
    return channels == 4 * min(of_both) or (channels == _AGNOSTIC and 4 * channels not in of_both)


def is_map(shape: Shape) -> bool:
    """Return whether a blob is a map of channels, height and width for each item, with more than one place."""
    return len(shape) == 4 and math.prod(shape[2:]) > 1


def could_be_picture(shape: Shape) -> bool:
    """Return whether a blob is a map with the channels of a gray or a color picture."""
    return is_map(shape) and shape[1] in (GRAY, COLORS)
