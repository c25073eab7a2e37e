"""The scores of a run's model over the set that it tests on: of detections and of segmentations, by class."""

from __future__ import annotations

import math
import time
from contextlib import closing
from pathlib import Path

import torch

from netdsl.data.sources.class_names import class_names_of_model
from netdsl.distributed.run import Run
from netdsl.model import load_weights
from netdsl.net.graph import Phase
from netdsl.solver.evaluation import average_batches, gather_scores
from netdsl.solver.opened_nets import opened_data
from netdsl.solver.trainable_net import Compute, ModuleNet
from zoo.report.stated_net import first_test_net
from zoo.score_tables import ScoreTable, score_tables

_LONGEST = 60.0  # seconds; then those batches are enough that there are


def score_test_data(run: Run, weights: Path, items: int) -> tuple[ScoreTable, ...]:
    """The scores over the batches of a test, or over so many items if these are fewer; none if nothing is scored."""
    net = first_test_net(run)
    if net is None:
        return ()
    device = run.device(0)
    device = device if device.type == "cpu" or torch.accelerator.is_available() else torch.device("cpu")
    compute = Compute(device, loading=run.compute.loading)
    with (
        closing(ModuleNet(net, compute, values=run.tables.get(Phase.TEST))) as running,
        gather_scores(running.built) as scores,
    ):
        if not (scores.detections or scores.segmentations):
            return ()
        load_weights(weights, running.built)
        batches = min(run.solver.test_iter[0], math.ceil(items / max(1, running.batch_size)))
        end = time.monotonic() + _LONGEST
        average_batches(running, batches, lambda: time.monotonic() > end)
        classes = next((opened.classes for opened in opened_data(running) if opened.classes), ())
    return score_tables(scores, classes or class_names_of_model(weights))
