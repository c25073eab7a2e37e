"""What a script asks of a tensor without computing: its shape, its type, its gradient."""

from __future__ import annotations

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
    mean_of_ranks,
    place,
    whole_shape,
)
from netdsl.transparent.rules.registry import argument, rule

_PASSED = """dim ndim ndimension dtype device layout is_cuda is_cpu is_leaf grad_fn is_floating_point is_complex
is_signed is_contiguous data_ptr untyped_storage storage_offset element_size itemsize get_device
is_sparse is_quantized is_meta is_mps is_xpu is_nested _version output_nr retain_grad retains_grad
requires_grad requires_grad_ is_inference __hash__ is_conj is_neg is_same_size _is_view
_backward_hooks names has_names _base"""
_LIKE = """zeros_like ones_like empty_like full_like rand_like randn_like randint_like new_zeros new_ones new_empty
new_full new_tensor"""


@rule(_PASSED)
def pass_on(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What isn't of the values."""
    return func(*args, **kwargs)


@rule("shape")
def shape(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The shape of the whole."""
    return whole_shape(args[0])


@rule("size")
def size(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The shape of the whole, or one of its lengths."""
    dim = argument(args, kwargs, 1, "dim")
    return whole_shape(args[0]) if dim is None else whole_shape(args[0])[dim]


@rule("numel nelement")
def count(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The number of values of the whole."""
    return whole_shape(args[0]).numel()


@rule("__len__")
def length(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The length of the whole."""
    return whole_shape(args[0])[0] if args[0].ndim else func(*args)


@rule(_LIKE)
def like(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """New tensors are as large as the whole, and the same on all ranks."""

    def outline(tensor: Tensor) -> Tensor:
        return torch.empty(whole_shape(tensor), dtype=tensor.dtype, device=tensor.device)

    args, kwargs = pytree.tree_map_only(BatchTensor, outline, (args, kwargs))
    return func(*args, **kwargs)


@rule("data")
def data(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The values without their history."""
    return place(func(*args), args[0].placement)


@rule("grad")
def grad(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The true gradient of a batch: only one rank has an item, and a rank's gradients count one size-th."""
    gradient = func(*args)
    return None if gradient is None else true_gradient(args[0], gradient)


def true_gradient(tensor: Tensor, gradient: Tensor) -> Tensor:
    """The true gradient of a tensor, from this rank's."""
    if isinstance(tensor, BatchTensor) and isinstance(tensor.placement, Part):
        return place(gradient / BatchTensor.ranks.size, tensor.placement)
    return mean_of_ranks(gradient)


@rule("backward")
def backward(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The backward pass, which averages gradients."""
    return func(*args, **kwargs)


@rule("register_hook")
def hook(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Hooks would see a rank's gradients, which aren't the whole batch's."""
    raise DistributedError(
        "the script registers a hook on a tensor of a batch, which would see the gradients of one rank's part; "
        "use torch.autograd.grad, or run it with --workers 1"
    )


def set_attribute(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Whether it has a gradient, and that it has none yet."""
    return func(*args) if isinstance(args[1], bool) or args[1] is None else NotImplemented


for _name in ("requires_grad", "grad"):
    RULES.setdefault(vars(Tensor.__base__)[_name].__set__, []).append(set_attribute)
