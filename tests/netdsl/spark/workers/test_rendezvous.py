from __future__ import annotations

import threading
from contextlib import closing

import pytest
import torch

from netdsl.errors import PeerLostError
from netdsl.spark.workers.rendezvous import met
from netdsl.spark.workers.serving import serving
from netdsl.spark.workers.transport import Transport
from tests.netdsl.spark.conftest import Here


@pytest.mark.parametrize("transport", Transport)
def test_workers_meet_and_exchange(transport, tmp_path, monkeypatch):
    monkeypatch.delenv("GLOO_SOCKET_IFNAME", raising=False)
    found = {}

    def work(place, rank):
        with closing(met(place, rank, place.host, 10)) as group:
            buffer = torch.tensor([3.0, 4.0 + rank, 5.0])
            group.mean(buffer).wait()
            found[rank] = buffer.tolist()
            group.barrier()

    with serving(Here(), tmp_path, 2, transport) as (_, place):
        threads = [threading.Thread(target=work, args=(place, rank)) for rank in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == {0: [3.0, 4.5, 5.0], 1: [3.0, 4.5, 5.0]}


@pytest.mark.parametrize("transport", Transport)
def test_nobody_meets_where_nobody_serves(transport, tmp_path):
    with serving(Here(), tmp_path, 1, transport) as (_, place):
        pass
    with pytest.raises(PeerLostError, match=r"127\.0\.0\.1:\d+"):
        met(place, 0, place.host, 1)
