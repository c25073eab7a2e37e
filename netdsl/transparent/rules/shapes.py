"""Rules for operations that change shapes and order, and for properties that a script reads without computing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from operator import mul
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from netdsl.errors import DistributedError
from netdsl.transparent.batch_tensor import (
    RULES,
    BatchTensor,
    Function,
    Part,
    argument,
    batch_tensors,
    mean_of_ranks,
    name_of,
    own_part,
    place,
    place_like,
    rule,
    whole_shape,
)
from netdsl.transparent.rules.arithmetic import align

_DIM_PLACES = {"split": 2, "chunk": 2, "tensor_split": 2, "split_with_sizes": 2, "take_along_dim": 2}
_PASSED = """dim ndim ndimension dtype device layout is_cuda is_cpu is_leaf grad_fn is_floating_point is_complex
is_signed is_contiguous data_ptr untyped_storage storage_offset element_size itemsize get_device
is_sparse is_quantized is_meta is_mps is_xpu is_nested _version output_nr retain_grad retains_grad
requires_grad requires_grad_ is_inference __hash__ is_conj is_neg is_same_size _is_view
_backward_hooks names has_names _base"""
_LIKE = """zeros_like ones_like empty_like full_like rand_like randn_like randint_like new_zeros new_ones new_empty
new_full new_tensor"""


def _part_of(args: tuple[Any, ...]) -> Part | None:
    """Return the placement of the first argument if it is a part."""
    tensor = args[0] if args else None
    return tensor.placement if isinstance(tensor, BatchTensor) and isinstance(tensor.placement, Part) else None


def _result_shape(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.Size:
    """Return the shape of the operation's result for the whole batch."""

    def outline(tensor: Tensor) -> Tensor:
        return torch.empty(whole_shape(tensor), device="meta")

    args, kwargs = pytree.tree_map_only(Tensor, outline, (args, kwargs))
    shape: torch.Size = func(*args, **kwargs).shape
    return shape


