"""Python: a layer that a user has written in Python for Caffe."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from caffe_proto import caffe_pb2 as pb
from netdsl.allowed_modules import PYTHON_LAYERS
from netdsl.errors import NetError
from netdsl.layer import Shape
from netdsl.layer.running import Reads, ReadsInBackward, not_compiled
from netdsl.layer.user_code import Array, ArrayBlob, ArrayBlobs, RunsUserCode, is_allowed, running_user_code

__all__ = ["Python", "allowed"]

allowed = PYTHON_LAYERS


class Python(RunsUserCode, ReadsInBackward):
    """Calls `setup`, `reshape`, `forward` and `backward` of a user's class with numpy arrays, as pycaffe does.

    A net can name any module, so only modules in `allowed` are imported. Without an installed Caffe, `import caffe` in
    such a module returns netdsl.pycaffe. Exceptions of the class are raised unchanged.
    """

    config = pb.PythonParameter
    bottoms = (0, None)
    tops = (0, None)
    in_place = True
    place: Tensor

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.user = _user_layer(layer)
        self.user.param_str = self.user.param_str_ = layer.python_param.param_str
        self.user.phase, self.user.blobs = layer.phase, ArrayBlobs()
        self.bottom_blobs = [ArrayBlob(shape) for shape in bottoms]
        self.top_blobs = [ArrayBlob() for _ in layer.top]
        with running_user_code(layer):
            self.user.setup(self.bottom_blobs, self.top_blobs)
        for index, blob in enumerate(self.user.blobs):
            self.register_parameter(f"blob{index}", nn.Parameter(torch.empty(blob.shape, device="meta")))
        self.register_buffer("place", torch.empty(0), persistent=False)  # stores the device for layers without bottoms

    def with_own_blobs(self) -> Self:
        """Return a layer with a separate object of the user's class, which can store any state."""
        own = type(self)(self.layer, [blob.shape for blob in self.bottom_blobs])
        own.top_shapes([blob.shape for blob in self.bottom_blobs])
        own._parameters.update(self._parameters)  # other layers may share these
        return own

    def blob_names(self) -> list[str]:
        return [f"blob{index}" for index in range(len(self.user.blobs))]

    def allocate(self, device: torch.device | str, done: dict[int, Tensor]) -> None:
        """Also copy the first values that `setup` wrote."""
        mine = {name: id(getattr(self, name)) not in done for name in self.blob_names() if getattr(self, name).is_meta}
        super().allocate(device, done)
        self.place = self.place.to(device)
        with torch.no_grad():
            for name, blob in zip(self.blob_names(), self.user.blobs, strict=True):
                if mine.get(name):
                    getattr(self, name).copy_(torch.from_numpy(blob.data))

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        for blob, shape in zip(self.bottom_blobs, bottoms, strict=True):
            blob.reshape(*shape)
        with running_user_code(self.layer):
            self.user.reshape(self.bottom_blobs, self.top_blobs)
        return [blob.shape for blob in self.top_blobs]

    @not_compiled
    def forward(self, *bottoms: Tensor) -> tuple[Tensor, ...]:
        tops = _PythonCall.apply(self, len(bottoms), *bottoms, *self.blob_tensors())  # type: ignore[no-untyped-call]
        return tuple(tops)

    def reads_bottoms(self) -> Reads:
        """Return VALUES, because user code can read anything."""
        return Reads.VALUES

    def reads_tops(self) -> Reads:
        return Reads.VALUES

    def caffe_gradients(
        self, seen: Sequence[Tensor], bottoms: Sequence[Tensor], tops: Sequence[Tensor], gradients: Sequence[Tensor]
    ) -> Sequence[Tensor | None]:
        blobs, wanted = list(self.blob_tensors()), [bottom.is_floating_point() for bottom in bottoms]
        diffs = self.run_back(bottoms, blobs, [_array(top) for top in tops], gradients, wanted)
        pairs = zip(diffs, (*bottoms, *blobs), strict=True)
        return [torch.from_numpy(diff).to(like) for diff, like in pairs]

    def run(self, bottoms: Sequence[Tensor], blobs: Sequence[Tensor]) -> list[Array]:
        """Return the tops of one forward pass. Changes that the user's code makes to the layer's blobs are kept."""
        dtype = _array(bottoms[0]).dtype if bottoms else np.dtype(np.float32)
        self.top_blobs[:] = [ArrayBlob(blob.shape, dtype) for blob in self.top_blobs]
        _hold(self.bottom_blobs, bottoms)
        _hold(self.user.blobs, blobs)
        with running_user_code(self.layer):
            self.user.reshape(self.bottom_blobs, self.top_blobs)
            self.user.forward(self.bottom_blobs, self.top_blobs)
        for blob, tensor in zip(self.user.blobs, blobs, strict=True):
            if not np.array_equal(blob.data, _array(tensor)):
                tensor.copy_(torch.from_numpy(blob.data))
        return [blob.data.copy() for blob in self.top_blobs]

    def run_back(
        self, bottoms: Sequence[Tensor], blobs: Sequence[Tensor], tops: Sequence[Array], diffs: Sequence[Tensor],
        propagate_down: Sequence[bool],
    ) -> list[Array]:  # fmt: skip
        """Return the gradients of one backward pass, on the forward pass's values.

        They are the gradients of the bottoms, followed by those of the layer's blobs.
        """
        _hold(self.bottom_blobs, bottoms)
        _hold(self.user.blobs, blobs)
        for blob, data, diff in zip(self.top_blobs, tops, diffs, strict=True):
            blob.data, blob.diff = data.copy(), _array(diff).copy()
        with running_user_code(self.layer):
            self.user.backward(self.top_blobs, list(propagate_down), self.bottom_blobs)
        return [blob.diff for blob in (*self.bottom_blobs, *self.user.blobs)]


