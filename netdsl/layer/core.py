"""What every layer type is: a torch module that says all there is to say about its type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import torch
from google.protobuf.message import Message
from torch import Tensor, nn
from torch.func import functional_call

from caffe_proto import caffe_pb2 as pb
from netdsl.data.batches.reading import Intake, Reading
from netdsl.data.transforms.transform import Transform
from netdsl.errors import ConversionError, NetError, ShapeError
from netdsl.layer.fillers import fill
from netdsl.layer.onnx_graph import OnnxGraph

Shape = tuple[int, ...]
Count = tuple[int, int | None]  # at least, at most; None is without limit
Rewritten = tuple[pb.LayerParameter, list[Tensor]]  # a layer in the place of another one, and its blobs


class Layer(nn.Module):
    """One layer of a net. A type is a subclass in a file of its own, named as Caffe names the type.

    `__init__` gets the message and the shapes of its bottoms, checks them, and makes the blobs with `filled`; nothing
    is allocated yet. `forward` takes the bottoms and gives the top, or a tuple of tops. It reads shapes from its
    inputs, because a net can be reshaped, and it must run on meta tensors, or `top_shapes` must be overridden.
    """

    config: ClassVar[type[Message] | None] = None  # the type's own settings
    blobs: ClassVar[tuple[str, ...]] = ()  # attributes in Caffe's order: parameters, or buffers that aren't learned
    bottoms: ClassVar[Count] = (1, 1)
    tops: ClassVar[Count] = (1, 1)
    in_place: ClassVar[bool] = False  # whether a top may be a bottom
    fresh: ClassVar[bool] = False  # every top is memory of its own, which the layer's backward pass doesn't read
    overwrites = False  # set where nobody else needs the bottom's memory: forward may write its top there
    external: ClassVar[bool] = False  # tops come from outside; forward is never called
    is_loss: ClassVar[bool] = False  # the first top weighs 1 unless said otherwise, and is added if it is missing
    no_gradient: ClassVar[tuple[int, ...]] = ()  # bottoms, such as labels, that never get one
    foreign: ClassVar[bool] = False  # runs code that the net names
    writes: ClassVar[bool] = False  # forward writes to a file, and makes no top
    varies: ClassVar[int | None] = None  # the axis of the tops whose length is known only when the layer runs
    chooses = False  # whether the last digit of a bottom can change a top altogether, as it can a place of a maximum
    stands_for: ClassVar[tuple[str, ...]] = ()  # Python layers, as module.layer, that this type replaces
    predictions: ClassVar[tuple[int, ...] | None] = None  # bottoms that a deploy net has instead of the layer
    deploys_as: ClassVar[str | None] = None  # the type that a deploy net has in the layer's place
    fillers_tell: ClassVar[bool] = False  # whether a filler that is set says that its blob exists

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__()
        self.layer = layer
        self._reshaped: dict[str, tuple[Layer, str, torch.Size]] = {}
        self._check_count("bottom", len(bottoms), type(self).bottoms)
        self._check_count("top", len(layer.top), type(self).tops)

    def _check_count(self, what: str, count: int, allowed: Count) -> None:
        least, most = allowed
        if count < least or (most is not None and count > most):
            wanted = f"{least}" if least == most else f"{least} or more" if most is None else f"{least} to {most}"
            raise NetError(f"a layer of type {self.layer.type} takes {wanted} {what}s, not {count}")

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        """The shapes of the tops, by running on tensors without memory."""
        own = {name: tensor.to("meta") for name, tensor in (*self.named_parameters(), *self.named_buffers())}
        dtype = next((tensor.dtype for tensor in own.values() if tensor.is_floating_point()), None)
        inputs = tuple(torch.empty(shape, device="meta", dtype=dtype) for shape in bottoms)
        tops = functional_call(self, own, inputs)
        return [tuple(top.shape) for top in (tops if isinstance(tops, tuple) else (tops,))]

    def reading(self, seed: int) -> Reading | None:
        """What the tops of an external layer are read from, opened; None if whoever runs the net gives them."""
        return None

    def intake(self) -> Intake:
        """What an external layer takes of every row of a table."""
        shapes = self.top_shapes([])
        sizes = {shape[0] if shape else 0 for shape in shapes}
        if len(sizes) > 1 or 0 in sizes:
            raise NetError("needs shapes with the same first number, which says how many rows a batch has")
        gray = self.layer.transform_param.force_gray or any(len(shape) == 4 and shape[1] == 1 for shape in shapes)
        return Intake(tuple(self.layer.top), sizes.pop(), tuple(shape[1:] for shape in shapes), self.transform(), gray)

    def transform(self) -> Transform | None:
        """What becomes of the images that an external layer takes; chance is for training."""
        p = self.layer
        return Transform(p.transform_param, train=p.phase == pb.TRAIN) if p.HasField("transform_param") else None

    def loss_weights(self) -> list[float]:
        """What each top adds to the loss."""
        given = list(self.layer.loss_weight)
        if given and len(given) != len(self.layer.top):
            raise NetError(f"{len(given)} loss_weight for {len(self.layer.top)} tops; give one for each or none")
        return given or [1.0 if self.is_loss and index == 0 else 0.0 for index in range(len(self.layer.top))]

    def merges(self, following: Layer) -> bool:
        """Whether `forward_merged` can do this layer's work and the next one's in one pass over memory."""
        return False

    def forward_merged(self, following: Layer, *bottoms: Tensor) -> Tensor:
        """What the following layer makes of what this one makes, if `merges` says so."""
        raise NotImplementedError

    def onnx(self, g: OnnxGraph, *bottoms: Any, **_: Any) -> str | tuple[str, ...]:
        """What the layer computes in the TEST phase, told in ONNX's operators: the names of its tops, from those of its
        bottoms.
        """
        raise ConversionError("has no ONNX form")

    def affine(self) -> tuple[Tensor, Tensor] | None:
        """What every channel is multiplied by and what is added then, if a test has the layer do nothing else."""
        return None

    def followed(self, factor: Tensor, shift: Tensor) -> Rewritten | None:
        """A layer that does an affine layer's work after this one's, if there can be one."""
        return None

    def preceded(self, order: Sequence[int], shift: Tensor) -> Rewritten | None:
        """A layer that first puts channels in another order and adds a number to each, if there can be one."""
        return None

    def convolved(self, bottom: Shape) -> Rewritten | None:
        """A convolution that computes the same and, of a larger image, at every place; if there can be one."""
        return None

    def share_reshaped(self, name: str, owner: Layer, owned: str) -> None:
        """Use another layer's parameter in a shape of our own."""
        shape = getattr(self, name).shape
        delattr(self, name)
        self._reshaped[name] = (owner, owned, shape)

    def __getattr__(self, name: str) -> Any:
        reshaped = self.__dict__.get("_reshaped", {})
        if name in reshaped:
            owner, owned, shape = reshaped[name]
            return getattr(owner, owned).view(shape)
        return super().__getattr__(name)

    def owner_of(self, name: str) -> Tensor:
        """The tensor that a blob's values are really in, which may have another shape."""
        owner, owned, _ = self._reshaped.get(name, (self, name, None))
        tensor: Tensor = getattr(owner, owned)
        return tensor

    def blob_names(self) -> list[str]:
        """The blobs that this layer has, in Caffe's order."""
        return [name for name in self.blobs if getattr(self, name, None) is not None]

    def blob_tensors(self) -> Iterator[Tensor]:
        """Their tensors."""
        for name in self.blob_names():
            yield getattr(self, name)

    def allocate(self, device: torch.device | str, done: dict[int, Tensor]) -> None:
        """Give the blobs memory and their first values. `done` has those that other layers share, by their identity."""
        for name, buffer in list(self.named_buffers()):
            if not buffer.is_meta:  # a table that the layer made ready by itself
                setattr(self, name, buffer.to(device))
        for name in self.blob_names():
            empty = getattr(self, name)
            if empty.is_meta and id(empty) not in done:
                done[id(empty)] = _with_memory(empty, device)
            if empty.is_meta:
                setattr(self, name, done[id(empty)])


def _with_memory(empty: Tensor, device: torch.device | str) -> Tensor:
    tensor = torch.zeros(empty.shape, dtype=empty.dtype, device=device)
    filler = getattr(empty, "filler", None)
    if filler is not None:
        fill(tensor, filler)
    return nn.Parameter(tensor, empty.requires_grad) if isinstance(empty, nn.Parameter) else tensor


def axis_of(axis: int, dims: int, what: str = "axis") -> int:
    """An axis counted from the front; Caffe counts negative ones from the back."""
    if not -dims <= axis < dims:
        raise ShapeError(f"{what} {axis} doesn't exist: the bottom has {dims} axes")
    return axis % dims if dims else 0
