"""The ranks that run one script together, and their exchanges: values, parts of batches, and checks that they agree."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from enum import IntEnum

import torch
from torch import Tensor

from netdsl.distributed.communicator import Communicator
from netdsl.errors import DistributedError

FORWARD_LANE = 1  # gradients use lane 0
SMALL = 10  # number of values that can be sent with a meeting
_ADVICE = (
    "all ranks must do the same work, so nothing may depend on the clock, the process or a rank's own random "
    "numbers; run the script with --workers 1, or set a seed for its random numbers"
)


class Doing(IntEnum):
    """The next exchange of a rank with the others."""

    SHARE_WEIGHTS = 0
    AVERAGE_VALUES = 1
    GATHER_BATCH = 2
    GO_BACKWARD = 3
    AVERAGE_GRADIENTS = 4
    END = 5


_SENTENCES = {
    Doing.SHARE_WEIGHTS: "copies weights",
    Doing.AVERAGE_VALUES: "reads a value of the whole batch",
    Doing.GATHER_BATCH: "computes with the whole batch",
    Doing.GO_BACKWARD: "begins a backward pass",
    Doing.AVERAGE_GRADIENTS: "averages gradients",
    Doing.END: "has reached the end of the script",
}


class ScriptRanks:
    """One of the processes that run the script. Every exchange begins with a meeting, which detects differences."""

    def __init__(self, communicator: Communicator) -> None:
        self.communicator, self.rank, self.size = communicator, communicator.rank, communicator.size
        self.steps = 0  # number of optimizer steps
        self.whole: dict[
            str, int
        ] = {}  # the number of calls of each operation that all ranks computed on whole batches
        self._data = 0  # a hash of the items of all batches so far

    def part(self, items: int) -> slice:
        """Return this rank's part of `items` items."""
        return self._part_of_rank(items, self.rank)

    def _part_of_rank(self, items: int, rank: int) -> slice:
        return slice(items * rank // self.size, items * (rank + 1) // self.size)

    def note_batch(self, digest: int) -> None:
        """Note the items of a batch, by their hash."""
        self._data = zlib.crc32(digest.to_bytes(8, "little"), self._data)

    def meet(self, doing: Doing, count: int = 0, values: Sequence[float] = ()) -> list[list[float]]:
        """Return a few values of all ranks, by rank. Raises a `DistributedError` if the ranks don't do the same
        work."""
        random = zlib.crc32(torch.get_rng_state().numpy().data)
        numbers = [float(number) for number in (doing, self.steps, self._data, random, count)]
        padding = [0.0] * (SMALL - len(values))
        rows = self.communicator.gather([*numbers, *values, *padding])
        for rank, row in enumerate(rows):
            if row[: len(numbers)] != rows[0][: len(numbers)]:
                raise DistributedError(f"{_difference(rows[0], rank, row)}; {_ADVICE}")
        return [row[len(numbers) : len(numbers) + len(values)] for row in rows]

    @torch.no_grad()
    def mean(self, tensor: Tensor) -> Tensor:
        """Return the mean of the ranks' values."""
        if tensor.numel() <= SMALL:
            rows = self.meet(Doing.AVERAGE_VALUES, tensor.numel(), tensor.detach().double().flatten().tolist())
            mean = [sum(column) / self.size for column in zip(*rows, strict=True)]
            return torch.tensor(mean, dtype=torch.float64).to(tensor).view(tensor.shape)
        self.meet(Doing.AVERAGE_VALUES, tensor.numel())
        kind = tensor.dtype if tensor.dtype in (torch.float32, torch.float64) else torch.float64
        buffer = tensor.detach().to(kind, memory_format=torch.contiguous_format, copy=True)
        self.communicator.mean(buffer.view(-1), lane=FORWARD_LANE).wait()
        return buffer.to(tensor.dtype)

    @torch.no_grad()
    def gather(self, tensor: Tensor, dim: int, items: int) -> Tensor:
        """Return the whole tensor from the parts of all ranks."""
        parts = [self._part_of_rank(items, rank) for rank in range(self.size)]
        granule = tensor.shape[dim] // (parts[self.rank].stop - parts[self.rank].start)
        own = tensor.detach().transpose(0, dim).contiguous()
        self.meet(Doing.GATHER_BATCH, own[:1].numel())
        whole = own.new_empty((items * granule, *own.shape[1:]))
        for rank, part in enumerate(parts):
            piece = whole[part.start * granule : part.stop * granule]
            if rank == self.rank:
                piece.copy_(own)
            self.communicator.broadcast(_as_bytes(piece), root=rank, lane=FORWARD_LANE).wait()
        return whole.transpose(0, dim).contiguous()

    @torch.no_grad()
    def share(self, tensors: Sequence[Tensor]) -> None:
        """Copy the first rank's values to all ranks."""
        tensors = [tensor for tensor in tensors if tensor.numel()]
        self.meet(Doing.SHARE_WEIGHTS, sum(tensor.numel() for tensor in tensors))
        for tensor in tensors:
            buffer = tensor.detach().contiguous()
            self.communicator.broadcast(_as_bytes(buffer), lane=FORWARD_LANE).wait()
            tensor.detach().copy_(buffer)


def _as_bytes(tensor: Tensor) -> Tensor:
    return tensor.view(-1).view(torch.uint8)


def _difference(first: Sequence[float], rank: int, row: Sequence[float]) -> str:
    """Return how a rank differs from the first one."""
    index = next(index for index, (left, right) in enumerate(zip(first, row, strict=False)) if left != right)
    left, right = first[index], row[index]
    match index:
        case 0:
            return f"rank 0 {_SENTENCES[Doing(int(left))]} while rank {rank} {_SENTENCES[Doing(int(right))]}"
        case 1:
            return (
                f"the optimizers of rank 0 have taken {left:.0f} steps, but those of rank {rank} have taken {right:.0f}"
            )
        case 2:
            return f"the batches of rank 0 and rank {rank} contain different items"
        case 3:
            return f"rank 0 and rank {rank} have drawn different random numbers"
        case _:
            return f"rank 0 exchanges {left:.0f} values, but rank {rank} exchanges {right:.0f}"
