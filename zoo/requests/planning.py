"""Requests to plan trainings, and to simulate them on several machines."""

from __future__ import annotations

from pathlib import Path

from caffe_proto.whole_numbers import whole_number
from netdsl.planner.units import bandwidth, seconds
from zoo.requests.groups import DATA_HELP, AssumesShapes, ComputeType, OfSolver, numbers_of, transport_names
from zoo.requests.request import Request, RequestError, option, request


def batches_of(text: str) -> tuple[int, int]:
    """Return the smallest and largest batch in a text such as 256 or 64:1024."""
    match [whole_number(word, 1) for word in text.split(":")]:
        case [int(batch)]:
            return batch, batch
        case [int(least), int(most)] if least <= most:
            return least, most
    raise ValueError(f"'{text}' isn't a batch or a range of batches; write 256 or 64:1024")


@request
class PlanningRequest(AssumesShapes, OfSolver):
    """Plan how to train a net on given machines. The plan recommends a batch, a number of workers, a strategy and tau.
    It predicts the time of an iteration, of an epoch and of the whole training, names the bottleneck, and says what to
    change first. Nothing is trained.

    Times are computed from the net's operations and the device's speed, which comes from its data sheet or from
    measurements (--measure writes a file with those of this machine). The number of iterations for strategies that
    average models is estimated from trainings of a small net.
    """

    device: str = option(
        "Device: h100, a100, v100, k80, ..., or a file that --measure wrote.", default="laptop", metavar="NAME|FILE"
    )
    devices: int = option("Number of devices in a machine.", default=1, least=1, metavar="N")
    machines: int = option("Number of machines.", default=1, least=1, metavar="K")
    bandwidth: float = option(
        "Network bandwidth of a machine.", default=125e6, text="1Gbit", metavar="RATE", parse=bandwidth
    )
    latency: float = option("Network latency.", default=1e-4, text="0.1ms", metavar="TIME", parse=seconds)
    transport: str | None = option(
        "Method of exchanging models between machines, as in `zoo train`; by default the one chosen for the devices.",
        default=None,
        names=transport_names,
    )
    stragglers: int = option("Number of slow machines.", default=0, least=0, metavar="N")
    slowdown: float = option("Factor by which the slow machines are slower.", default=2.0, least=1, metavar="X")
    items: int | None = option(
        "Number of items in an epoch; by default the size of --data, or of ImageNet.",
        default=None,
        least=1,
        metavar="N",
    )
    data: str | None = option(
        "Data set whose items are counted: digits, lmdb:PATH, folder:PATH, ...",
        default=None,
        metavar="SOURCE",
        address="read",
    )
    batch: tuple[int, int] | None = option(
        "Number of items in a worker's iteration; by default the solver's.",
        default=None,
        metavar="N:M",
        parse=batches_of,
    )
    precision: ComputeType = option("Precision of matrix products.", default="exact")
    strategy: str | None = option(
        "Only strategy to consider, as in `zoo train`.", default=None, metavar="NAME:SETTINGS"
    )
    deadline: float | None = option(
        "Time available for the training, such as 20h.", default=None, metavar="TIME", parse=seconds
    )
    budget: float | None = option(
        "Total device time available, such as 100h.", default=None, metavar="TIME", parse=seconds
    )
    output: Path | None = option(
        "File to write the plan to, for `zoo train --plan`.", default=None, short="o", metavar="FILE"
    )
    pictures: Path | None = option(
        "Folder for charts of time against batch, and of speed-up against workers.", default=None, metavar="FOLDER"
    )
    profile: bool = option("Train here for a moment, and show where the time of an iteration goes.", default=False)
    measure: Path | None = option(
        "File to write measurements of this machine to, for --device; measuring takes some minutes.",
        default=None,
        metavar="FILE",
    )

    @property
    def only_measures(self) -> bool:
        """Whether the request only measures this machine and plans nothing."""
        return self.measure is not None and self.model is None and self.solver is None

    def check(self) -> None:
        """Refuse a request without a net, unless it only measures this machine."""
        if not self.only_measures:
            self.check_model_or_solver()


@request
class OverNetwork(Request):
    """A request about machines that are connected by a network."""

    bandwidth: float = option(
        "Network bandwidth per second, for each worker and direction.",
        default=125e6,
        text="1Gbit",
        metavar="RATE",
        parse=bandwidth,
    )
    latency: float = option(
        "Network latency: the time until the first byte arrives.",
        default=1e-4,
        text="0.1ms",
        metavar="TIME",
        parse=seconds,
    )


@request
class FigureRequest(Request):
    """A request to draw a figure from trainings."""

    output: Path = option("Folder for the files.", default=Path(), text=".", short="o", metavar="FOLDER")
    seeds: int = option(
        "Number of repetitions of each training, each with another seed.", default=3, least=1, metavar="N"
    )
    cache: Path | None = option(
        "Folder that keeps the results of trainings, by default netdsl/simulate in the user's cache folder.",
        default=None, metavar="FOLDER",
    )  # fmt: skip


