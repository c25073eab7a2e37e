"""Compares two files: layers and settings by name, weights by number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.blobs import Array
from caffe_proto.copies import copy_of
from caffe_proto.files import CaffeFile
from caffe_proto.text.document import Body, Scalar
from caffe_proto.text.prototxt import unbind

_WEIGHTS = {"blobs", "history", "data", "diff", "double_data", "double_diff"}


@dataclass(frozen=True)
class SettingDifference:
    """A field that differs. Its value is `None` for a file that doesn't set it."""

    where: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class WeightDifference:
    """The size of the difference between two versions of a blob."""

    where: str
    before: tuple[int, ...]
    after: tuple[int, ...]
    largest: float | None  # the largest absolute difference; None if the shapes differ
    relative: float | None  # the largest difference, relative to the largest value of the first file


@dataclass(frozen=True)
class Difference:
    """All differences between two files. It is false if the files are equal."""

    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    moved: bool = False
    settings: tuple[SettingDifference, ...] = ()
    weights: tuple[WeightDifference, ...] = ()

    def __bool__(self) -> bool:
        changed = any(line.largest != 0 for line in self.weights)
        return bool(self.removed or self.added or self.moved or self.settings or changed)


_LayerKey = tuple[str, int]


def compare(first: CaffeFile[Message], second: CaffeFile[Message]) -> Difference:
    """Return the changes from the first file to the second.

    Weights are compared only if both files contain some, so a prototxt can be compared with its caffemodel.
    """
    before, after = _layers_of_file(first), _layers_of_file(second)
    common = [key for key in before if key in after]
    both_have_weights = all(any(_arrays(part) for part in parts.values()) for parts in (before, after))
    settings = [
        difference
        for key in common
        for difference in _setting_differences(_name_of(key), before[key].message, after[key].message)
    ]
    return Difference(
        removed=tuple(_name_of(key) for key in before if key not in after),
        added=tuple(_name_of(key) for key in after if key not in before),
        moved=common != [key for key in after if key in before],
        settings=tuple(settings),
        weights=tuple(
            difference
            for key in common
            if both_have_weights
            for difference in _weights(_name_of(key), before[key], after[key])
        ),
    )


def _layers_of_file(file: CaffeFile[Message]) -> dict[_LayerKey, CaffeFile[Message]]:
    """Return a net's layers, keyed by name and position among layers of the same name.

    The rest of the net is under "".
    """
    layers_by_key: dict[_LayerKey, CaffeFile[Message]] = {}
    if not isinstance(file.message, pb.NetParameter):
        return {("", 0): file}
    ranks: Counter[str] = Counter()
    layers: list[pb.LayerParameter | pb.V1LayerParameter] = [*file.message.layers, *file.message.layer]
    for layer in layers:
        name = layer.name or (layer.layer.name if isinstance(layer, pb.V1LayerParameter) else "")
        layers_by_key[f"layer {name!r}", ranks[name]] = CaffeFile(layer, file.blobs)
        ranks[name] += 1
    rest = copy_of(file.message, without=["layer", "layers"])
    return {("", 0): CaffeFile(rest, file.blobs), **layers_by_key}


def _name_of(key: _LayerKey) -> str:
    return key[0] + (f" ({key[1] + 1})" if key[1] else "")


def _setting_differences(where: str, before: Message, after: Message) -> Iterator[SettingDifference]:
    prefix = f"{where}: " if where else ""
    first, second = dict(_leaves(unbind(before), prefix)), dict(_leaves(unbind(after), prefix))
    changed = [path for path in dict.fromkeys([*first, *second]) if first.get(path) != second.get(path)]
    for path, following in zip(changed, [*changed, ""][1:], strict=True):
        if not following.startswith(f"{path}."):  # a whole block was added or removed, and its fields show that
            yield SettingDifference(path, first.get(path), second.get(path))


def _leaves(body: Body, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield every value and every block with its path. Repeated fields are numbered from the second on."""
    ranks: Counter[str] = Counter()
    for entry in body.entries:
        if entry.name in _WEIGHTS:
            continue
        path = prefix + entry.name + (f"[{ranks[entry.name]}]" if ranks[entry.name] else "")
        ranks[entry.name] += 1
        for value in entry.values:
            if isinstance(value, Scalar):
                yield path, value.text
            else:
                yield path, "{ }"
                yield from _leaves(value, path + ".")


def _weights(where: str, before: CaffeFile[Message], after: CaffeFile[Message]) -> Iterator[WeightDifference]:
    first, second = _arrays(before), _arrays(after)
    for index in range(max(len(first), len(second))):
        a = first[index] if index < len(first) else None
        b = second[index] if index < len(second) else None
        name = f"{where}, blob {index}" if where else f"blob {index}"
        if a is None or b is None or a.shape != b.shape:
            yield WeightDifference(name, () if a is None else a.shape, () if b is None else b.shape, None, None)
        else:
            yield WeightDifference(name, a.shape, b.shape, *_distance(a, b))


def _arrays(file: CaffeFile[Message]) -> list[Array]:
    message, blobs = file.message, file.blobs
    if isinstance(message, pb.BlobProto):
        return [blobs.array(message)]
    if isinstance(message, pb.Datum):
        return [np.frombuffer(message.data, np.uint8)]
    inner = [message.layer] if isinstance(message, pb.V1LayerParameter) else []
    protos = [proto for holder in [message, *inner] for proto in getattr(holder, "blobs", ())]
    return [blobs.array(proto) for proto in [*protos, *getattr(message, "history", ())]]


def _distance(a: Array, b: Array) -> tuple[float, float]:
    """Return the largest absolute difference and the largest relative difference. NaN at the same place counts as
    equal."""
    if not a.size:
        return 0.0, 0.0
    with np.errstate(invalid="ignore", over="ignore"):
        gaps = np.abs(a.astype(np.float64) - b.astype(np.float64))
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    largest = float(np.where(same, 0.0, np.where(np.isnan(gaps), np.inf, gaps)).max())
    scale = float(np.nanmax(np.abs(a.astype(np.float64)), initial=0.0))
    if not largest or not scale or largest == np.inf:
        return largest, np.inf if largest else 0.0
    return largest, largest / scale
