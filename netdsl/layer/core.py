"""`Layer`, the torch module that every layer type is: its settings, how many blobs it takes, what it computes."""

from __future__ import annotations

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

Count = tuple[int, int | None]  # at least, at most; None is without limit


@dataclass(frozen=True)
class DialectDoubt:
    """What a layer may mean otherwise, and the dialects in which it does."""

    sentence: str
    dialects: tuple[str, ...]


class Layer(LayerBlobs):
    """One layer of a net. A type is a subclass in a file of its own, named as Caffe names the type.

    `__init__` gets the message and the shapes of its bottoms, checks them, and makes the blobs with `new_blob`; nothing
    is allocated yet. `forward` takes the bottoms and gives the top, or a tuple of tops. It reads shapes from its
    inputs, because a net can be reshaped, and it must run on meta tensors, or `top_shapes` must be overridden.

    What only some types can do is in mixins: `BringsData`, `HasOnnxForm`, `Loss` and the others of this package.
    """

    config: ClassVar[type[Message] | None] = None  # the type's own settings
    bottoms: ClassVar[Count] = (1, 1)
    tops: ClassVar[Count] = (1, 1)
    in_place: ClassVar[bool] = False  # whether a top may be a bottom
    in_place_in_caffe: ClassVar[str] = ""  # what goes wrong in Caffe if one is, though Caffe takes it
    no_gradient: ClassVar[tuple[int, ...]] = ()  # bottoms, such as labels, that never get one
    bottom_kinds: ClassVar[tuple[BlobKind, ...]] = ()  # what bottoms have, where not any numbers make sense
    any_layout: ClassVar[bool] = False  # whether images may lie in memory with channels last, as tops do then
    keeps_values: ClassVar[bool] = False  # whether tops have the bottom's values, which may be in another shape
    waits: ClassVar[str] = ""  # why a GPU's program waits here for values, as "makes as many rows as boxes stay"
    chooses: ClassVar[str] = ""  # what the host chooses in each training pass, as "draws how images are changed"
    deploys_as: ClassVar[str | None] = None  # the type that a deploy net has in the layer's place
    origin: ClassVar[str | None] = None  # who added the type to Caffe, where the schema doesn't say it

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__()
        self.layer = layer
        self.doubts: list[DialectDoubt] = []  # what may be meant otherwise; `build` warns of it
        self.caffe_notes: list[str] = []  # what Caffe refuses or does otherwise; `zoo check` lists it
        self._check_count("bottom", len(bottoms), type(self).bottoms)
        self._check_count("top", len(layer.top), type(self).tops)
        if len(layer.loss_weight) not in (0, len(layer.top)):
            raise NetError(f"{len(layer.loss_weight)} loss_weight for {len(layer.top)} tops; give one for each or none")
        if self.in_place_in_caffe and self.works_in_place():
            self.caffe_notes.append(f"in place {self.in_place_in_caffe}; give the top a name of its own")

    def _check_count(self, what: str, count: int, allowed: Count) -> None:
        least, most = allowed
        if count < least or (most is not None and count > most):
            limits = f"{least}" if least == most else f"{least} or more" if most is None else f"{least} to {most}"
            raise NetError(f"a layer of type {self.layer.type} takes {limits} {what}s, not {count}")

    def works_in_place(self) -> bool:
        """Return whether a top has the name of a bottom."""
        return not set(self.layer.top).isdisjoint(self.layer.bottom)

    def by_dialect(self, rules: Mapping[str, T], usual: T, doubt: str = "") -> T:
        """Return what the net's fork does, of something that forks do in different ways: by its dialect, or what is
        usual.

        If the net may be in dialects that differ, it is what is usual, and `doubt` says what that is and who differs.
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
        """Change the layer's message in a net so that training leaves its blobs as they are."""
        add_specs(message, len(self.blob_names()))
        for spec in message.param:
            spec.lr_mult = spec.decay_mult = 0

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        """Return the shapes of the tops, by running on tensors without memory."""
        blobs = {name: tensor.to("meta") for name, tensor in (*self.named_parameters(), *self.named_buffers())}
        dtype = next((tensor.dtype for tensor in blobs.values() if tensor.is_floating_point()), None)
        inputs = tuple(torch.empty(shape, device="meta", dtype=dtype) for shape in bottoms)
        tops = functional_call(self, blobs, inputs)
        return [tuple(top.shape) for top in (tops if isinstance(tops, tuple) else (tops,))]

    def has_hooks(self) -> bool:
        """Return whether a program looks at what goes through this layer, by torch's hooks."""
        passes = self._forward_hooks or self._forward_pre_hooks
        return bool(passes or self._backward_hooks or self._backward_pre_hooks)

    def bottom_kind(self, place: int) -> BlobKind:
        """Return what values a bottom has: unless `bottom_kinds` says it, labels in all but the first that get no
        gradient."""
        if place < len(self.bottom_kinds):
            return self.bottom_kinds[place]
        return BlobKind.LABEL if place and place in self.no_gradient else BlobKind.NUMBER

    def loss_weights(self) -> list[float]:
        """Return what each top adds to the loss."""
        return list(self.layer.loss_weight) or [0.0] * len(self.layer.top)


def add_specs(layer: pb.LayerParameter, blobs: int) -> None:
    """Give each of a layer's blobs settings of its own, such as a learning rate, where it has only the usual ones."""
    for _ in range(len(layer.param), blobs):
        layer.param.add()


def positive(settings: Message, name: str) -> int:
    """Return a whole number that a layer can't do without; an error says whether it is missing or too small."""
    value: int = getattr(settings, name)
    if value < 1:
        raise NetError(f"{name} is {value if settings.HasField(name) else 'missing'}; it must be 1 or more")
    return value


def axis_of(axis: int, dims: int, what: str = "axis") -> int:
    """Return an axis counted from the front; Caffe counts negative ones from the back."""
    if not -dims <= axis < dims:
        raise ShapeError(f"{what} {axis} doesn't exist: the bottom has {dims} axes")
    return axis % dims if dims else 0
