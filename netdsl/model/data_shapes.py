"""Finds the shape of each blob that data layers produce, and records how it is known. No other module does this."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from caffe_proto.errors import CaffeError
from netdsl.data.batches.batches import Batches
from netdsl.data.batches.reading import Loading, Reading
from netdsl.data.sources.source import LiveSource
from netdsl.errors import NetError, UnknownLayerError
from netdsl.layer import BringsData, NotDeployed, Shape
from netdsl.layer.data import UNKNOWN, DataOrigin, state_batch, state_shapes, stated_shapes
from netdsl.layer.samples import TYPICAL_ITEMS
from netdsl.layers import data_layer_of, type_of
from netdsl.model.weights.files import learned_layers, shared_blobs
from netdsl.model.weights.match import Mismatch, Weights, pair_blobs
from netdsl.net.build import Built, infer
from netdsl.net.graph import Graph, Node, Phase, connect, filter_layers, state_of, with_input_layer, without_layers
from netdsl.net.placeholder_layer import is_unavailable
from netdsl.net.sequences import beginning_edges

Items = Mapping[str, Shape]  # the shape of one item, by the name of its blob
# The results of reading, by the layers' messages.
ReadShapes = dict[bytes, Sequence[Shape] | CaffeError | OSError | None]
# Returns the shapes of image blobs that the model's other net or card states.
ItemsBeside = Callable[[Collection[str]], Items]

_TYPICAL_SIDE = 224  # the pixels of a side if the size is unknown
_STEP = 32  # the factor by which most nets scale images down
_MOST_CHANNELS = 64  # the most channels that are inferred from weights
_LARGEST_SIDE = 2048  # pixels; larger sides aren't tried to fit weights
_LARGEST_BATCH = (1 << 31) - 1  # Caffe counts in 32 bits
_MOST_BATCHES = 8  # the most batches to try, because the net is built for each

# The items to try for data, in this order: photographs, digits, two digits in two channels for nets that compare them,
# thumbnails, two photographs.
_TYPICAL = ((3, _TYPICAL_SIDE, _TYPICAL_SIDE), (1, 28, 28), (2, 28, 28), (3, 32, 32), (6, _TYPICAL_SIDE, _TYPICAL_SIDE))
_TYPICAL_SIDES = (224, 227, 299, 300, 256, 512, 28, 32, 64, 96, 112, 128, 12, 24, 48, 60)  # the sides of images to try


class Known(Enum):
    """The source of a shape. Earlier sources take precedence over later ones."""

    SAID = "said"  # stated by the user
    STATED = "stated"  # by the settings of the layer that produces it
    READ = "read"  # read from the data
    WEIGHTS = "weights"  # no other shape fits the weights
    BESIDE = "beside"  # a card, or the net to use in the same folder, states it
    GUESSED = "guessed"  # the first typical shape that fits


@dataclass(frozen=True)
class DataShape:
    """The shape of one item of a blob, and how it is known. A guess may fit the weights, and so may other shapes."""

    item: Shape = field(metadata={"json": "shape"})
    known: Known
    fits_weights: bool = field(default=False, metadata={"json": None})


@dataclass(frozen=True)
class Settled:
    """The layers of a net's phase with all shapes, and how the shapes of its data are known.

    Placeholders replace layers that aren't available. If the net doesn't state its batch size and only some sizes fit,
    the batch size must be a multiple of `batch`.
    """

    built: Built
    data: Mapping[str, DataShape]
    batch: int | None = None

    @property
    def is_certain(self) -> bool:
        """Whether all shapes are known without weights. Other weights then wouldn't change them."""
        certain = (Known.SAID, Known.STATED, Known.READ)
        return self.batch is None and all(shape.known in certain for shape in self.data.values())

    def is_of(self, graph: Graph) -> bool:
        """Return whether these are the layers of a graph, with the shapes that its data layers state."""
        nodes = self.built.graph.nodes
        return len(nodes) == len(graph.nodes) and all(map(self._is_same_layer, nodes, graph.nodes))

    def _is_same_layer(self, node: Node, other: Node) -> bool:
        if other.bottoms or not other.layer.input_param.shape:
            return node.layer == other.layer
        # The built layer no longer contains the shapes that its message stated.
        own, others = (copy_of(each.layer, without=["input_param"]) for each in (node, other))
        return own == others and [self.built.shapes[edge] for edge in node.tops] == stated_shapes(other.layer)


