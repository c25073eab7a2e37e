"""One of the ranks that run programs together. Its arguments are its number, the number of ranks, their memory and the
programs' names."""

from __future__ import annotations

import json
import sys
from contextlib import closing

import torch

from netdsl.distributed.transports.shared_memory import SharedMemoryCommunicator
from netdsl.errors import DistributedError
from netdsl.transparent.ranks import ScriptRanks
from netdsl.transparent.script import transparent
from tests.netdsl.transparent import programs, refused_programs


def main() -> None:
    rank, size, descriptor = map(int, sys.argv[1:4])
    refused = {name: program for name, (program, _) in refused_programs.PROGRAMS.items()}
    torch.set_num_threads(1)
    results: dict[str, object] = {}
    with closing(SharedMemoryCommunicator(descriptor, rank, size)) as communicator:
        for name in sys.argv[4:]:
            ranks = ScriptRanks(communicator)
            with transparent(ranks):
                torch.manual_seed(0)
                try:
                    results[name] = {"curve": (programs.PROGRAMS | refused)[name](), "whole": sorted(ranks.whole)}
                except DistributedError as problem:
                    results[name] = {"refused": str(problem)}
        communicator.barrier()
    sys.stdout.write(json.dumps(results))


if __name__ == "__main__":
    main()
