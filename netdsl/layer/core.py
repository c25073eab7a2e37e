"""`Layer`, the base class of all layer types: a torch module with settings, blobs and a computation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import torch
from google.protobuf.message import Message
from torch.func import functional_call

from caffe_proto import caffe_pb2 as pb
from caffe_proto.dialects import all_dialects
from netdsl.errors import NetError, ShapeError
from netdsl.layer.blobs import LayerBlobs, Shape
from netdsl.layer.samples import BlobKind

T = TypeVar("T")

Count = tuple[int, int | None]  # minimum and maximum; `None` means no limit


@dataclass(frozen=True)
class DialectDoubt:
    """Another possible meaning of a layer, and the dialects that use it."""

    sentence: str
    dialects: tuple[str, ...]


class Layer(LayerBlobs):
    """One layer of a net. Each type is a subclass in its own file, with Caffe's name for the type.

    `__init__` receives the message and the shapes of the bottoms, checks them, and creates the blobs with `new_blob`,
    without memory. `forward` receives the bottoms and returns the top or a tuple of tops. It must read shapes from its
    inputs, because a net can be reshaped. It must also run on meta tensors, unless `top_shapes` is overridden.

    Abilities of some types only are in mixins: `BringsData`, `HasOnnxForm`, `Loss` and others in this package.
    """

    config: ClassVar[type[Message] | None] = None  # the message of the type's own settings
    bottoms: ClassVar[Count] = (1, 1)
    tops: ClassVar[Count] = (1, 1)
    in_place: ClassVar[bool] = False  # whether a top may be a bottom
    in_place_in_caffe: ClassVar[str] = ""  # how Caffe fails in place, for types that it accepts in place
    no_gradient: ClassVar[tuple[int, ...]] = ()  # bottoms, such as labels, that never get a gradient
    bottom_kinds: ClassVar[tuple[BlobKind, ...]] = ()  # the kinds of the bottoms, if arbitrary numbers aren't valid
    any_layout: ClassVar[bool] = False  # whether images can be stored with channels last; the tops then are, too
    keeps_values: ClassVar[bool] = False  # whether tops have the bottom's values, possibly in another shape
    waits: ClassVar[str] = ""  # why the host waits for a GPU here, such as "outputs one row for each remaining box"
    chooses: ClassVar[str] = (
        ""  # the host's choice in each training pass, such as "draws random image changes on the host"
    )
    deploys_as: ClassVar[str | None] = None  # the type that replaces the layer in a deployed net
    origin: ClassVar[str | None] = None  # the origin of the type, if the schema doesn't show it

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__()
        self.layer = layer
        self.doubts: list[DialectDoubt] = []  # possible other meanings, of which `build` warns
        self.caffe_notes: list[str] = []  # differences from Caffe, which `zoo check` lists
        self._check_count("bottom", len(bottoms), type(self).bottoms)
        self._check_count("top", len(layer.top), type(self).tops)
        if len(layer.loss_weight) not in (0, len(layer.top)):
            raise NetError(
                f"there are {len(layer.loss_weight)} loss_weight for {len(layer.top)} tops; give one for each or none"
            )
        if self.in_place_in_caffe and self.works_in_place():
            self.caffe_notes.append(f"in place, {self.in_place_in_caffe}; give the top another name")

    def _check_count(self, what: str, count: int, allowed: Count) -> None:
        least, most = allowed
        if count < least or (most is not None and count > most):
            several = f"{least} or more {what}s" if most is None else f"{least} to {most} {what}s"
            limits = _counted(least, what) if least == most else several
            too_many = f"remove {_counted(count - (most or 0), what)}"
            advice = f"add {_counted(least - count, what)}" if count < least else too_many
            raise NetError(f"a layer of type {self.layer.type} must have {limits}, not {count}; {advice}")

    def works_in_place(self) -> bool:
        """Return whether a top has the name of a bottom."""
        return not set(self.layer.top).isdisjoint(self.layer.bottom)

    def by_dialect(self, rules: Mapping[str, T], usual: T, doubt: str = "") -> T:
        """Return the value for the net's dialect, where forks of Caffe differ, or else the usual value.

        If the possible dialects of the net differ, the result is the usual value. `doubt` then describes this choice
        and its alternatives to the user.
        """
        names = tuple(self.layer.dialects or all_dialects())
        possible = {rules.get(name, usual) for name in names}
        if len(possible) == 1:
            return possible.pop()
        if doubt:
            others = tuple(name for name in names if rules.get(name, usual) != usual)
            self.doubts.append(DialectDoubt(doubt, others))
        return usual

    def freeze(self, message: pb.LayerParameter) -> None:
        """Change the layer's message so that training doesn't change its blobs."""
        add_specs(message, len(self.blob_names()))
        for spec in message.param:
            spec.lr_mult = spec.decay_mult = 0

    def fix_statistics(self, message: pb.LayerParameter) -> bool:
        """Change the layer's message so that training uses the statistics in its blobs, and not those of each batch.

        Returns whether the layer has such statistics.
        """
        return False

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        """Return the shapes of the tops. The layer is run on tensors without memory."""
        blobs = {name: tensor.to("meta") for name, tensor in (*self.named_parameters(), *self.named_buffers())}
        dtype = next((tensor.dtype for tensor in blobs.values() if tensor.is_floating_point()), None)
        inputs = tuple(torch.empty(shape, device="meta", dtype=dtype) for shape in bottoms)
        tops = functional_call(self, blobs, inputs)
        return [tuple(top.shape) for top in (tops if isinstance(tops, tuple) else (tops,))]

    def products(self, bottoms: Sequence[Shape], tops: Sequence[Shape]) -> int:
        """Return about how many products a pass computes. Each row of a blob is used once for each value of a top."""
        rows = [blob.numel() // max(blob.shape[0], 1) for blob in self.blob_tensors() if blob.dim()]
        return max(rows, default=0) * sum(map(math.prod, tops))

    def working_values(self, bottoms: Sequence[Shape], tops: Sequence[Shape]) -> int:
        """Return about how many values torch stores during a pass, besides the bottoms and tops."""
        return 0

    def has_hooks(self) -> bool:
        """Return whether a program observes this layer with torch's hooks."""
        passes = self._forward_hooks or self._forward_pre_hooks
        return bool(passes or self._backward_hooks or self._backward_pre_hooks)

    def bottom_kind(self, place: int) -> BlobKind:
        """Return the kind of a bottom's values.

        Unless `bottom_kinds` sets it, each bottom after the first that gets no gradient contains labels.
        """
        if place < len(self.bottom_kinds):
            return self.bottom_kinds[place]
        return BlobKind.LABEL if place and place in self.no_gradient else BlobKind.NUMBER

    def loss_weights(self) -> list[float]:
        """Return the loss weight of each top."""
        return list(self.layer.loss_weight) or [0.0] * len(self.layer.top)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def add_specs(layer: pb.LayerParameter, blobs: int) -> None:
    """Add default settings, such as a learning rate, for each blob of a layer that has none."""
    for _ in range(len(layer.param), blobs):
        layer.param.add()


def positive(settings: Message, name: str) -> int:
    """Return a required whole number. Raises a `NetError` if it is missing or less than 1."""
    value: int = getattr(settings, name)
    if value < 1:
        raise NetError(f"{name} is {value if settings.HasField(name) else 'missing'}; set it to 1 or more")
    return value


def axis_of(axis: int, dims: int, what: str = "axis") -> int:
    """Return an axis counted from the front. Caffe counts negative axes from the end."""
    if not -dims <= axis < dims:
        raise ShapeError(
            f"{what} {axis} doesn't exist: the bottom has {dims} axes; set one of them, counted from 0 at the front "
            "or from -1 at the end"
        )
    return axis % dims if dims else 0