class _PythonCall(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, layer: Python, count: int, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.layer, ctx.count = layer, count
        tops = layer.run(tensors[:count], tensors[count:])
        ctx.save_for_backward(*tensors)
        ctx.tops = tops
        return tuple(torch.from_numpy(top).to((tensors[0] if tensors else layer.place).device) for top in tops)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        tensors, needs = ctx.saved_tensors, ctx.needs_input_grad[2:]
        bottoms, blobs = tensors[: ctx.count], tensors[ctx.count :]
        diffs = ctx.layer.run_back(bottoms, blobs, ctx.tops, grads, needs[: ctx.count])
        pairs = zip(diffs, tensors, needs, strict=True)
        gradients = (torch.from_numpy(diff).to(tensor) if needed else None for diff, tensor, needed in pairs)
        return None, None, *gradients


def _array(tensor: Tensor) -> Array:
    return tensor.detach().cpu().numpy()


def _hold(blobs: Sequence[ArrayBlob], tensors: Sequence[Tensor]) -> None:
    for blob, tensor in zip(blobs, tensors, strict=True):
        blob.hold(_array(tensor))


def _user_layer(layer: pb.LayerParameter) -> Any:
    """Return an object of the class that a layer names."""
    name, kind = layer.python_param.module, layer.python_param.layer
    if not name or not kind:
        raise NetError("python_param must name a module and, as layer, a class in it; set `module` and `layer`")
    if not is_allowed(layer):
        raise NetError(
            f"the layer runs Python code from module '{name}'; if you trust it, allow it with `--allow-python "
            f"{name}`, or in Python with `netdsl.layers.python.allowed.add('{name}')`"
        )
    user_class = getattr(_user_module(layer), kind, None)
    if not isinstance(user_class, type):
        raise NetError(f"module '{name}' has no class '{kind}'; set `layer` in python_param to the name of the class")
    with running_user_code(layer):
        return user_class(layer)


def _user_module(layer: pb.LayerParameter) -> ModuleType:
    name = layer.python_param.module
    import_module("netdsl.pycaffe").install_as_caffe()  # imported here because it depends on the layers
    try:
        with running_user_code(layer):
            return import_module(name)
    except ImportError as problem:
        raise NetError(f"module '{name}' can't be imported: {problem}; {_advice(name, problem.name)}") from problem


def _advice(module: str, missing: str | None) -> str:
    if missing is None or f"{module}.".startswith(f"{missing}."):
        return "add its folder to PYTHONPATH, or run the command in that folder"
    return f"install {missing}, or if it is in the current folder, allow it too with `--allow-python {missing}`"
