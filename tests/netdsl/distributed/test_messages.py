from __future__ import annotations

import json
from pathlib import Path

import pytest

from netdsl.distributed.messages import Told, message_of, told_by
from netdsl.distributed.record import Activity, RoundRecord, Span
from netdsl.errors import DistributedError
from netdsl.solver import events
from netdsl.solver.events import Output

OUTPUTS = (Output("loss", (0.5,), 1.0), Output("prob", (0.25, 0.75)))


@pytest.mark.parametrize(
    "told",
    [
        events.IterationFinished(3),
        events.TrainingProgress(20, 0.5, 0.01, OUTPUTS),
        events.DebugInfo(20, (events.BlobMagnitude("conv1", "0", True, False, 0.5),)),
        events.TestStarted(20, 1),
        events.TestFinished(20, 1, None, OUTPUTS),
        events.TestFinished(20, 1, 0.25, OUTPUTS),
        events.SnapshotSaved(20, Path("a.caffemodel"), Path("a.solverstate")),
        RoundRecord(4, 1, 2.5, 3.5, accuracy={"accuracy": 0.9}, spans=[Span(Activity.COMPUTE, 2.5, 3.0, 2)]),
    ],
    ids=lambda told: type(told).__name__,
)
def test_there_and_back(told: Told) -> None:
    assert told_by(json.loads(json.dumps(message_of(told)))) == told


def test_unknown() -> None:
    with pytest.raises(DistributedError, match=r"something unknown.*Nonsense"):
        told_by({"kind": "Nonsense"})
