"""The ranks that run one script together, and what they exchange: values, parts of batches, and whether they agree."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from enum import IntEnum

import torch
from torch import Tensor

from netdsl.distributed.communicator import Communicator
from netdsl.errors import DistributedError

FORWARD_LANE = 1  # gradients have lane 0
SMALL = 10  # values that go along with a meeting
_ADVICE = (
    "all ranks must do the same, so nothing may follow from the clock, the process or random numbers of its own; "
    "run the script with --workers 1, or give its random numbers a seed"
)


class Doing(IntEnum):
    """What a rank is about to do with the others."""

    SHARE_WEIGHTS = 0
    AVERAGE_VALUES = 1
    GATHER_BATCH = 2
    GO_BACKWARD = 3
    AVERAGE_GRADIENTS = 4
    END = 5


_SENTENCES = {
    Doing.SHARE_WEIGHTS: "takes over weights",
    Doing.AVERAGE_VALUES: "reads a value of the whole batch",
    Doing.GATHER_BATCH: "computes with the whole batch",
    Doing.GO_BACKWARD: "begins a backward pass",
    Doing.AVERAGE_GRADIENTS: "averages gradients",
    Doing.END: "has come to the end of the script",
}


class ScriptRanks:
    """A process among those that run the script. Every exchange begins with a meeting, which notes differences."""

    def __init__(self, communicator: Communicator) -> None:
        self.communicator, self.rank, self.size = communicator, communicator.rank, communicator.size
        self.steps = 0  # of optimisers
        self.whole: dict[str, int] = {}  # operations that all ranks computed on whole batches, and how often
        self._data = 0  # a digest of the items of all batches until now

    def part(self, items: int) -> slice:
        """Return the part of this many items that is this rank's."""
        return self._part_of_rank(items, self.rank)

    def _part_of_rank(self, items: int, rank: int) -> slice:
        return slice(items * rank // self.size, items * (rank + 1) // self.size)

    def note_batch(self, digest: int) -> None:
        """Note which items a batch has."""
        self._data = zlib.crc32(digest.to_bytes(8, "little"), self._data)

    def meet(self, doing: Doing, count: int = 0, values: Sequence[float] = ()) -> list[list[float]]:
        """Everybody's few values, by rank; an error if the ranks don't do the same."""
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
        """Return the mean of what all ranks have."""
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
        """Return the whole of what each rank has its part of."""
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
        """Take over the first rank's values."""
        tensors = [tensor for tensor in tensors if tensor.numel()]
        self.meet(Doing.SHARE_WEIGHTS, sum(tensor.numel() for tensor in tensors))
        for tensor in tensors:
            buffer = tensor.detach().contiguous()
            self.communicator.broadcast(_as_bytes(buffer), lane=FORWARD_LANE).wait()
            tensor.detach().copy_(buffer)


def _as_bytes(tensor: Tensor) -> Tensor:
    return tensor.view(-1).view(torch.uint8)


def _difference(first: Sequence[float], rank: int, row: Sequence[float]) -> str:
    """Return what one rank does otherwise than the first."""
    index = next(index for index, (left, right) in enumerate(zip(first, row, strict=False)) if left != right)
    left, right = first[index], row[index]
    match index:
        case 0:
            return f"rank 0 {_SENTENCES[Doing(int(left))]} while rank {rank} {_SENTENCES[Doing(int(right))]}"
        case 1:
            return f"the optimisers of rank 0 have taken {left:.0f} steps, and those of rank {rank} {right:.0f}"
        case 2:
            return f"the batches of rank 0 and rank {rank} are of different items"
        case 3:
            return f"rank 0 and rank {rank} have drawn different random numbers"
        case _:
            return f"rank 0 exchanges {left:.0f} values, and rank {rank} {right:.0f}"