def assumed_items(data: Mapping[str, DataShape]) -> dict[str, Shape]:
    """Return the items whose shapes neither the net nor its data state. They come from the user, the weights, or a
    guess."""
    certain = (Known.STATED, Known.READ)
    return {name: shape.item for name, shape in sorted(data.items()) if shape.known not in certain}


def plain_data(data: Mapping[str, DataShape]) -> dict[str, dict[str, Any]]:
    """Return the known facts about the data as JSON values.

    They are all shapes with their sources, and the shapes that neither the net nor its data state.
    """
    every = {name: {"shape": list(shape.item), "known": shape.known.value} for name, shape in sorted(data.items())}
    return {"data": every, "assumed": {name: list(item) for name, item in assumed_items(data).items()}}


def read_data(built: Built) -> dict[str, DataShape]:
    """Return the shapes of the data of a net that was built from the data that its layers read."""
    return {built.graph.blobs[edge]: DataShape(built.shapes[edge][1:], Known.READ) for edge in built.input_edges()}


def dimensions(shape: Shape) -> str:
    """Return a shape in the form that users write, such as 3x224x224."""
    return "x".join(map(str, shape)) or "one number"


def guess_sentence(data: Mapping[str, DataShape]) -> str:
    """Return a line about the shapes that are guesses. It is empty if there are none."""
    guesses = {name: shape for name, shape in data.items() if shape.known is Known.GUESSED}
    taken = ", ".join(
        f"'{name}' is assumed to be "
        f"{dimensions(shape.item)}{', which is one of the shapes that fit the weights' * shape.fits_weights}"
        for name, shape in guesses.items()
    )
    advice = f"{shape_advice(guesses)}, or `input` in a card"
    return f"the shape of the data is unknown: {taken}; to set it, use {advice}" if guesses else ""


def shape_advice(blobs: Collection[str]) -> str:
    """Return the options with which users set the shapes of some blobs."""
    options = " ".join(f"--assume {name}=SHAPE" for name in blobs)
    return f"{options} (in Python: shapes={{{', '.join(f'{name!r}: SHAPE' for name in blobs)}}})"


def settle(
    net: pb.NetParameter,
    phase: Phase,
    weights: Weights,
    *,
    said: Items,
    level: int = 0,
    stages: Sequence[str] = (),
    stub_unknown: bool = False,
    read: ReadShapes | None = None,
    beside: ItemsBeside = lambda images: {},
) -> Settled:
    """Find the shapes of the data in one phase of a net, in the order of `Known`, and build the layers.

    Data are read only if `read` is given, which keeps the results. Unreadable data aren't an error here, because they
    may exist only where the net is trained. `said` contains shapes of items from the user.
    """
    settling = _Settling(net, phase, weights, said, level, stages, stub_unknown, read)
    try:
        return settling.result(beside)
    except UnknownLayerError:
        raise
    except NetError as problem:
        return settling.with_another_batch(problem, beside)


@dataclass
class _Top:
    """A top of a data layer, with its known shape. The shape may be `None` or contain UNKNOWN lengths.

    If `known` is `None`, the shape is incomplete and a guess must agree with it.
    """

    name: str
    shape: Shape | None
    known: Known | None
    stated_batch: int | None

    @property
    def batch(self) -> int:
        """The number of items in a batch. It is 1 if the layer doesn't state it."""
        return self.stated_batch or 1

    def takes(self, item: Shape) -> Shape | None:
        """Return the shape of a batch of such items, or `None` if it contradicts the known shape.

        Known lengths replace those of the item.
        """
        if self.shape is None:
            return (self.batch, *item)
        own = self.shape[1:]
        if len(own) != len(item):
            return None
        return (self.batch, *(length if known == UNKNOWN else known for known, length in zip(own, item, strict=True)))


