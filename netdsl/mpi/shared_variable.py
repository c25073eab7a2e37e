"""The values of a variable in the first rank's memory, which others read and change by one-sided operations."""

from __future__ import annotations

import threading

import numpy as np
from torch import Tensor

from netdsl.mpi.group import MpiGroup, pieces
from netdsl.mpi.library import mpi_errors

_DOING = "the shared variable"
_NAP = 0.001  # seconds between two looks at what others want from the first rank


class MpiValues:
    """A window of MPI's into the first rank's memory. Its operations on single values are atomic."""

    def __init__(self, group: MpiGroup, like: Tensor) -> None:
        self._group, self._left = group, threading.Event()
        size = like.nbytes if group.rank == 0 else 0
        self._window = group.mpi.Win.Allocate(size, like.itemsize, comm=group.communicator)
        self._window.Lock_all()
        self._helper = threading.Thread(target=self._help, name="shared variable", daemon=True)
        if not group.is_on_one_machine() and group.rank == 0:
            self._helper.start()

    def read(self, values: Tensor) -> None:
        """Fill a tensor with the variable's values."""
        array = values.numpy()
        nothing, start = np.empty(0, array.dtype), 0
        with mpi_errors(_DOING):
            for piece in pieces(array):
                self._window.Get_accumulate(nothing, piece, 0, [start, piece.size], self._group.mpi.NO_OP)
                start += piece.size
            self._window.Flush(0)

    def write(self, values: Tensor) -> None:
        """Set the variable to a tensor's values."""
        self._change(values, self._group.mpi.REPLACE)

    def add(self, values: Tensor) -> None:
        """Add a tensor's values to the variable's."""
        self._change(values, self._group.mpi.SUM)

    def leave(self) -> None:
        """Wait until nobody needs the variable any more, and free it."""
        self._group.barrier(_DOING)
        self._left.set()
        if self._helper.is_alive():
            self._helper.join()
        with mpi_errors(_DOING):
            self._window.Unlock_all()
            self._window.Free()
        self._group.close()

    def _change(self, values: Tensor, operation: object) -> None:
        start = 0
        with mpi_errors(_DOING):
            for piece in pieces(values.numpy()):
                self._window.Accumulate(piece, 0, [start, piece.size], operation)
                start += piece.size
            self._window.Flush(0)

    def _help(self) -> None:
        """Let MPI get on in the first rank, without which some networks don't move what others ask for."""
        while not self._left.wait(_NAP):
            self._group.communicator.Iprobe()
