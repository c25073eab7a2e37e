"""How buffers move between workers: shared memory, gloo, NCCL, and a relay at the driver."""
