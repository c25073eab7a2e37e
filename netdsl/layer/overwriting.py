"""What lies in Caffe's memory when a layer goes backward: what it reads there, and what others leave of that."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto

import torch
from torch import Tensor

from netdsl.layer.core import Layer


class Reads(Enum):
    """How much of a blob's data a layer reads."""

    NOTHING = auto()
    SIGNS = auto()  # which values are positive, where a gradient comes to them
    PASSED = auto()  # values to which a gradient comes
    VALUES = auto()


class ReadsInBackward(Layer):
    """A layer whose backward, in Caffe, reads bottoms or tops, over which layers in place may have written by then.

    A layer that keeps what it needs in memory of its own isn't one. One in place finds its top where its bottom was; if
    that does as well, as for a ReLU, it reads its top. Labels don't count.
    """

    def reads_bottoms(self) -> Reads:
        """What its backward reads of bottoms."""
        return Reads.NOTHING

    def reads_tops(self) -> Reads:
        """What its backward reads of tops."""
        return Reads.NOTHING

    def is_in_place(self) -> bool:
        """Whether its first top is its first bottom."""
        return self.layer.bottom[:1] == self.layer.top[:1]

    def loses_gradient(self) -> bool:
        """Whether its backward, if it is in place, writes over its top's gradient before it has read that."""
        return False

    def caffe_gradients(
        self, seen: Sequence[Tensor], bottoms: Sequence[Tensor], tops: Sequence[Tensor], gradients: Sequence[Tensor]
    ) -> Sequence[Tensor | None]:
        """Caffe's gradients of the bottoms, and after them of the blobs, from those of the tops.

        `seen` are the bottoms that forward saw; what a layer keeps in memory of its own comes from them. `bottoms` and
        `tops` are what lies in their memory now. A type that reads bottoms only needs no rule of its own: its gradients
        are those of `forward` for the bottoms that lie there now.
        """
        places = [bottom.detach().requires_grad_(bottom.is_floating_point()) for bottom in bottoms]
        with torch.enable_grad():
            made = self(*places)
        sources = [*places, *map(self.owner_of, self.blob_names())]
        learning = [source for source in sources if source.requires_grad]
        found = iter(
            torch.autograd.grad(made if isinstance(made, tuple) else (made,), learning, gradients, allow_unused=True)
        )
        return [next(found) if source.requires_grad else None for source in sources]


class KeepsSigns(Layer):
    """A layer whose top is positive exactly where its bottom is, but for places through which no gradient passes."""

    def keeps_signs(self) -> bool:
        """Whether it does so with its settings."""
        return True

    def keeps_passed(self) -> bool:
        """Whether all values through which a gradient passes stay as they are."""
        return False


class SharesMemory(Layer):
    """A layer whose tops lie, in Caffe, in the memory of its bottom."""

    def shares_memory(self) -> bool:
        """Whether they do with its settings."""
        return True
