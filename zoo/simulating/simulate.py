"""The commands of `zoo simulate`: the papers' figures, and the training of a net with several machines."""

from __future__ import annotations

from pathlib import Path

from netdsl.distributed.machines import Link, SparkLink
from netdsl.distributed.run import Run
from netdsl.distributed.strategies.settings import parse
from netdsl.distributed.transports.links import link_over
from netdsl.distributed.transports.transport import Transport
from netdsl.solver.events import Notice
from netdsl.storage.cache_folder import cache_folder
from netdsl.training.data_sources import holds_out, with_data
from zoo.names import settings_to_train
from zoo.requests.events import Listen
from zoo.requests.planning import (
    AlexNetRequest,
    CostRequest,
    FigureRequest,
    MethodsRequest,
    SimulateRequest,
    SpeedupRequest,
)
from zoo.requests.request import RequestError, answers
from zoo.simulating.convergence import ConvergenceExperiment
from zoo.simulating.digits import DigitsTask
from zoo.simulating.estimate import SimulatedCluster, SpeedupEstimate, estimate_speedup
from zoo.simulating.figures import DrawnFigure, FigureFolder
from zoo.simulating.methods import MethodComparison
from zoo.simulating.scaling import AlexNetTask, ScalingExperiment
from zoo.simulating.trials import TrialCache, trainings


def _folder(request: FigureRequest, listen: Listen) -> FigureFolder:
    """Return the folder of figures. It is created before any training, so that errors appear early."""
    try:
        request.output.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise RequestError(
            f"{request.output}: the folder can't be created: {problem.strerror}; choose a folder that you can "
            "write to, or free space there",
            "output",
        ) from None
    return FigureFolder(request.output, TrialCache(request.cache or cache_folder() / "simulate"), listen)


def _experiment(request: SpeedupRequest | CostRequest) -> ConvergenceExperiment:
    return ConvergenceExperiment(request.accuracy, request.seeds, DigitsTask(iterations=request.iterations))


@answers(SpeedupRequest)
def speedup(request: SpeedupRequest, listen: Listen) -> DrawnFigure:
    """Draw SparkNet's Figure 3."""
    return _folder(request, listen).speedup(_experiment(request), request.workers, request.taus)


@answers(CostRequest)
def cost(request: CostRequest, listen: Listen) -> DrawnFigure:
    """Draw SparkNet's Figure 4."""
    link = Link(request.bandwidth, request.latency)
    return _folder(request, listen).cost(_experiment(request), request.workers, request.taus, link)


@answers(MethodsRequest)
def methods(request: MethodsRequest, listen: Listen) -> DrawnFigure:
    """Draw the MPCA paper's comparison of four methods."""
    task = DigitsTask(iterations=request.iterations)
    return _folder(request, listen).methods(MethodComparison(request.workers, request.seeds, task))


@answers(AlexNetRequest)
def alexnet(request: AlexNetRequest, listen: Listen) -> DrawnFigure:
    """Draw SparkNet's Figures 5 and 7."""
    experiment = ScalingExperiment(request.seeds, AlexNetTask(iterations=request.iterations))
    return _folder(request, listen).alexnet(experiment, request.accuracy)


@answers(SimulateRequest)
def simulate(request: SimulateRequest, listen: Listen) -> SpeedupEstimate:
    """Simulate the training of a net with several workers and with one."""
    settings, folder = settings_to_train(request.model, request.solver)
    param = settings.param
    if request.data is not None:
        if holds_out(param, request.data, None):
            listen(Notice(f"every tenth item of {request.data} is held out for tests"))
        settings = with_data(settings, request.data, None)
    settings = settings.with_fields(
        max_iter=request.max_iter or param.max_iter,
        test_interval=request.test_interval or param.test_interval,
        # A default seed, so that every simulation can be repeated.
        random_seed=max(0, param.random_seed) if request.seed is None else request.seed,
    )
    cluster = SimulatedCluster(
        _link(request),
        request.step,
        request.stragglers,
        request.slowdown,
        request.jitter,
        request.lost,
        request.lost_after,
    )
    run = Run(settings, parse(request.strategy), request.workers, Path(folder))
    with trainings("simulating", listen) as progress:
        return estimate_speedup(run, cluster, progress, request.accuracy)


def _link(request: SimulateRequest) -> Link:
    if request.spark:
        return SparkLink(request.bandwidth, request.latency)
    transport = Transport.GLOO if request.transport is None else Transport(request.transport)
    return link_over(transport, request.bandwidth, request.latency)