@request
class UntilAccuracy(Request):
    """A request about trainings up to an accuracy, with several numbers of iterations in a round."""

    taus: tuple[int, ...] = option(
        "Numbers of iterations in a round.",
        default=(1, 2, 5, 10, 25, 100, 250), text="1,2,5,10,25,100,250", metavar="N,N,...", parse=numbers_of,
    )  # fmt: skip
    accuracy: float = option("Accuracy to reach.", default=0.96, least=0, most=1, metavar="A")


@request
class LongTrainings(Request):
    """A request about long trainings of a small net on digits."""

    iterations: int = option("Maximum number of iterations of a training.", default=4000, least=1, metavar="N")


@request
class SpeedupRequest(UntilAccuracy, LongTrainings, FigureRequest):
    """Draw how much faster K workers reach an accuracy than one worker, if exchanges take no time. The workers average
    their models after every tau iterations. The speed-up is N_a / (tau M_a), with medians over the seeds."""

    workers: tuple[int, ...] = option(
        "Numbers of workers, K.",
        default=(1, 2, 3, 4, 5, 6), text="1,2,3,4,5,6", metavar="K,K,...", parse=numbers_of,
    )  # fmt: skip


@request
class CostRequest(UntilAccuracy, LongTrainings, OverNetwork, FigureRequest):
    """Draw the speed-up of K workers against the time of an exchange, S, measured in iterations, C(b). The figure
    compares model averaging with the best tau and batches that are divided among the workers.

    A table shows the time of a batch of size b on this machine, C(b), the time of an exchange on the network, S, and
    the number of iterations that one machine needs with batches of that size, N_a(b).
    """

    workers: int = option("Number of workers, K.", default=5, least=2, metavar="K")


@request
class MethodsRequest(LongTrainings, FigureRequest):
    """Draw the error over time of one machine, of synchronous averaging, of elastic averaging (EASGD) and of MPCA. The
    networks in the figure average the models of all workers in the time of 10 and of 100 iterations. Averaging uses a
    ring of workers, which takes little longer than sending a model once, or Spark's own jobs, which take 12.6 times as
    long."""

    workers: int = option("Number of workers, K.", default=8, least=2, metavar="K")


@request
class AlexNetRequest(FigureRequest):
    """Draw the accuracy over time of a small AlexNet on digits. It compares 1, 3, 5 and 10 workers that average after
    every 50 iterations, and 5 workers with several taus. An iteration takes 2 seconds and an exchange among five
    workers takes 20 seconds, as in the SparkNet paper."""

    accuracy: float = option("Accuracy for the table.", default=0.9, least=0, most=1, metavar="A")
    iterations: int = option("Maximum number of iterations of a training.", default=1500, least=1, metavar="N")


@request
class SimulateRequest(OverNetwork, OfSolver):
    """Simulate the training of a zoo MODEL, or of your own net with --solver, on several workers and on one. The
    command prints when each training reaches which accuracy, and how its time is spent. Without --accuracy, both
    trainings run to the end and are compared at the best accuracy that both reach."""

    data: str | None = option(DATA_HELP, default=None, metavar="SOURCE", address="read")
    strategy: str = option(
        "Strategy, as in `zoo train`: averaging:tau=50.", default="averaging", metavar="NAME:SETTINGS"
    )
    workers: int = option("Number of machines.", default=4, least=1, metavar="K")
    step: float | None = option(
        "Time of an iteration on one machine; by default measured here.",
        default=None, metavar="TIME", parse=seconds,
    )  # fmt: skip
    stragglers: int = option("Number of slow machines.", default=0, least=0, metavar="N")
    slowdown: float = option("Factor by which the slow machines are slower.", default=2.0, least=1, metavar="X")
    jitter: float = option("Variation of the time of a step: 0.2 is about a fifth.", default=0.0, least=0, metavar="X")
    lost: int = option(
        "Number of machines that are lost during the training and don't come back.", default=0, least=0, metavar="N"
    )
    lost_after: int = option("Number of iterations before the machines are lost.", default=0, least=0, metavar="N")
    transport: str | None = option(
        "Method of exchanging models, as in `zoo train`: gloo by default.", default=None, names=transport_names
    )
    spark: bool = option("Average models through Spark's own jobs and its driver.", default=False)
    accuracy: float | None = option(
        "Accuracy at which the training ends; the times until then are compared.",
        default=None,
        least=0,
        most=1,
        metavar="A",
    )
    max_iter: int | None = option("Iteration at which the training ends.", default=None, least=1, metavar="N")
    test_interval: int | None = option(
        "Number of iterations between tests, instead of the solver's.", default=None, least=1, metavar="N"
    )
    seed: int | None = option(
        "Random seed, instead of the solver's; 0 if the solver sets none.", default=None, least=0, metavar="N"
    )

    def check(self) -> None:
        """Refuse a request without a net, and one with two ways of exchanging models."""
        self.check_model_or_solver()
        if self.spark and self.transport is not None:
            raise RequestError("--spark exchanges models through Spark's own jobs; leave out --transport or --spark")
