"""A rank for mpiexec: `mpi_rank.py FOLDER ...` trains the runs in folders, one after the other."""

from __future__ import annotations

import sys
from pathlib import Path

from netdsl.distributed.supervisor import train
from netdsl.mpi.launcher import train_as_rank

if __name__ == "__main__":
    for folder in map(Path, sys.argv[1:]):
        train_as_rank(lambda launcher, folder=folder: train(folder, launcher))
