"""NetRDD: nets in Spark's executors for a program's own training loop, as in SparkNet's third listing."""

from __future__ import annotations

import logging
import shutil
import weakref
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto.storage import atomic_path
from netdsl.allowed_modules import PYTHON_LAYERS
from netdsl.closing import ClosedAtEnd
from netdsl.data.batches.user_data import AnyData, is_of_spark, user_data_of
from netdsl.data.tables.table import Table
from netdsl.distributed.journal import ROUNDS, Journal
from netdsl.distributed.launcher import WorkerSpec
from netdsl.distributed.run import Run
from netdsl.distributed.run_files import RunFiles
from netdsl.distributed.run_log import Moment
from netdsl.distributed.supervisor import RETRIES
from netdsl.distributed.transports.weighted_mean import add_up, scales_of
from netdsl.errors import DataError, DistributedError, NetError
from netdsl.model.collection import WeightCollection
from netdsl.model.model import Model
from netdsl.model.weights.files import array_of, copy_weights, learned_layers
from netdsl.model.weights.match import LoadReport, Weights
from netdsl.net.graph import Phase
from netdsl.plugins import plugin_places
from netdsl.solver.flat import FlatWeights
from netdsl.solver.length import Epoch
from netdsl.solver.settings import SolverSettings, seed
from netdsl.solver.trainable_net import Compute, ModuleNet
from netdsl.spark.backend import new_folder
from netdsl.spark.cluster import Cluster, reason_of
from netdsl.spark.kinds import kind_of
from netdsl.spark.net_rows import check_rows, inputs_from_rows, session_of, store_inputs
from netdsl.spark.preflight import listening_server
from netdsl.spark.turns import WEIGHTS, TurnResult, WorkersTurn
from netdsl.training.callbacks import History
from netdsl.training.net import Net

T = TypeVar("T")

_log = logging.getLogger(__name__)


