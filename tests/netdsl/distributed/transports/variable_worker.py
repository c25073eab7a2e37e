"""A worker for a test of shared variables: many exchanges, after which the second worker dies while it holds the
lock."""

from __future__ import annotations

import os
import signal
import sys
import time

import torch

from netdsl.distributed.transports.shared_memory import SharedMemoryCommunicator

rank = int(sys.argv[2])
communicator = SharedMemoryCommunicator(int(sys.argv[1]), rank, 2)
buffer = torch.full((300_001,), 8.0 * rank, dtype=torch.float64)
variable = communicator.shared_variable(torch.full_like(buffer, 2.0 + rank))  # it begins with the first worker's values
communicator.barrier()
for turn in range(100):
    handle = variable.exchange(buffer, 0.25 if turn % 2 else 0.5)
handle.wait()
found = torch.empty_like(buffer)
communicator.barrier()
variable.read(found)
communicator.mean(buffer).wait()
total = found + 2 * buffer
print(total.min().item(), total.max().item(), flush=True)
communicator.barrier()
if rank:
    with variable._values._locked("test"):
        os.kill(os.getpid(), signal.SIGKILL)
while variable._values._holder[0] != 1:
    time.sleep(0.001)
variable.write(buffer)
variable.read(found)
print(torch.equal(found, buffer), flush=True)
