"""A worker for torchrun: `external_worker.py FOLDER ...` trains the runs in folders, one after the other."""

from __future__ import annotations

import sys
from pathlib import Path

from netdsl.distributed.launchers.external import rendezvous_of_workers, train_as_worker
from netdsl.distributed.supervisor import train

if __name__ == "__main__":
    for folder in map(Path, sys.argv[1:]):
        train_as_worker(rendezvous_of_workers(folder), lambda launcher, folder=folder: train(folder, launcher))
