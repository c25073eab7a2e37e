from __future__ import annotations

import torch

from netdsl.distributed.transports.transport import Transport, choose_transport

CPU = torch.device("cpu")


def test_the_best_transport_follows_from_devices_and_machines():
    gpus = [torch.device("cuda", number) for number in range(2)]
    assert choose_transport([CPU, CPU], machines=1) is Transport.SHARED_MEMORY
    assert choose_transport([CPU, CPU], machines=2) is Transport.GLOO
    assert choose_transport(gpus, machines=1) is choose_transport(gpus, machines=2) is Transport.NCCL
    assert choose_transport([gpus[0], gpus[0]], machines=1) is Transport.SHARED_MEMORY
    assert choose_transport([gpus[0], CPU], machines=2) is Transport.GLOO
