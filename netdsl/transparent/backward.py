"""Backward passes that average gradients over the ranks, in buckets that are sent during the pass."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.nn.parameter import is_lazy
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils.weak import WeakIdKeyDictionary

from netdsl.distributed.strategies.all_reduce import Bucket, GradientBuckets
from netdsl.errors import DistributedError
from netdsl.transparent.batch_tensor import RANK_MEAN, BatchTensor, Part, own_part
from netdsl.transparent.ranks import Doing, ScriptRanks
from netdsl.transparent.rules.shapes import true_gradient

_BUCKET = 4 << 20  # bytes
_CLOSE = 1e-5  # relative difference between losses that ranks on different machines computed from the same numbers
_PLANS = 8  # number of sets of tensors whose buckets are kept


class Gradients:
    """Averages the gradients of every backward pass, whatever tensors it reaches."""

    def __init__(self, ranks: ScriptRanks) -> None:
        self._ranks = ranks
        self._shared = WeakIdKeyDictionary()  # tensors and modules whose values from the first rank all ranks have
        self._watched = WeakIdKeyDictionary()
        self._plans: dict[tuple[int, ...], GradientBuckets] = {}
        self._active: GradientBuckets | None = None

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Replace torch's backward passes with these inside the context."""
        backward, grad = torch.autograd.backward, torch.autograd.grad
        self._backward, self._grad = backward, grad
        hooks = [
            register_module_forward_pre_hook(self._share_module),
            register_optimizer_step_post_hook(self._count_step),
        ]
        torch.autograd.backward, torch.autograd.grad = self.backward, self.grad
        try:
            yield
        finally:
            torch.autograd.backward, torch.autograd.grad = backward, grad
            for hook in hooks:
                hook.remove()

    def _count_step(self, *_: Any) -> None:
        self._ranks.steps += 1

    def _share_module(self, module: nn.Module, *_: Any) -> None:
        """Copy the first rank's parameters and buffers when a module is first used."""
        if module in self._shared:
            return
        tensors = [*module.parameters(), *module.buffers()]
        if any(tensor.is_meta or is_lazy(tensor) for tensor in tensors):  # without values yet
            return
        new = [tensor for tensor in tensors if tensor not in self._shared]
        with torch._C.DisableTorchFunctionSubclass():
            self._ranks.share(new)
        for known in (*new, *module.modules()):
            self._shared[known] = True

    def backward(
        self,
        tensors: Any,
        grad_tensors: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        grad_variables: Any = None,
        inputs: Any = None,
    ) -> None:
        """Compute gradients and average them. Replaces `torch.autograd.backward`."""
        roots = [tensors] if isinstance(tensors, Tensor) else list(tensors)
        if create_graph:
            raise DistributedError(
                "backward(create_graph=True) isn't supported with several ranks; use torch.autograd.grad"
            )
        if any(isinstance(getattr(root, "placement", None), Part) for root in roots):
            raise DistributedError(
                "the script calls backward() on values of single items; call it on their sum or mean, or run "
                "the script with --workers 1"
            )
        with torch._C.DisableTorchFunctionSubclass():
            leaves = _leaves(roots)
            if inputs is not None:
                chosen = {id(value) for value in ([inputs] if isinstance(inputs, Tensor) else inputs)}
                leaves = [leaf for leaf in leaves if id(leaf) in chosen]
            self._check_agreement(roots, leaves)
            buckets = self._buckets_for(leaves)
            buckets.begin()
            before, self._active = self._active, buckets
            try:
                self._backward(roots, grad_tensors, retain_graph, create_graph, grad_variables, inputs)
                buckets.complete()
            finally:
                self._active = before
            for bucket in buckets.buckets:
                bucket.put_back()

    def _check_agreement(self, roots: Sequence[Tensor], leaves: Sequence[Tensor]) -> None:
        """Raise a `DistributedError` unless all ranks go backward from the same loss to the same tensors."""
        common = [root for root in roots if not isinstance(root, BatchTensor) and root.numel() == 1]
        losses = [float(root.detach()) for root in common[:4]]
        values = zlib.crc32(b"")
        for leaf in leaves:
            if leaf not in self._shared:
                values = zlib.crc32(leaf.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data, values)
                self._shared[leaf] = True
        sizes = zlib.crc32(repr([tuple(leaf.shape) for leaf in leaves]).encode())
        rows = self._ranks.meet(Doing.GO_BACKWARD, sizes, [float(values), *losses])
        if any(row[0] != rows[0][0] for row in rows):
            raise DistributedError(
                "the ranks' parameters start with different values; set a seed for the script's random numbers"
            )
        for row in rows:
            for ours, theirs in zip(row[1:], rows[0][1:], strict=True):
                if not math.isclose(ours, theirs, rel_tol=_CLOSE, abs_tol=1e-30) and not math.isnan(ours):
                    raise DistributedError(
                        f"the loss is {theirs} on rank 0 and {ours} on another rank, so their batches differ; "
                        "read batches with a DataLoader, or set a seed for the script's random numbers"
                    )

    def _buckets_for(self, leaves: Sequence[Tensor]) -> GradientBuckets:
        """Return the buckets of these tensors. From now on, their gradients are noted."""
        key = tuple(map(id, leaves))
        if key not in self._plans:
            for leaf in leaves:
                if leaf not in self._watched:
                    self._watched[leaf] = True
                    leaf.register_post_accumulate_grad_hook(self._note_gradient)  # type: ignore[no-untyped-call]
            if len(self._plans) >= _PLANS:
                del self._plans[next(iter(self._plans))]
            self._plans[key] = GradientBuckets(
                self._ranks.communicator, list(_cut_into_buckets(leaves)), lambda handle: handle.wait()
            )
        return self._plans[key]

    def _note_gradient(self, tensor: Tensor) -> None:
        if self._active is None:
            return
        if tensor.grad is not None and tensor.grad.is_sparse:
            raise DistributedError(
                "sparse gradients aren't supported with several ranks; create the embedding with sparse=False"
            )
        self._active.note(tensor)

    def grad(
        self,
        outputs: Any,
        inputs: Any,
        grad_outputs: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """Return gradients of any tensors for the whole batch. Replaces `torch.autograd.grad`."""
        outputs = [outputs] if isinstance(outputs, Tensor) else list(outputs)
        inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
        given = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs or [None] * len(outputs))
        with torch._C.DisableTorchFunctionSubclass():
            shares = [_own_share(output, gradient) for output, gradient in zip(outputs, given, strict=True)]
            own = self._grad(outputs, inputs, shares, retain_graph, create_graph, *args, **kwargs)
            self._ranks.meet(Doing.AVERAGE_GRADIENTS, len(own))
            return tuple(
                None if gradient is None else true_gradient(tensor, gradient)
                for tensor, gradient in zip(inputs, own, strict=True)
            )


