"""A worker for a test of the centre: many exchanges, after which the second one dies while nobody else may go there."""

from __future__ import annotations

import os
import signal
import sys
import time

import torch

from netdsl.distributed.transports.shared_memory.communicator import SharedMemory

rank = int(sys.argv[2])
communicator = SharedMemory(int(sys.argv[1]), rank, 2, deadline=60.0)
buffer = torch.full((300_001,), 8.0 * rank, dtype=torch.float64)
centre = communicator.centre(torch.full_like(buffer, 2.0 + rank))  # it begins as the first one's
communicator.barrier()
for turn in range(100):
    centre.exchange(buffer, 0.25 if turn % 2 else 0.5)
found = torch.empty_like(buffer)
communicator.barrier()
centre.read(found)
communicator.mean(buffer).wait()
total = found + 2 * buffer
print(total.min().item(), total.max().item(), flush=True)
communicator.barrier()
if rank:
    with centre._alone("test", 0):
        os.kill(os.getpid(), signal.SIGKILL)
while centre._holder[0] != 1:
    time.sleep(0.001)
centre.write(buffer)
centre.read(found)
print(torch.equal(found, buffer), flush=True)