@dataclass
class _DataLayer:
    """A layer that produces data, with its class, if that is known, and its tops."""

    message: pb.LayerParameter
    layer: BringsData | None
    tops: list[_Top]
    states_shapes: bool  # whether its message states the shapes of its tops, like an Input layer's message

    @classmethod
    def of(cls, message: pb.LayerParameter) -> _DataLayer | None:
        """Return the layer if it produces data, or `None`.

        It is also `None` if the settings are wrong. Building the layer reports that.
        """
        if message.bottom:
            return None
        try:
            layer = data_layer_of(message)
            if layer is not None:
                shapes, batch = layer.known_shapes(), layer.stated_batch()
            elif is_unavailable(message):  # only the tops that its message states are known
                stated = stated_shapes(message)
                shapes, batch = [*(shape or None for shape in stated), *[None] * (len(message.top) - len(stated))], None
            else:
                return None
        except NetError:
            return None
        return cls(message, layer, _tops(message, shapes, batch), bool(stated_shapes(message)))

    @property
    def is_open(self) -> bool:
        """Whether the shape of some top is incomplete."""
        return any(top.known is None for top in self.tops)

    def typical_item(self, top: _Top, item: Shape) -> Shape:
        """Return an item with the layer's typical size and the lengths that a top's settings state."""
        size = None if self.layer is None else self.layer.typical_size()
        shape = top.takes((item[0], *(size or item[1:])))
        return item if shape is None else shape[1:]

    def say(self, items: Items) -> None:
        """Set the shapes that the user stated, and the shapes that follow from them for other tops, such as maps of an
        image."""
        for top in self.tops:
            if top.name in items:
                top.shape, top.known = (top.batch, *items[top.name]), Known.SAID
        if self.layer is not None and any(top.known is Known.SAID for top in self.tops):
            own = copy_of(self.message)
            state_shapes(own, [top.shape if top.shape and top.known is not None else () for top in self.tops])
            for top, shape in zip(self.tops, type(self.layer)(own, []).known_shapes(), strict=False):
                if top.known is None and shape is not None and UNKNOWN not in shape:
                    top.shape, top.known = shape, Known.SAID

    def read(self, read: ReadShapes) -> None:
        """Read the shapes of the data, if the data exist and all items have one shape. Cameras aren't switched on."""
        layer = self.layer
        if layer is None or layer.data_origin is not DataOrigin.FILES or layer.any_size or not self.is_open:
            return
        with suppress(CaffeError, OSError):
            shapes = read_shapes(layer, read)
            if shapes is not None and len(shapes) >= len(self.tops):
                for top, shape in zip(self.tops, shapes, strict=False):
                    if top.known is not Known.SAID:
                        top.shape, top.known = shape, Known.READ


def with_items(net: pb.NetParameter, items: Items) -> pb.NetParameter:
    """Return a net whose data layers state these shapes of items, and everything that follows from them.

    The inputs of the net become a layer.
    """
    made = copy_of(with_input_layer(net))
    for layer in filter(None, map(_DataLayer.of, made.layer)):
        if items.keys() & set(layer.message.top):
            layer.say(items)
            state_shapes(layer.message, [top.shape if top.shape and top.known else () for top in layer.tops])
    return made


def _tops(message: pb.LayerParameter, shapes: Sequence[Shape | None], batch: int | None) -> list[_Top]:
    """Return the tops of a layer, with the shapes and the batch size that its settings state."""
    batch = next((shape[0] for shape in shapes if shape), batch)
    return [
        _Top(
            name,
            shape,
            Known.STATED if shape is not None and UNKNOWN not in shape else None,
            shape[0] if shape else batch,
        )
        for name, shape in zip(message.top, shapes, strict=False)
    ]


