"""A layered layout: boxes in ranks by their longest paths, and wires that are straight where possible.

Ranks follow each other along one axis, and the boxes of a rank are placed along the other. A wire that crosses a rank
gets a bend, which takes a place among the boxes there. All readers of a blob share one trunk, so there are at most
blobs times ranks bends.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from itertools import accumulate, pairwise
from statistics import fmean

from zoo.drawing.net_boxes import BlobWire

_GAP, _BEND_GAP, _RANK_GAP = 26.0, 14.0, 34.0  # between boxes, next to wires, between ranks
_WIRE_PULL, _CHAIN_PULL, _LOOSE = 1e4, 1e2, 0.1  # weights of places, compared with 1
_SWEEPS = 6  # passes down and up that order the ranks
_STRAIGHTENINGS = 10  # passes down and up that place the boxes
_PORT = 14.0  # distance between the ends of wires at a box
_ARROW = 3.5  # half the width of an arrowhead

Point = tuple[float, float]


class Direction(Enum):
    """The direction of the data flow in a picture."""

    DOWN = "down"
    RIGHT = "right"


@dataclass(frozen=True)
class Size:
    """The width and height of a box, in pixels."""

    width: float
    height: float


@dataclass(frozen=True)
class Route:
    """A part of a wire from one rank to the next: a straight end, a curve and another straight end, with an arrow at a
    box."""

    points: tuple[Point, Point, Point, Point]  # the beginning and end of each straight end
    arrow: bool

    def turned(self) -> Route:
        """Return the same route with both axes swapped."""
        (a, b), (c, d), (e, f), (g, h) = self.points
        return Route(((b, a), (d, c), (f, e), (h, g)), self.arrow)

    def controls(self, direction: Direction) -> tuple[Point, Point]:
        """Return the control points of the curve, which starts and ends along the direction."""
        if direction is Direction.RIGHT:
            first, second = self.turned().controls(Direction.DOWN)
            return (first[1], first[0]), (second[1], second[0])
        _, leave, enter, _ = self.points
        middle = (leave[1] + enter[1]) / 2
        return (leave[0], middle), (enter[0], middle)

    def arrow_head(self, direction: Direction) -> tuple[Point, Point, Point]:
        """Return the corners of the arrow at the route's end."""
        x, y = self.points[3]
        if direction is Direction.DOWN:
            return (x, y), (x - _ARROW, y - 2 * _ARROW), (x + _ARROW, y - 2 * _ARROW)
        return (x, y), (x - 2 * _ARROW, y - _ARROW), (x - 2 * _ARROW, y + _ARROW)


@dataclass(frozen=True)
class Layout:
    """The centers of boxes, the routes of wires, and the total size."""

    direction: Direction
    middles: tuple[Point, ...]
    routes: tuple[Route, ...]
    size: Size


@dataclass
class _Cells:
    """Boxes and bends, by number, in ranks. The numbers of bends follow those of the boxes."""

    ranks: list[list[int]]
    rank: list[int]
    above: list[list[int]]
    below: list[list[int]]
    links: list[tuple[int, int]] = field(default_factory=list)  # from a cell to a cell in the next rank

    def connect(self, source: int, target: int) -> None:
        """Add a part of a wire."""
        self.links.append((source, target))
        self.below[source].append(target)
        self.above[target].append(source)

    def add_bend(self, rank: int) -> int:
        """Add a cell to a rank, and return its number."""
        self.rank.append(rank)
        self.above.append([])
        self.below.append([])
        self.ranks[rank].append(len(self.rank) - 1)
        return len(self.rank) - 1


def lay_out(sizes: Sequence[Size], wires: Sequence[BlobWire], direction: Direction = Direction.DOWN) -> Layout:
    """Lay out boxes of these sizes. Each wire leads from a box to later ones."""
    if direction is Direction.DOWN:
        return _laid_out_down(sizes, wires)
    turned = _laid_out_down([Size(size.height, size.width) for size in sizes], wires)
    middles = tuple((y, x) for x, y in turned.middles)
    routes = [route.turned() for route in turned.routes]
    return Layout(direction, middles, tuple(routes), Size(turned.size.height, turned.size.width))


