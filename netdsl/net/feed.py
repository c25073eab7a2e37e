"""Provides batches for every layer of a net whose tops come from outside."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Protocol

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import CaffeError
from caffe_proto.locations import error_label
from netdsl.data.batches.batch import finished
from netdsl.data.batches.batches import Batches
from netdsl.data.batches.reading import Intake, Loading, Reading
from netdsl.data.batches.table_binding import reading_of
from netdsl.data.batches.user_batches import UserBatches, Values
from netdsl.data.batches.user_rows import USUAL_BATCH, RowBatches, UserRows
from netdsl.data.tables.table import Table
from netdsl.errors import DataError
from netdsl.layer import Shape
from netdsl.layer.data import DataOrigin, state_shapes, with_stored_files
from netdsl.layers import data_layer_of
from netdsl.net.graph import Graph, Node, Phase

USER_FEED = "(given)"  # takes the place of a layer's name for the batches of the program or of a table


class Feed(Protocol):
    """Batches with a tensor for every top."""

    position: int  # the number of batches that were returned
    waited: float  # the seconds that the net waited for them

    def __next__(self) -> tuple[Tensor, ...]: ...

    def epoch_batches(self) -> Fraction | None:
        """Return the number of batches that contain all items, or `None` if the number of items is unknown."""
        ...

    def seek(self, position: int) -> None:
        """Continue with the batch at a position."""
        ...

    def close(self) -> None:
        """Close files and end threads."""
        ...


class Feeds:
    """A feed for each layer of a graph that reads data, by the index of its node, and one for the user's batches.

    `input_shapes` contains the edges that the program or a table must provide, with the shapes that the net states.
    Lengths below 0, and empty shapes, are unknown until the first value arrives.
    """

    def __init__(self, graph: Graph, device: torch.device | str = "cpu") -> None:
        self.read: dict[int, Feed] = {}
        self.input_shapes: dict[int, Shape] = {}
        self._graph, self._device = graph, torch.device(device)
        self._user_feed: Feed | None = None
        self._stated_batch: int | None = None  # the batch size of the first layer that states one
        self._copies: torch.cuda.Stream | None = None  # the stream that copies batches to a GPU

    @classmethod
    def open(
        cls,
        graph: Graph,
        *,
        loading: Loading | None = None,
        user_blobs: Collection[str] = (),
        table: Table | None = None,
        batch: int | None = None,
        device: torch.device | str = "cpu",
    ) -> Feeds:
        """Open the sources of the layers of a graph, and write the shapes of their batches to the layers' messages.

        This runs before the net is built, which needs the shapes. A layer isn't read if all its tops are in
        `user_blobs`. With a table, no layer reads its own source, and `batch` replaces the batch sizes of the layers.
        """
        feeds, loading = cls(graph, device), loading or Loading()
        if graph.phase is Phase.TEST:  # Caffe's rule: when it tests, one process reads all items
            loading = replace(loading, rank=0, size=1)
        try:
            if table is not None:
                feeds._bind(table, loading, batch)
                return feeds
            for index, node in enumerate(graph.nodes):
                with _at(node):
                    feeds._open_feed(index, loading, user_blobs)
        except BaseException:
            feeds.close()
            raise
        return feeds

    def _open_feed(self, index: int, loading: Loading, user_blobs: Collection[str]) -> None:
        node = self._graph.nodes[index]
        layer = data_layer_of(node.layer)
        if layer is None:
            return
        if layer.data_origin is not DataOrigin.FILES or set(node.layer.top) <= set(user_blobs):
            shapes = [shape or () for shape in layer.known_shapes()]
            self.input_shapes.update(zip(node.tops, shapes, strict=False))
            stated = layer.stated_batch() or next((shape[0] for shape in shapes if shape), 0)
            self._stated_batch = self._stated_batch or (stated if stated > 0 else None)
            return
        layer = type(layer)(with_stored_files(layer.layer), [])
        batches = self._batches(layer.reading(loading.seed), loading)
        self.read[index] = batches
        layer.note_data(node.layer)
        _state_tops(node.layer, batches.shapes())

    def _bind(self, table: Table, loading: Loading, batch: int | None) -> None:
        """Create one feed for all layers, so that an item that is skipped is skipped for all of them."""
        nodes, intakes = list[Node](), list[Intake]()
        for node in self._graph.nodes:
            with _at(node):
                layer = data_layer_of(node.layer)
                if layer is not None:
                    nodes.append(node)
                    intakes.append(layer.intake())
        if batch is not None:
            intakes = [replace(intake, batch_size=batch) for intake in intakes]
        batches = self._batches(reading_of(table, intakes), loading)
        self._user_feed = batches
        shapes = batches.shapes()
        for node in nodes:
            top_shapes, shapes = shapes[: len(node.tops)], shapes[len(node.tops) :]
            _state_tops(node.layer, top_shapes)
            self.input_shapes.update(zip(node.tops, top_shapes, strict=True))

    def _batches(self, reading: Reading, loading: Loading) -> Batches:
        if loading.divided:
            reading = _divided(reading, loading.size)
        return Batches(reading, replace(loading, pinned=self._device.type == "cuda"))

    def readings(self) -> list[Reading]:
        """Return the readings of the feeds that read sources."""
        return [feed.reading for feed in self._named().values() if isinstance(feed, Batches)]

    def give(self, values: Values | UserRows, *, batch: int | None = None, seed: int = 0) -> None:
        """Use inputs from rows, from an iterable of batches or single items, or from a function that returns them.

        `batch` is the number of items in a batch. By default, this is the net's batch size or, for rows, 32. Rows are
        shuffled with the seed.
        """
        if not self.input_shapes:
            raise DataError(
                "the layers of this net read their data themselves, so no other data can be passed; replace its "
                "data layers with Input layers, or leave the data out"
            )
        shapes = {self._graph.blobs[edge]: shape for edge, shape in self.input_shapes.items()}
        batches = (
            RowBatches(values, shapes, self._stated_batch or USUAL_BATCH if batch is None else batch, seed)
            if isinstance(values, UserRows)
            else UserBatches(values, shapes, batch)
        )
        found = dict(zip(self.input_shapes, batches.shapes.values(), strict=True))
        for node in self._graph.nodes:
            if any(self.input_shapes.get(edge) != found.get(edge) for edge in node.tops):
                _state_tops(node.layer, [found[edge] for edge in node.tops])
        self.input_shapes = found
        self._user_feed = batches

    def next(self) -> dict[int, Tensor]:
        """Return the next batch as tensors by edge of the graph."""
        self._check_given()
        batch: dict[int, Tensor] = {}
        for index in self.read:
            batch.update(zip(self._graph.nodes[index].tops, self.tops(index), strict=False))
        if self._user_feed is not None:
            batch.update(zip(self.input_shapes, self._next_of(self._user_feed), strict=True))
        return batch

    def _check_given(self) -> None:
        if self.input_shapes and self._user_feed is None:
            names = ", ".join(self._graph.blobs[edge] for edge in self.input_shapes)
            raise DataError(
                f"no layer of this net reads data for {names}; pass data that contain them, such as a dict of "
                "arrays by these names"
            )

    def tops(self, index: int) -> list[Tensor]:
        """Return the tops of one layer for the next batch."""
        with _at(self._graph.nodes[index]):
            return self._next_of(self.read[index])

    def _next_of(self, feed: Feed) -> list[Tensor]:
        tops = self._moved(next(feed))
        return finished(feed.reading.transforms, tops) if isinstance(feed, Batches) else tops

    def _moved(self, tensors: Iterable[Tensor]) -> list[Tensor]:
        """Return the tensors on the net's device.

        A GPU copies them while it still computes the previous batch. The copies run in a separate stream. The net's
        stream waits for it, but the program doesn't.
        """
        if self._device.type != "cuda":
            return [tensor.to(self._device) for tensor in tensors]
        if self._copies is None:
            self._copies = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
        computing = torch.cuda.current_stream(self._device)
        with torch.cuda.stream(self._copies):
            moved = [tensor.to(self._device, non_blocking=True) if tensor.is_cpu else tensor for tensor in tensors]
        computing.wait_stream(self._copies)
        for tensor in moved:
            tensor.record_stream(computing)  # keeps the memory from being reused for a copy before that
        return [tensor.to(self._device, non_blocking=True) for tensor in moved]  # tensors on other GPUs

    def _named(self) -> dict[str, Feed]:
        named = {self._graph.nodes[index].layer.name: feed for index, feed in self.read.items()}
        return named if self._user_feed is None else {**named, USER_FEED: self._user_feed}

    def positions(self) -> dict[str, int]:
        """Return the number of batches that each layer has returned, by layer name."""
        return {name: feed.position for name, feed in self._named().items()}

    def seek(self, positions: Mapping[str, int]) -> None:
        """Continue from these positions."""
        named = self._named()
        unknown = [name for name in positions if name not in named]
        if unknown:
            raise DataError(
                f"there is a position for layer '{unknown[0]}', but this net doesn't read data for it; load the "
                "positions into the net that they are from"
            )
        for name, position in positions.items():
            named[name].seek(position)

    def epoch_batches(self) -> Fraction | None:
        """Return the number of batches that contain all items, or `None` if it is unknown.

        It counts the user's data, or the data of the first layer that reads some.
        """
        self._check_given()
        feed = self._user_feed or next(iter(self.read.values()), None)
        return None if feed is None else feed.epoch_batches()

    @property
    def waited(self) -> float:
        """The seconds that the net waited for data."""
        return sum(feed.waited for feed in self._named().values())

    def close(self) -> None:
        """Close all files and end all threads."""
        for feed in self._named().values():
            feed.close()


def _divided(reading: Reading, size: int) -> Reading:
    if reading.batch_size % size:
        raise DataError(
            f"a batch of {reading.batch_size} can't be divided among {size} workers; set batch_size to a "
            f"multiple of {size}, or choose a strategy with a batch for each worker, such as averaging"
        )
    return replace(reading, batch_size=reading.batch_size // size)


@contextmanager
def _at(node: Node) -> Iterator[None]:
    """Add the layer's name to any error raised in the block."""
    try:
        yield
    except CaffeError as problem:
        raise type(problem)(f"{error_label(node.layer)}: {problem}") from None


def _state_tops(layer: pb.LayerParameter, shapes: list[Shape]) -> None:
    if len(shapes) < len(layer.top):
        raise DataError(
            f"an item has {len(shapes)} arrays, but the layer has {len(layer.top)} tops; remove the last tops, "
            "or store an array for each"
        )
    state_shapes(layer, shapes[: len(layer.top)])