def read_shapes(layer: BringsData, read: ReadShapes) -> Sequence[Shape] | None:
    """Return the shapes of a batch of a layer's data, or `None` for a live source. An item is read only once."""
    message = layer.layer.SerializePartialToString()
    if message not in read:
        try:
            read[message] = _shapes_of(layer.reading(0))
        except (CaffeError, OSError) as problem:
            read[message] = problem
    found = read[message]
    if isinstance(found, Exception):
        raise found
    return found


def _shapes_of(reading: Reading) -> list[Shape] | None:
    """Return the shapes of a batch, or `None` for a live source. One item is read if all items have the same shape."""
    count = reading.batch_size if reading.collate else 1
    with closing(Batches(replace(reading, batch_size=count), Loading(workers=1, prefetch=1))) as batches:
        if isinstance(batches.reading.source, LiveSource):
            return None
        shapes = batches.shapes()
    return shapes if reading.collate else [(reading.batch_size, *shape[1:]) for shape in shapes]


class _Settling:
    """Searches for the shape of each top of the data layers in one phase of a net."""

    def __init__(
        self,
        net: pb.NetParameter,
        phase: Phase,
        weights: Weights,
        said: Items,
        level: int,
        stages: Sequence[str],
        stub_unknown: bool,
        read: ReadShapes | None,
        batch: int | None = None,
    ) -> None:
        self._phase, self._weights, self._stub_unknown = phase, weights, stub_unknown
        whole = with_input_layer(net)
        self._net = filter_layers(whole, state_of(whole, phase, level, stages))
        for message in self._net.layer:  # graphs state the phase too, so the data are read only once
            message.phase = message.phase if message.HasField("phase") else self._net.state.phase
        self._unstated = copy_of(self._net)
        self._layers = [found for layer in self._net.layer if (found := _DataLayer.of(layer)) is not None]
        for top in self._all_tops():
            top.stated_batch = top.stated_batch or batch
        for layer in self._layers:
            layer.say(said)
            if read is not None:
                layer.read(read)
        if read is not None and any(layer.is_open for layer in self._layers):
            self._take_from_other_phases(whole, read)

    def _all_tops(self) -> Iterator[_Top]:
        return (top for layer in self._layers for top in layer.tops)

    def _take_from_other_phases(self, whole: pb.NetParameter, read: ReadShapes) -> None:
        """Use the items of data that only another phase's layer can read."""
        missing = {top.name: top for top in self._all_tops() if top.known is None}
        for layer in filter(None, map(_DataLayer.of, whole.layer)):
            if missing.keys().isdisjoint(top.name for top in layer.tops):
                continue
            layer.read(read)
            for top in layer.tops:
                wanted = missing.get(top.name)
                if wanted is not None and wanted.known is None and top.known is not None and top.shape is not None:
                    shape = wanted.takes(top.shape[1:])
                    if shape is not None:
                        wanted.shape, wanted.known = shape, top.known

    def result(self, beside: ItemsBeside) -> Settled:
        """Return the layers with the first data shapes that fit them and their weights, or that fit the most
        weights."""
        problem: NetError | None = None
        best: tuple[int, Built, Items, Known] | None = None
        for items, known in self._candidates(beside):
            try:
                built = self._build(items)
            except UnknownLayerError:
                raise
            except NetError as misfit:
                problem = problem or misfit
                continue
            misfits = len(self._mismatches(built))
            if not misfits:
                return self._settled(built, items, known, fits=True)
            if best is None or misfits < best[0]:
                best = misfits, built, items, known
        if best is not None:  # the weights may belong to other data; the code that loads them reports it
            return self._settled(*best[1:], fits=False)
        assert problem is not None
        raise problem

    def with_another_batch(self, problem: NetError, beside: ItemsBeside) -> Settled:
        """Return the layers with the smallest batch that fits, if its double fits too.

        A net whose stated batch doesn't fit raises an error. The error names a batch that fits.
        """
        for batch in _batch_guesses(self._unstated):
            with suppress(NetError):
                settled = self._of_batch(batch).result(beside)
                self._of_batch(2 * batch).result(beside)
                if _state_batches(copy_of(self._unstated), batch):
                    advice = f"use a batch that is a multiple of {batch}"
                    problem = type(problem)(f"{problem}; {advice}")
                    break
                return replace(settled, batch=batch)
        raise problem

    def _candidates(self, beside: ItemsBeside) -> Iterator[tuple[Items, Known]]:
        """Yield the items to try for blobs whose shapes are open, each with the source it would have."""
        graph = connect(self._net)
        missing = [top for top in self._all_tops() if top.known is None]
        if not missing:
            yield {}, Known.STATED
            yield from ((labels, Known.GUESSED) for labels in self._labels_as_predicted(graph, {}))
            return
        labels = self._label_names(graph)
        fixed = {**self._items_of_steps(graph), **_items_of_kinds(graph)}
        numbers = {top.name: () for top in missing if top.name in labels - fixed.keys() and top.takes(()) is not None}
        images = [top for top in missing if top.name not in numbers.keys() | fixed.keys()]
        for items, known in self._image_items(images, beside):
            whole = {**items, **fixed, **numbers}
            yield whole, known
            yield from (({**whole, **found}, known) for found in self._labels_as_predicted(graph, whole))

    def _image_items(self, images: Sequence[_Top], beside: ItemsBeside) -> Iterator[tuple[Items, Known]]:
        """Yield items for tops that aren't labels: those that another net or a card states, typical ones, and those
        that fit weights."""
        if not images:
            yield {}, Known.GUESSED
            return
        stated = beside([top.name for top in images])
        shapes = {top.name: top.takes(stated[top.name]) for top in images if top.name in stated}
        whole = {name: shape[1:] for name, shape in shapes.items() if shape is not None}
        if len(whole) == len(images):
            yield whole, Known.BESIDE
        seen: list[Items] = []
        for items in self._typical_items(images):
            if items not in seen:
                seen.append(items)
                yield items, Known.GUESSED
        if self._weights:
            yield from ((items, Known.GUESSED) for items in self._items_by_weights(images))

    def _typical_items(self, images: Sequence[_Top]) -> Iterator[Items]:
        pairs = [(layer, top) for layer in self._layers for top in layer.tops if top in images]
        for item in _TYPICAL:
            yield {top.name: layer.typical_item(top, item) for layer, top in pairs}
        yield {
            top.name: (channels, *(math.ceil(side / _STEP) * _STEP for side in sides))
            for layer, top in pairs
            for channels, *sides in [layer.typical_item(top, _TYPICAL[0])]
        }

    def _items_by_weights(self, images: Sequence[_Top]) -> Iterator[Items]:
        """Yield items that may fit the weights: vectors with a length of the first blob, and images of all sizes."""
        lengths = self._lengths_in_first_blob()
        for length in lengths:
            if all(top.takes((length,)) is not None for top in images):
                yield {top.name: (length,) for top in images}
        for channels in dict.fromkeys((*lengths, *(item[0] for item in _TYPICAL))):
            if self._items_of_side(images, channels, _TYPICAL_SIDE) is None or channels > _MOST_CHANNELS:
                continue
            for side in _TYPICAL_SIDES:
                yield self._items_of_side(images, channels, side) or {}
            found = self._side_by_weights(images, channels)
            if found is not None:
                yield self._items_of_side(images, channels, found) or {}

    def _lengths_in_first_blob(self) -> list[int]:
        """Return the lengths of the axes of the first layer's filters. The length of its bottom is among them."""
        names = (layer.name for layer in self._net.layer if self._weights.get(layer.name))
        first = next((self._weights[name][0] for name in names if self._weights[name][0].ndim > 1), None)
        return [] if first is None else list(dict.fromkeys(first.shape[1:]))

    def _items_of_side(self, images: Sequence[_Top], channels: int, side: int) -> Items | None:
        """Return square images with the lengths that settings state, or `None` if a blob doesn't hold images."""
        shapes = {top.name: top.takes((channels, side, side)) for top in images}
        items = {name: shape[1:] for name, shape in shapes.items() if shape is not None}
        return items if len(items) == len(shapes) else None

    def _side_by_weights(self, images: Sequence[_Top], channels: int) -> int | None:
        """Return the side of square images at which all weights fit, or `None`.

        The side is found by bisection, because more pixels need more weights.
        """
        low, high = 1, _LARGEST_SIDE
        while low <= high:
            side = (low + high) // 2
            try:
                mismatches = self._mismatches(self._build(self._items_of_side(images, channels, side) or {}))
            except NetError:  # a window is larger than its image
                low = side + 1
                continue
            if not mismatches:
                return side
            sizes = [sum(math.prod(shape or ()) for shape in shapes) for shapes in _both_shapes(mismatches[0])]
            low, high = (side + 1, high) if sizes[0] < sizes[1] else (low, side - 1)
        return None

    def _label_names(self, graph: Graph) -> set[str]:
        """Return the tops of data layers that are labels.

        These are all tops but a layer's first, and a first top that layers read only as labels.
        """
        kinds = [(node, type_of(node.layer)) for node in graph.nodes]
        read = {
            (edge, kind is not None and place in kind.no_gradient)
            for node, kind in kinds
            for place, edge in enumerate(node.bottoms)
        }
        firsts = [node for node in graph.nodes if not node.bottoms and node.tops]
        only_labels = {
            node.layer.top[0] for node in firsts if (node.tops[0], True) in read and (node.tops[0], False) not in read
        }
        layers = [layer for layer in self._layers if not layer.states_shapes]
        return {top.name for layer in layers for top in layer.tops[1:]} | {
            layer.tops[0].name for layer in layers if layer.tops and layer.tops[0].name in only_labels
        }

    def _items_of_steps(self, graph: Graph) -> dict[str, Shape]:
        """Return the items of blobs with a step for each of several sequences. Each image belongs to one sequence."""
        begins = beginning_edges(graph)
        sources = [node for node in graph.nodes if not node.bottoms and begins.intersection(node.tops)]
        names = {top for node in sources for top in node.layer.top}
        missing = {top.name for top in self._all_tops() if top.known is None}
        images = [top for top in self._all_tops() if top.name not in names]
        return dict.fromkeys(names & missing, (max((top.batch for top in images), default=1),))

    def _labels_as_predicted(self, graph: Graph, items: Items) -> Iterator[dict[str, Shape]]:
        """Yield items of labels with the shape of the prediction instead of one number for each item."""
        said = {top.name for top in self._all_tops() if top.known in (Known.SAID, Known.READ)}
        labels = self._label_names(graph) - said
        kinds = [(type_of(node.layer), node) for node in graph.nodes if labels.intersection(node.layer.bottom[1:])]
        readers = [node for kind, node in kinds if kind is not None and issubclass(kind, NotDeployed)]
        if not readers:
            return
        try:
            self._state(items)
            missing = {
                layer.message.name
                for layer in self._layers
                if layer.is_open and labels.issuperset(top.name for top in layer.tops)
            }
            going = missing | {node.layer.name for node in readers}
            built = self._infer(without_layers(self._net, lambda layer: layer.name in going))
        except NetError:
            return
        shapes = dict(zip(built.graph.blobs, built.shapes, strict=True))
        for node in readers:
            predicted = shapes.get(node.layer.bottom[0], ())
            for item in (predicted[1:], (1, *predicted[2:])) if predicted else ():
                yield {name: item for name in node.layer.bottom[1:] if name in labels}

    def _state(self, items: Items) -> None:
        """Write the shapes of all tops to the layers' messages."""
        for layer in self._layers:
            shapes = [(top.batch, *items[top.name]) if top.name in items else top.shape for top in layer.tops]
            state_shapes(layer.message, [shape if shape and UNKNOWN not in shape else () for shape in shapes])

    def _infer(self, net: pb.NetParameter) -> Built:
        return infer(connect(net), stub_unknown=self._stub_unknown)

    def _build(self, items: Items) -> Built:
        """Build the layers for data of these shapes."""
        self._state(items)
        return self._infer(self._net)

    def _mismatches(self, built: Built) -> Sequence[Mismatch]:
        """Return the layers that the weights don't fit."""
        if not self._weights:
            return ()
        blobs = {name: list(layer.blob_tensors()) for name, layer in learned_layers(built).items()}
        return pair_blobs(blobs, self._weights, shared=shared_blobs(built), partial=True)[1].mismatched

    def _fits(self, items: Items) -> bool:
        try:
            return not self._mismatches(self._build(items))
        except NetError:
            return False

    def _settled(self, built: Built, items: Items, known: Known, *, fits: bool) -> Settled:
        data = {}
        for top in self._all_tops():
            if top.name in items:
                of_weights = fits and bool(self._weights) and top.known is None and known is Known.GUESSED
                pinned = of_weights and not any(map(self._fits, _neighbors(items, top)))
                data[top.name] = DataShape(items[top.name], Known.WEIGHTS if pinned else known, of_weights)
            elif top.known is not None:
                data[top.name] = DataShape((top.shape or ())[1:], top.known)
            else:  # the shape follows from another top of its layer
                data[top.name] = DataShape(built.shapes[built.graph.blobs.index(top.name)][1:], known)
        return Settled(built, data)

    def _of_batch(self, batch: int) -> _Settling:
        """Return the same phase with another batch size in all data layers."""
        net = copy_of(self._unstated)
        _state_batches(net, batch)
        certain = (Known.SAID, Known.READ)
        said = {top.name: top.shape[1:] for top in self._all_tops() if top.known in certain and top.shape}
        return _Settling(net, self._phase, self._weights, said, 0, (), self._stub_unknown, None, batch)


