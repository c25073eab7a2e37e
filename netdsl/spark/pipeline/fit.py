"""From settings and data to a trained net: a run in a folder that all machines share."""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from threading import Lock

from pyspark.sql import DataFrame, SparkSession

from caffe_proto import caffe_pb2 as pb
from caffe_proto.upgrade import upgrade_net
from netdsl.checking.shape_guesses import assume
from netdsl.distributed.chronicle import EVENTS, chronicle
from netdsl.distributed.history import Moment, moments_of
from netdsl.distributed.plan import Plan
from netdsl.distributed.run_worker import MODEL
from netdsl.errors import DistributedError
from netdsl.layers import LAYERS
from netdsl.net.feed import Feeds
from netdsl.net.graph import Phase, connect, filtered
from netdsl.solver.nets import train_net
from netdsl.spark.cluster import Cluster
from netdsl.spark.pipeline.fit_request import Data, FitRequest, plan_fit
from netdsl.spark.workers.preflight import check
from netdsl.spark.workers.train import carry_out
from netdsl.spark.workers.transport import Transport

FOLDER = "spark.netdsl.folder"  # the setting of a cluster that says where runs without a folder of their own go

_TAKING_TURNS = Lock()  # runs, since each wants all the slots
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Trained:
    """A net, a file with its weights, which is there for a while, and what training was like."""

    net: pb.NetParameter
    weights: Path
    history: tuple[Moment, ...]


@contextmanager
def fit_net(wish: FitRequest, data: Data) -> Iterator[Trained]:
    """Do what is wished; a run that was left in the folder goes on."""
    session = data.sparkSession if isinstance(data, DataFrame) else SparkSession.builder.getOrCreate()
    cluster = Cluster(session)
    with _folder_of(wish, session, cluster) as run:
        if (run / MODEL).exists():
            raise DistributedError(f"{run}: has a run that is finished; name another folder for a new one")
        with _TAKING_TURNS:
            cluster.await_slots(wish.workers or 1)
            size = wish.workers or cluster.slots()
            transport = check(cluster, run, size, wish.transport, _log.warning)  # before a query, which may take long
            plan = plan_fit(wish, data, run, size, cluster.task_cores)
            net = _told(plan)
            _begin(run, plan, seeded=wish.param.random_seed >= 0)
            _train(run, cluster, transport)
        yield Trained(net, run / MODEL, moments_of(run / EVENTS))


@contextmanager
def _folder_of(wish: FitRequest, session: SparkSession, cluster: Cluster) -> Iterator[Path]:
    """The folder that is wished; or a new one, which is gone afterwards."""
    if wish.folder is not None:
        run = wish.folder.resolve()
        try:
            run.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise DistributedError(f"{run}: can't be made: {problem.strerror}") from None
        yield run
        return
    shared = session.conf.get(FOLDER, "")
    if not shared and not cluster.setting("spark.master", "").startswith("local"):
        raise DistributedError(
            "data and rounds are kept in a folder that all machines share; name one in runFolder, or for all runs in "
            f"Spark's setting {FOLDER}"
        )
    run = Path(shared or tempfile.gettempdir(), f"netdsl-{token_hex(8)}")
    try:
        run.mkdir(parents=True, mode=0o777 if shared else 0o700)
        yield run
    finally:
        shutil.rmtree(run, ignore_errors=True)


def _told(plan: Plan) -> pb.NetParameter:
    """The net, with the shapes of its first batch. Data that don't fit the net are an error already here."""
    param, training = plan.param, train_net(plan.param)
    net = upgrade_net(param.net_param if param.HasField("net_param") else param.train_net_param).message
    graph = connect(filtered(training, training.state))
    with closing(Feeds.open(graph, table=plan.tables[Phase.TRAIN])) as feeds:
        assume(net, {graph.blobs[edge]: shape[1:] for edge, shape in feeds.input_shapes.items()}, LAYERS)
    return net


def _begin(run: Path, plan: Plan, *, seeded: bool) -> None:
    """Save the plan, unless it is there: then this one must be the same."""
    if not (run / "run.json").exists():
        plan.save(run)
        return
    kept = Plan.load(run)
    if not seeded:
        plan.param.random_seed = kept.param.random_seed
    if replace(plan, folder=kept.folder) != kept:
        raise DistributedError(f"{run}: has a run with other settings; name another folder")


def _train(run: Path, cluster: Cluster, transport: Transport) -> None:
    def restarted(generation: int, why: str) -> None:
        _log.warning("%s; all workers begin again from the last round that was saved", why)

    with chronicle(run) as write:
        carry_out(run, cluster, transport, told=write, restarted=restarted)
