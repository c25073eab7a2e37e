"""SparkNet's Figures 5 and 7: the accuracy of AlexNet over time, by the number of workers and by tau."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from netdsl.distributed.machines import Link, Machines, SparkLink
from netdsl.distributed.run import Run
from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.solver.settings import SolverSettings
from zoo.simulating.digits import digits_settings, whole_rounds
from zoo.simulating.trials import ProgressCallback, RepeatedTrial, Trial, TrialCache, measure_step, run_trials

_ALEXNET = """
name: "small AlexNet"
layer {
  name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
  convolution_param { num_output: 12 kernel_size: 3 pad: 1 weight_filler { type: "msra" } }
}
layer { name: "relu1" type: "ReLU" bottom: "conv1" top: "conv1" }
layer { name: "norm1" type: "LRN" bottom: "conv1" top: "norm1" lrn_param { alpha: 0.0001 beta: 0.75 } }
layer {
  name: "conv2" type: "Convolution" bottom: "norm1" top: "conv2"
  convolution_param { num_output: 32 kernel_size: 3 pad: 1 group: 2 weight_filler { type: "msra" } }
}
layer { name: "relu2" type: "ReLU" bottom: "conv2" top: "conv2" }
layer { name: "norm2" type: "LRN" bottom: "conv2" top: "norm2" lrn_param { alpha: 0.0001 beta: 0.75 } }
layer { name: "pool2" type: "Pooling" bottom: "norm2" top: "pool2" pooling_param { kernel_size: 3 stride: 2 } }
layer {
  name: "conv3" type: "Convolution" bottom: "pool2" top: "conv3"
  convolution_param { num_output: 48 kernel_size: 3 pad: 1 weight_filler { type: "msra" } }
}
layer { name: "relu3" type: "ReLU" bottom: "conv3" top: "conv3" }
layer {
  name: "conv4" type: "Convolution" bottom: "conv3" top: "conv4"
  convolution_param { num_output: 48 kernel_size: 3 pad: 1 group: 2 weight_filler { type: "msra" } }
}
layer { name: "relu4" type: "ReLU" bottom: "conv4" top: "conv4" }
layer {
  name: "conv5" type: "Convolution" bottom: "conv4" top: "conv5"
  convolution_param { num_output: 32 kernel_size: 3 pad: 1 group: 2 weight_filler { type: "msra" } }
}
layer { name: "relu5" type: "ReLU" bottom: "conv5" top: "conv5" }
layer { name: "pool5" type: "Pooling" bottom: "conv5" top: "pool5" pooling_param { kernel_size: 3 stride: 2 } }
layer {
  name: "fc6" type: "InnerProduct" bottom: "pool5" top: "fc6"
  inner_product_param { num_output: 128 weight_filler { type: "msra" } }
}
layer { name: "relu6" type: "ReLU" bottom: "fc6" top: "fc6" }
layer { name: "drop6" type: "Dropout" bottom: "fc6" top: "fc6" }
layer {
  name: "fc7" type: "InnerProduct" bottom: "fc6" top: "fc7"
  inner_product_param { num_output: 128 weight_filler { type: "msra" } }
}
layer { name: "relu7" type: "ReLU" bottom: "fc7" top: "fc7" }
layer { name: "drop7" type: "Dropout" bottom: "fc7" top: "fc7" }
layer {
  name: "fc8" type: "InnerProduct" bottom: "fc7" top: "fc8"
  inner_product_param { num_output: 10 weight_filler { type: "msra" } }
}
layer {
  name: "accuracy" type: "Accuracy" bottom: "fc8" bottom: "label" top: "accuracy" include { phase: TEST }
}
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc8" bottom: "label" top: "loss" }
"""

BYTES = 243_860_896  # bytes of AlexNet's blobs
# Ten gigabit; exchanging five AlexNets takes 20 seconds, as in the paper.
CLUSTER = SparkLink(1.25e9, codec=104e6, depth=1)
_STEP = 2.0  # seconds of an iteration in the paper
_TEST_INTERVAL = 50
_TAU = 50
BY_WORKERS = ((1, _TAU), (3, _TAU), (5, _TAU), (10, _TAU))  # Figure 5: workers and tau
BY_TAU = ((5, 20), (5, _TAU), (5, 100))  # Figure 7


@dataclass(frozen=True)
class AlexNetTask:
    """The settings of training: AlexNet's momentum and weight decay, and batches small enough to keep its steps
    noisy."""

    batch: int = 4
    rate: float = 0.003
    iterations: int = 1500

    def settings(self, seed: int, test_interval: int) -> SolverSettings:
        """Return the settings of a solver, including the net."""
        settings = digits_settings(_ALEXNET, self.batch, self.rate, self.iterations, seed, test_interval)
        return settings.with_fields(momentum=0.9, weight_decay=0.0005)


@dataclass(frozen=True)
class ScalingExperiment:
    """The settings of the experiment: the number of random seeds, and the task."""

    seeds: int = 3
    task: AlexNetTask = field(default_factory=AlexNetTask)

    def trials(self, workers: int, tau: int, size: int) -> list[Trial]:
        """Return a trial for each seed. Models of `size` bytes take as long to exchange as AlexNet."""
        scale = size / BYTES
        spark = SparkLink(CLUSTER.bandwidth * scale, codec=CLUSTER.codec * scale, depth=CLUSTER.depth)
        plans = [
            Run(self.task.settings(seed, whole_rounds(_TEST_INTERVAL, tau)), ModelAveraging(tau), workers)
            for seed in range(1, self.seeds + 1)
        ]
        return [Trial(plan, Link() if workers == 1 else spark, Machines(_STEP, workers)) for plan in plans]


@dataclass(frozen=True)
class ScalingResult(RepeatedTrial):
    """The outcomes of a number of workers that average after every `tau` iterations."""

    workers: int
    tau: int


def scale_alexnet(
    experiment: ScalingExperiment, report_progress: ProgressCallback, cache: TrialCache | None = None
) -> list[ScalingResult]:
    """Train with every number of workers and every tau."""
    size = measure_step(Run(experiment.task.settings(1, 1), ModelAveraging(), 1)).bytes
    cases = tuple(dict.fromkeys(BY_WORKERS + BY_TAU))
    trials = {case: experiment.trials(*case, size) for case in cases}
    outcomes = iter(run_trials([trial for case in cases for trial in trials[case]], report_progress, cache))
    return [
        ScalingResult(workers, tau, outcomes=tuple(next(outcomes) for _ in trials[workers, tau]))
        for workers, tau in cases
    ]


def select(results: Sequence[ScalingResult], cases: Sequence[tuple[int, int]]) -> list[ScalingResult]:
    """Return the results of some cases, in the given order."""
    by_case = {(result.workers, result.tau): result for result in results}
    return [by_case[case] for case in cases]