class NetRDD(ClosedAtEnd):
    """Nets in Spark's executors, one for each worker, with their solvers and their places in the data.

    A program's own loop calls `train`, `map` and `average`. Each `train` or `map` is a job with a task for each worker.
    Between two jobs Spark is free for others, and every worker's state is saved. If an executor is lost, Spark
    therefore runs its task again, with the same bits. A call that fails leaves all workers unchanged.

    The rows are one sequence, which is shuffled again in each epoch. Each of K workers reads every K-th row, as with
    `backend="spark"`. Use it as a context manager, or call `close`, to remove the stored rows and states.
    """

    def __init__(
        self,
        net: Net,
        data: AnyData,
        param: pb.SolverParameter,
        *,
        workers: int | None,
        bindings: Mapping[str, str],
        device: str | None,
    ) -> None:
        session = session_of(data)
        context = kind_of(session).context("net.on(...) trains with an RDD")
        self._cluster = Cluster(session)
        self._cluster.await_slots(1)
        self._net, self._form, self._device = net, net.form, device
        self.workers = self._cluster.slots() if workers is None else workers
        self.iteration, self._turns, self._given = 0, 0, ""
        self._moments = list[Moment]()
        self._folder = new_folder(session)
        self._removal = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        try:
            run = self._begin_run(data, param, bindings)
            self._journal = Journal(self._folder / ROUNDS, run.keeping)
            self._files = RunFiles(self._folder, self._journal, None, run.named_files())
            self._addresses = tuple(run.copies().values())
            self._iter_size = param.iter_size
            self._open_layout(run)
            self._flat = FlatWeights(self._built)  # the same layout as the workers' weights
            # This RDD is cached, so Spark prefers the executor that ran a worker before.
            self._places = context.parallelize([*range(self.workers)], self.workers).cache()
            self.set_weights(net.get_weights())
        except BaseException:
            self.close()
            raise

    def _begin_run(self, data: AnyData, param: pb.SolverParameter, bindings: Mapping[str, str]) -> Run:
        form = self._form
        param.train_state.level = form.level
        param.train_state.stage.extend([form.stages] if isinstance(form.stages, str) else form.stages)
        settings = SolverSettings(param, net=Model(form.net)).without_tests().without("snapshot", "display")
        run = Run(
            settings,
            workers=self.workers,
            compute=Compute(caffe_gradients=form.caffe_gradients),
            tables={Phase.TRAIN: self._table_of(data, settings.trained, bindings)},
        ).settled()
        run.save(self._folder)
        return run

    def _open_layout(self, run: Run) -> None:
        """Build the net as the workers do, and find the length of an epoch."""
        with torch.random.fork_rng(devices=[]):
            seed(run.solver.param)
            opened = ModuleNet.open(run.solver.trained, values=run.tables[Phase.TRAIN])
        with closing(opened):
            assert opened.feeds is not None
            self._built, self._epoch_batches = opened.built, opened.feeds.epoch_batches()

    def _table_of(self, data: AnyData, model: Model, bindings: Mapping[str, str]) -> Table:
        """Return the data as a table. Spark's rows are stored in the folder, from which workers read or fetch them."""
        if is_of_spark(data):
            check_rows(data)
            stored = store_inputs(inputs_from_rows(model, bindings), data, self._folder / "data" / "train")  # type: ignore[arg-type]  # checked
            return Table(stored.source, shuffle=True)
        table = user_data_of(data, training=True)
        if not isinstance(table, Table):
            raise DataError(
                f"a {type(data).__name__} is only in this process; give an RDD or a DataFrame of Spark's, or a "
                "Table or an address that all machines can read"
            )
        return replace(table, columns=bindings or table.columns)

    def __repr__(self) -> str:
        count = f"{self.workers} worker{'' if self.workers == 1 else 's'}"
        return f"NetRDD('{self._form.net.name}', {count}, iteration {self.iteration})"

    @property
    def history(self) -> History:
        """The mean loss of the workers after each call of `train`, as a table."""
        return History(self._moments)

    def train(self, steps: int | None = None, *, epochs: float | None = None) -> float:
        """Train every net separately for some iterations. Returns the mean of their last losses.

        In an epoch all workers together read every row once. The number of iterations in `epochs` is rounded up.
        """
        if (steps is None) == (epochs is None):
            raise NetError(
                "the length of the training isn't clear; give either steps, as in steps=50, or epochs, as in epochs=1"
            )
        count = self._iterations_in(epochs) if epochs is not None else steps
        assert count is not None
        losses = self.map(partial(_train, steps=count))
        loss = sum(losses) / len(losses)
        self._moments.append(Moment(self.iteration, loss))
        return loss

    def _iterations_in(self, epochs: float) -> int:
        if self._epoch_batches is None:
            raise DataError(
                "the number of items in these data is unknown, so epochs can't be counted; give the number of "
                "iterations, as in steps=50"
            )
        epoch = Epoch.of(self._epoch_batches, iter_size=self._iter_size, batches_at_once=self.workers)
        return epoch.iterations_of(epochs)

    def map(self, function: Callable[[Net], T]) -> list[T]:
        """Return the results of a function for every worker's net. The function may train and change the net.

        Spark serialises the function and its results.
        """
        results = sorted(self._take_turn(function), key=lambda result: result.rank)
        for result in results:
            if result.problem:
                problem = DistributedError(f"worker {result.rank}: {result.problem}")
                if result.trace:
                    problem.add_note(result.trace)
                raise problem
        all_ranks = list(range(self.workers))
        self._journal.complete(self._turns + 1, all_ranks, all_ranks, None)
        self._turns, self._given = self._turns + 1, ""
        self.iteration = max(result.iteration for result in results)
        return [result.value for result in results]

    def _take_turn(self, function: Callable[[Net], object]) -> list[TurnResult]:
        """Run the job, and serve the folder to workers that don't see it. Spark retries lost tasks, except where it
        runs in one process, so this method retries them there."""
        if not self._removal.alive:
            raise DistributedError("these workers are closed; create others with net.on(...)")
        with listening_server(self._cluster, self.workers, self._files.serve) as server:
            spec = WorkerSpec(
                str(self._folder),
                str(Path.cwd()),
                self.workers,
                server.address(),
                python=PYTHON_LAYERS.places(),
                plugins=plugin_places(),
                addresses=self._addresses,
            )
            turn = WorkersTurn(spec, self._form, self._turns, self._given, function, self._device)
            for attempt in range(RETRIES + 1):
                try:
                    return self._places.mapPartitions(turn.take).collect()
                except Exception as problem:
                    reason = reason_of(problem)
                    if not hasattr(problem, "java_exception") or attempt == RETRIES:
                        raise DistributedError(
                            f"the workers' job failed: {reason}; look for the cause in the executors' logs, on "
                            "Spark's page under Executors"
                        ) from problem
                    _log.warning("%s; all workers repeat this turn", reason)
        raise AssertionError

    def weights(self) -> list[WeightCollection]:
        """Return a copy of every worker's weights."""
        return self.map(Net.get_weights)

    def average(self) -> WeightCollection:
        """Set all workers, and the net that created them, to the mean of their weights, and return it.

        Solvers keep their histories, such as momentum. The mean has the same bits as in the strategy `averaging`.
        """
        if not self._given:  # otherwise all have the same weights
            entry = self._journal.after(self._turns)
            assert entry is not None
            parts = [self._journal.read_tensors(entry, rank, [WEIGHTS])[WEIGHTS] for rank in range(self.workers)]
            mean = np.empty_like(parts[0].numpy())
            add_up([part.numpy() for part in parts], scales_of([1.0] * self.workers, "the mean of all workers"), mean)
            with torch.no_grad():
                self._flat.buffer.copy_(torch.from_numpy(mean))
            layers = learned_layers(self._built)
            self._net.set_weights({name: list(map(array_of, layer.blob_tensors())) for name, layer in layers.items()})
            self._give()
        return self._net.get_weights()

    def set_weights(self, weights: Weights, *, partial: bool = False) -> LoadReport:
        """Set all workers, and the net that created them, to these weights.

        Weights are copied into layers of the same names. With `partial`, layers with other shapes are skipped.
        """
        report = self._net.set_weights(weights, partial=partial)
        copy_weights(self._built, weights, partial=partial)
        self._give()
        return report

    def _give(self) -> None:
        """Let all workers start the next turn with the weights of the flat buffer."""
        file = self._folder / f"given-{self._turns}.npy"
        for earlier in self._folder.glob("given-*.npy"):
            earlier.unlink()
        with atomic_path(file, durable=True) as temporary, temporary.open("wb") as out:
            np.save(out, self._flat.buffer.numpy(), allow_pickle=False)
        self._given = file.name

    def close(self) -> None:
        """Remove the stored rows and states. The net keeps its weights."""
        self._removal()


def _train(net: Net, steps: int) -> float:
    return net.train(steps, alone=True)