@rule("view reshape view_as reshape_as flatten unflatten ravel squeeze unsqueeze")
def reshape(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Reshape a part. The rows of items stay together if the dimensions before them keep their size."""
    placement, tensor = _part_of(args), args[0]
    if placement is None or any(isinstance(value, torch.dtype) for value in (*args, *kwargs.values())):
        return NotImplemented
    shape = list(_result_shape(func, args, kwargs))
    before = math.prod(tensor.shape[: placement.dim])
    sizes_before = accumulate(shape, mul, initial=1)
    for dim, size_before in enumerate(list(sizes_before)[:-1]):
        if size_before == before and shape[dim] % placement.items == 0 and shape[dim]:
            break
    else:
        return NotImplemented
    part, granule = BatchTensor.ranks.part(placement.items), shape[dim] // placement.items
    shape[dim] = (part.stop - part.start) * granule
    result = tensor.view(shape) if name_of(func).startswith("view") else tensor.reshape(shape)
    return place(result, Part(dim, placement.items, granule))


@rule("permute transpose swapaxes swapdims movedim moveaxis t adjoint T mT H mH")
def permute(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Change the order of dimensions."""
    placement, tensor = _part_of(args), args[0]
    if placement is None:
        return NotImplemented
    marked = torch.empty(tuple(range(2, 2 + tensor.ndim)), device="meta")  # every dimension has a different length
    dim = list(func(marked, *args[1:], **kwargs).shape).index(2 + placement.dim)
    return place(func(*args, **kwargs), Part(dim, placement.items, placement.granule))


@rule("expand expand_as broadcast_to")
def expand(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Repeat items along other dimensions."""
    placement, tensor = _part_of(args), args[0]
    if placement is None:
        return NotImplemented
    shape = list(_result_shape(func, args, kwargs))
    dim = len(shape) - tensor.ndim + placement.dim
    shape[dim] = tensor.shape[placement.dim]
    return place(tensor.expand(shape), Part(dim, placement.items, placement.granule))


@rule("__getitem__")
def index(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Index other dimensions with whole numbers and slices."""
    placement, tensor = _part_of(args), args[0]
    indices = args[1] if isinstance(args[1], tuple) else (args[1],)
    if placement is None or not all(_is_plain(value) for value in indices):
        return NotImplemented
    missing = tensor.ndim - sum(value is not None and value is not Ellipsis for value in indices)
    rest = (slice(None),) * missing
    at = indices.index(Ellipsis) if Ellipsis in indices else len(indices)
    indices = (*indices[:at], *rest, *indices[at + 1 :])
    sources = [number for number, value in enumerate(indices) if value is not None]
    number = sources[placement.dim]
    value, size = indices[number], whole_shape(tensor)[placement.dim]
    if not isinstance(value, slice) or range(size)[value] != range(size):
        return NotImplemented
    dim = sum(not isinstance(before, int) for before in indices[:number])
    indices = (*indices[:number], slice(None), *indices[number + 1 :])
    return place(tensor[indices], Part(dim, placement.items, placement.granule))


def _is_plain(value: Any) -> bool:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value is None or value is Ellipsis or isinstance(value, slice) or is_number


@rule("split chunk tensor_split split_with_sizes unbind narrow select index_select gather take_along_dim flip roll")
def take(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Take parts along other dimensions, or with an index for every item."""
    placement, tensor = _part_of(args), args[0]
    name = name_of(func)
    default = 0 if name in ("split", "chunk", "tensor_split", "split_with_sizes", "unbind") else None
    dim = argument(args, kwargs, _DIM_PLACES.get(name, 1), "dim", default)
    if placement is None or not isinstance(dim, int) or dim % tensor.ndim == placement.dim:
        return NotImplemented
    if any(each.ndim != tensor.ndim or each.placement != placement for each in batch_tensors(args, kwargs)):
        return NotImplemented
    if name in ("gather", "take_along_dim"):
        aligned = align(args, kwargs)
        if aligned is None or not isinstance(
            argument(aligned[0], kwargs, 2 - (name != "gather"), "index"), BatchTensor
        ):
            return NotImplemented
    result = func(*args, **kwargs)
    one = result if isinstance(result, Tensor) else result[0]
    lost = one.ndim < tensor.ndim and dim % tensor.ndim < placement.dim
    return place_like(result, Part(placement.dim - lost, placement.items, placement.granule))


@rule("cat concat concatenate stack")
def join(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Join tensors along other dimensions."""
    tensors: Sequence[Tensor] = args[0]
    first = next(batch_tensors(args))
    placement, dim = first.placement, argument(args, kwargs, 1, "dim", kwargs.get("axis", 0))
    is_new = name_of(func) == "stack"
    if not isinstance(placement, Part) or not isinstance(dim, int) or kwargs.get("out") is not None:
        return NotImplemented
    dim %= first.ndim + is_new
    if (not is_new and dim == placement.dim) or any(tensor.ndim != first.ndim for tensor in tensors):
        return NotImplemented
    if any(tensor.placement != placement for tensor in batch_tensors(args)):
        return NotImplemented
    own = [tensor if isinstance(tensor, BatchTensor) else own_part(tensor, placement) for tensor in tensors]
    moved = is_new and dim <= placement.dim
    return place(func(own, *args[1:], **kwargs), Part(placement.dim + moved, placement.items, placement.granule))


@rule(_PASSED)
def pass_on(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return a property that doesn't depend on the values."""
    return func(*args, **kwargs)


@rule("shape")
def shape(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the shape of the whole batch."""
    return whole_shape(args[0])


@rule("size")
def size(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the shape of the whole batch, or the length of one dimension."""
    dim = argument(args, kwargs, 1, "dim")
    return whole_shape(args[0]) if dim is None else whole_shape(args[0])[dim]


@rule("numel nelement")
def count(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the number of values of the whole batch."""
    return whole_shape(args[0]).numel()


@rule("__len__")
def length(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the length of the whole batch."""
    return whole_shape(args[0])[0] if args[0].ndim else func(*args)


@rule(_LIKE)
def like(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Create a tensor with the size of the whole batch, which is the same on all ranks."""

    def outline(tensor: Tensor) -> Tensor:
        return torch.empty(whole_shape(tensor), dtype=tensor.dtype, device=tensor.device)

    args, kwargs = pytree.tree_map_only(BatchTensor, outline, (args, kwargs))
    return func(*args, **kwargs)


@rule("data")
def data(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the values without their autograd history."""
    return place(func(*args), args[0].placement)


@rule("grad")
def grad(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the true gradient of a batch. Only one rank has an item, and a rank's gradient counts with a weight of 1 /
    size."""
    gradient = func(*args)
    return None if gradient is None else true_gradient(args[0], gradient)


def true_gradient(tensor: Tensor, gradient: Tensor) -> Tensor:
    """Return the true gradient of a tensor, given this rank's."""
    if isinstance(tensor, BatchTensor) and isinstance(tensor.placement, Part):
        return place(gradient / BatchTensor.ranks.size, tensor.placement)
    return mean_of_ranks(gradient)


@rule("backward")
def backward(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run the backward pass, which averages gradients."""
    return func(*args, **kwargs)


@rule("register_hook")
def hook(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Raise a `DistributedError`, since a hook would see one rank's gradients instead of the whole batch's."""
    raise DistributedError(
        "the script registers a hook on a tensor of a batch, which would see the gradients of only one rank's "
        "part; use torch.autograd.grad, or run the script with --workers 1"
    )


def set_attribute(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Set whether a tensor requires a gradient, or clear its gradient."""
    return func(*args) if isinstance(args[1], bool) or args[1] is None else NotImplemented


for _name in ("requires_grad", "grad"):
    RULES.setdefault(vars(Tensor.__base__)[_name].__set__, []).append(set_attribute)