def _laid_out_down(sizes: Sequence[Size], wires: Sequence[BlobWire]) -> Layout:
    cells = _cells_in_ranks(len(sizes), wires)
    _order_ranks(cells)
    widths = [size.width for size in sizes] + [0.0] * (len(cells.rank) - len(sizes))
    across = _places_across(cells, widths, len(sizes))
    left = min((place - width / 2 for place, width in zip(across, widths, strict=True)), default=0.0)
    across = [place - left for place in across]
    right = max((place + width / 2 for place, width in zip(across, widths, strict=True)), default=0.0)
    heights = [max((sizes[cell].height for cell in rank if cell < len(sizes)), default=0.0) for rank in cells.ranks]
    tops = [0.0, *accumulate(height + _RANK_GAP for height in heights)]
    middles = tuple((across[box], tops[cells.rank[box]] + heights[cells.rank[box]] / 2) for box in range(len(sizes)))
    bands = [(top, top + height) for top, height in zip(tops, heights, strict=False)]
    routes = _Routes(cells, across, bands, sizes).routes()
    return Layout(Direction.DOWN, middles, tuple(routes), Size(right, max(0.0, tops[-1] - _RANK_GAP)))


def _cells_in_ranks(boxes: int, wires: Sequence[BlobWire]) -> _Cells:
    """Return each box in the rank of its longest path. A box without inputs is placed just above its first reader."""
    rank = [0] * boxes
    for wire in sorted(
        wires, key=lambda wire: wire.source
    ):  # wires lead to later boxes, so the rank of the source is final
        for target in wire.targets:
            rank[target] = max(rank[target], rank[wire.source] + 1)
    read = {target for wire in wires for target in wire.targets}
    for wire in wires:
        if wire.source not in read:
            readers = [rank[target] for other in wires if other.source == wire.source for target in other.targets]
            rank[wire.source] = min(readers) - 1
    ranks: list[list[int]] = [[] for _ in range(max(rank, default=-1) + 1)]
    for box, number in enumerate(rank):
        ranks[number].append(box)
    cells = _Cells(ranks, rank, [[] for _ in rank], [[] for _ in rank])
    for wire in wires:
        _add_trunk(cells, wire)
    return cells


def _add_trunk(cells: _Cells, wire: BlobWire) -> None:
    cell = wire.source
    last = max(cells.rank[target] for target in wire.targets)
    for rank in range(cells.rank[cell] + 1, last + 1):
        for target in wire.targets:
            if cells.rank[target] == rank:
                cells.connect(cell, target)
        if rank < last:
            bend = cells.add_bend(rank)
            cells.connect(cell, bend)
            cell = bend


def _order_ranks(cells: _Cells) -> None:
    """Order each rank so that few wires cross. Each pass sorts cells by the means of their neighbors, and the best
    order is kept."""
    best, fewest = [list(rank) for rank in cells.ranks], _crossings(cells)
    for sweep in range(2 * _SWEEPS):
        if not fewest:
            break
        ranks, neighbors = (cells.ranks[1:], cells.above) if sweep % 2 == 0 else (cells.ranks[-2::-1], cells.below)
        place = _positions(cells)
        for rank in ranks:
            means = {cell: fmean(place[other] for other in neighbors[cell] or [cell]) for cell in rank}
            rank.sort(key=means.__getitem__)
            place.update((cell, float(index)) for index, cell in enumerate(rank))
        crossings = _crossings(cells)
        if crossings < fewest:
            best, fewest = [list(rank) for rank in cells.ranks], crossings
    cells.ranks[:] = best


def _positions(cells: _Cells) -> dict[int, float]:
    return {cell: float(index) for rank in cells.ranks for index, cell in enumerate(rank)}


def _crossings(cells: _Cells) -> int:
    """Return the number of wires that cross between neighboring ranks."""
    place, by_rank = _positions(cells), dict[int, list[tuple[float, float]]]()
    for source, target in cells.links:
        by_rank.setdefault(cells.rank[source], []).append((place[source], place[target]))
    crossings = 0
    for links in by_rank.values():
        ends: list[float] = []
        for _, end in sorted(links):
            crossings += len(ends) - bisect_left(ends, end + 0.5)
            insort(ends, end)
    return crossings


def _places_across(cells: _Cells, widths: Sequence[float], boxes: int) -> list[float]:
    """Return the positions of cells across the ranks: near their neighbors, in order, without overlaps."""
    place = [0.0] * len(widths)
    spaced = [_least_offsets(rank, widths, boxes) for rank in cells.ranks]
    for rank, offsets in zip(cells.ranks, spaced, strict=True):
        for cell, offset in zip(rank, offsets, strict=True):
            place[cell] = offset - offsets[-1] / 2
    ways: Sequence[tuple[int, Callable[[int], list[int]]]] = (
        (1, cells.above.__getitem__),
        (-1, cells.below.__getitem__),
    )
    for _ in range(_STRAIGHTENINGS):
        for step, neighbors in ways:
            for rank, offsets in list(zip(cells.ranks, spaced, strict=True))[::step]:
                _move_rank(rank, offsets, place, neighbors, lambda cell, others: float(len(others)))
    for rank, offsets in zip(cells.ranks, spaced, strict=True):
        _move_rank(rank, offsets, place, partial(_cells_above, cells, boxes), partial(_pull_of_place, boxes))
    return place