def _both_shapes(mismatch: Mismatch) -> tuple[Sequence[Shape | None], Sequence[Shape | None]]:
    return mismatch.blob_shapes, mismatch.weight_shapes


def _neighbors(items: Items, top: _Top) -> Iterator[Items]:
    """Yield the items with one blob slightly smaller or larger on the axes that its settings leave open."""
    item = items[top.name]
    free = [top.shape is None or top.shape[1 + axis] == UNKNOWN for axis in range(len(item))]
    groups = [[0], list(range(1, len(item)))] if len(item) > 1 else [[0]] if item else []
    for group in groups:
        axes = [axis for axis in group if free[axis]]
        for step in (-1, 1) if axes else ():
            other = tuple(length + step if axis in axes else length for axis, length in enumerate(item))
            if all(length > 0 for length in other):
                yield {**items, top.name: other}


def _items_of_kinds(graph: Graph) -> dict[str, Shape]:
    """Return the items of blobs whose values are of a kind with a fixed shape."""
    return {
        node.layer.bottom[place]: TYPICAL_ITEMS[kind]
        for node in graph.nodes
        if (reader := type_of(node.layer)) is not None
        for place, kind in enumerate(reader.bottom_kinds[: len(node.bottoms)])
        if kind in TYPICAL_ITEMS
    }


def _state_batches(net: pb.NetParameter, batch: int) -> bool:
    """Write another batch size to all data layers. Returns whether any of them states its batch size."""
    stated = [state_batch(layer, batch) for layer in net.layer if not layer.bottom]
    return any(stated)


def _batch_guesses(net: pb.NetParameter) -> list[int]:
    """Return batch sizes to try. They are numbers in the shapes of layers that reshape their bottoms."""
    shapes = [
        list(shape.dim)
        for layer in net.layer
        if layer.bottom
        for setting, settings in layer.ListFields()
        if setting.message_type is not None and not setting.is_repeated
        for _, shape in settings.ListFields()
        if isinstance(shape, pb.BlobShape)
    ]
    guesses = {math.prod(dims[:count]) for dims in shapes for count in range(1, len(dims) + 1)}
    guesses |= {length for dims in shapes for length in dims}
    return sorted(guess for guess in guesses if 1 < guess <= _LARGEST_BATCH)[:_MOST_BATCHES]