def _own_share(output: Tensor, gradient: Tensor | None) -> Tensor | None:
    """Return the gradient of an output with which a rank starts, from the true gradient."""
    placement = getattr(output, "placement", RANK_MEAN)
    if not isinstance(placement, Part):
        return gradient
    if gradient is None:
        raise DistributedError(
            "gradients of single items' values need grad_outputs; pass them, or take the sum or mean of the values "
            "first"
        )
    own = gradient if isinstance(gradient, BatchTensor) else own_part(gradient, placement)
    return own * BatchTensor.ranks.size


def _leaves(roots: Sequence[Tensor]) -> list[Tensor]:
    """Return the tensors that a backward pass from the roots reaches, in the same order on all ranks."""
    nodes = [root.grad_fn for root in roots if root.grad_fn is not None]
    seen, leaves = set(nodes), [root for root in roots if root.is_leaf and root.requires_grad]
    for node in nodes:  # the loop extends this list
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                nodes.append(following)
        leaf = getattr(node, "variable", None)
        if leaf is not None and not isinstance(leaf, BatchTensor):
            leaves.append(leaf)
    return leaves


def _cut_into_buckets(leaves: Sequence[Tensor]) -> Iterator[Bucket]:
    """Yield buckets of some megabytes, each with one type on one device."""
    kinds: dict[tuple[torch.device, torch.dtype], list[Tensor]] = {}
    for leaf in leaves:
        kind = leaf.dtype if leaf.dtype in (torch.float32, torch.float64) else torch.float32
        kinds.setdefault((leaf.device, kind), []).append(leaf)
    for (device, kind), tensors in kinds.items():
        room = 0
        members: list[Tensor] = []
        for tensor in tensors:
            members.append(tensor)
            room += tensor.numel()
            if room * kind.itemsize >= _BUCKET:
                yield _new_bucket(members, torch.zeros(room, device=device, dtype=kind))
                room, members = 0, []
        if members:
            yield _new_bucket(members, torch.zeros(room, device=device, dtype=kind))


def _new_bucket(tensors: list[Tensor], buffer: Tensor) -> Bucket:
    parts = torch.split(buffer, [tensor.numel() for tensor in tensors])
    return Bucket(tensors, [part.view(tensor.shape) for part, tensor in zip(parts, tensors, strict=True)], buffer)