def _cells_above(cells: _Cells, boxes: int, cell: int) -> list[int]:
    """Return the cells that a cell should be straight below. The first bend of a wire should stay in its place."""
    above = cells.above[cell]
    return [cell] if cell >= boxes and above[0] < boxes else above


def _pull_of_place(boxes: int, cell: int, above: Sequence[int]) -> float:
    """Return the weight of a cell's place below the cells above it. Straight wires matter most, then chains of
    boxes."""
    if cell >= boxes:
        return _WIRE_PULL
    return _CHAIN_PULL if len(above) == 1 else 1.0


def _least_offsets(rank: Sequence[int], widths: Sequence[float], boxes: int) -> list[float]:
    """Return each cell's minimum distance from the first cell."""
    offsets = [0.0]
    for one, other in pairwise(rank):
        gap = _GAP if one < boxes and other < boxes else _BEND_GAP
        offsets.append(offsets[-1] + (widths[one] + widths[other]) / 2 + gap)
    return offsets


def _move_rank(
    rank: Sequence[int],
    offsets: Sequence[float],
    place: list[float],
    neighbors: Callable[[int], list[int]],
    weight: Callable[[int, Sequence[int]], float],
) -> None:
    """Move the cells of a rank as close to their neighbors as their order and widths allow, in least squares."""
    wanted, weights = list[float](), list[float]()
    for cell, offset in zip(rank, offsets, strict=True):
        others = neighbors(cell)
        wanted.append((fmean(place[other] for other in others) if others else place[cell]) - offset)
        weights.append(weight(cell, others) if others else _LOOSE)
    for cell, offset, level in zip(rank, offsets, _increasing(wanted, weights), strict=True):
        place[cell] = level + offset


def _increasing(wanted: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return the non-decreasing numbers that are nearest to those wanted. Neighbors in the wrong order get their
    mean."""
    blocks: list[tuple[float, float, int]] = []  # mean, weight, count
    for value, weight in zip(wanted, weights, strict=True):
        count = 1
        while blocks and blocks[-1][0] > value:
            mean, other, more = blocks.pop()
            value = (value * weight + mean * other) / (weight + other)
            weight, count = weight + other, count + more
        blocks.append((value, weight, count))
    return [mean for mean, _, count in blocks for _ in range(count)]


class _Routes:
    """The routes of all wires. Their ends are spread over the sides of boxes."""

    def __init__(
        self, cells: _Cells, across: Sequence[float], bands: Sequence[tuple[float, float]], sizes: Sequence[Size]
    ) -> None:
        self._cells, self._across, self._bands, self._sizes = cells, across, bands, sizes

    def routes(self) -> list[Route]:
        """Return all routes, from rank to rank."""
        ends = {box: self._ports(box) for box in range(len(self._sizes))}
        routes = []
        for source, target in self._cells.links:
            start = self._side(source, lower=True), self._side(target, lower=False)
            x, y = self._across[source], self._across[target]
            if target in ends:
                y = ends[target][source]
            (begin, leave), (enter, end) = start
            routes.append(Route(((x, begin), (x, leave), (y, enter), (y, end)), target in ends))
        return [*routes, *self._through_bends()]

    def _ports(self, box: int) -> dict[int, float]:
        """Return the positions at which the wires from other cells end at a box."""
        sources = sorted(dict.fromkeys(self._cells.above[box]), key=self._across.__getitem__)
        step = min(_PORT, 0.7 * self._sizes[box].width / max(1, len(sources)))
        middle = (len(sources) - 1) / 2
        return {source: self._across[box] + (index - middle) * step for index, source in enumerate(sources)}

    def _side(self, cell: int, *, lower: bool) -> tuple[float, float]:
        """Return the span from the lower side of a cell to that of its rank, or from the upper side of the rank to that
        of the cell."""
        top, bottom = self._bands[self._cells.rank[cell]]
        if cell >= len(self._sizes):
            return (bottom, bottom) if lower else (top, top)
        middle, half = (top + bottom) / 2, self._sizes[cell].height / 2
        return (middle + half, bottom) if lower else (top, middle - half)

    def _through_bends(self) -> list[Route]:
        """Return the straight parts of wires that cross a rank."""
        routes = []
        for bend in range(len(self._sizes), len(self._across)):
            top, bottom = self._bands[self._cells.rank[bend]]
            x = self._across[bend]
            routes.append(Route(((x, top), (x, top), (x, bottom), (x, bottom)), arrow=False))
        return routes
