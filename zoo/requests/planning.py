"""Requests to say how nets are best trained, and to simulate that with several machines."""

from __future__ import annotations

from pathlib import Path

from netdsl.planner.units import bandwidth, seconds
from zoo.requests.groups import DATA_HELP, AssumesShapes, ComputeType, OfSolver, numbers_of
from zoo.requests.request import Request, option, request


def batches_of(text: str) -> tuple[int, int]:
    """Return the least and the most items of a batch, of a text such as 256 or 64:1024."""
    words = text.split(":")
    if len(words) > 2 or not all(word.isdecimal() and int(word) for word in words) or int(words[0]) > int(words[-1]):
        raise ValueError(f"'{text}' is neither a batch such as 256 nor a range such as 64:1024")
    return int(words[0]), int(words[-1])


@request
class PlanningRequest(AssumesShapes, OfSolver):
    """Say how a net is best trained on some machines: with which batch, how many workers, which strategy and tau, what
    an iteration, an epoch and the training take, what limits that, and what to change first. Nothing is trained.

    Times come from the net's operations and what is known of the device: from its data sheet, or from measurements
    (--measure writes a file with those of this machine). The iterations of strategies that average models are
    estimates, from trainings of a small net.
    """

    device: str = option("h100, a100, v100, k80, ..., or a file.", default="laptop", metavar="NAME|FILE")
    devices: int = option("Devices of a machine.", default=1, least=1, metavar="N")
    machines: int = option("Machines.", default=1, least=1, metavar="K")
    bandwidth: float = option("Of a machine.", default=125e6, text="1Gbit", metavar="RATE", parse=bandwidth)
    latency: float = option("Of the network.", default=1e-4, text="0.1ms", metavar="TIME", parse=seconds)
    stragglers: int = option("Machines that are slow.", default=0, least=0, metavar="N")
    slowdown: float = option("How many times slower they are.", default=2.0, least=1, metavar="X")
    items: int | None = option(
        "Items of an epoch; by default those of --data, or ImageNet's.", default=None, least=1, metavar="N"
    )
    data: str | None = option(
        "Data whose items are counted: digits, lmdb:PATH, folder:PATH, ...", default=None, metavar="SOURCE"
    )
    batch: tuple[int, int] | None = option(
        "Items of a worker's iteration; by default the solver's.", default=None, metavar="N:M", parse=batches_of
    )
    precision: ComputeType = option("What products are computed with.", default="exact")
    strategy: str | None = option("Only this strategy, as of `zoo train`.", default=None, metavar="NAME:SETTINGS")
    deadline: float | None = option("The time there is, such as 20h.", default=None, metavar="TIME", parse=seconds)
    budget: float | None = option(
        "The time of all devices together, such as 100h.", default=None, metavar="TIME", parse=seconds
    )
    output: Path | None = option("Write the plan, for `zoo train --plan`.", default=None, short="o", metavar="FILE")
    pictures: Path | None = option(
        "Draw time against batch, and speed-up against workers.", default=None, metavar="FOLDER"
    )
    profile: bool = option("Train here for a moment, and say what an iteration's time goes to.", default=False)
    measure: Path | None = option(
        "Measure this machine, for some minutes, and write a file for --device.", default=None, metavar="FILE"
    )

    @property
    def only_measures(self) -> bool:
        """Whether nothing is to be planned."""
        return self.measure is not None and self.model is None and self.solver is None

    def check(self) -> None:
        """Refuse a request without a net, unless the machine is measured."""
        if not self.only_measures:
            self.check_model_or_solver()


@request
class OverNetwork(Request):
    """A request about machines with a network between them."""

    bandwidth: float = option(
        "Per second, for each worker and direction.", default=125e6, text="1Gbit", metavar="RATE", parse=bandwidth
    )
    latency: float = option(
        "The time until the first byte arrives.", default=1e-4, text="0.1ms", metavar="TIME", parse=seconds
    )


@request
class FigureRequest(Request):
    """A request for a figure, which trainings are made for."""

    output: Path = option("Where the files go.", default=Path(), text=".", short="o", metavar="FOLDER")
    seeds: int = option("How often each training is repeated.", default=3, least=1, metavar="N")
    cache: Path = option(
        "Where the results of trainings are kept.",
        default=Path("~/.cache/netdsl/simulate"), text="~/.cache/netdsl/simulate", metavar="FOLDER",
    )  # fmt: skip


@request
class UntilAccuracy(Request):
    """A request about trainings to an accuracy, by iterations of a round."""

    taus: tuple[int, ...] = option(
        "Iterations of a round; several values.",
        default=(1, 2, 5, 10, 25, 100, 250), text="1,2,5,10,25,100,250", metavar="N,N,...", parse=numbers_of,
    )  # fmt: skip
    accuracy: float = option("The accuracy to reach.", default=0.96, least=0, most=1, metavar="A")


@request
class LongTrainings(Request):
    """A request about trainings of a small net on digits."""

    iterations: int = option("The most iterations of a training.", default=4000, least=1, metavar="N")


@request
class SpeedupRequest(UntilAccuracy, LongTrainings, FigureRequest):
    """Draw how many times faster K workers, which average their models after every tau iterations, reach an accuracy
    than one worker, if exchanging costs no time: N_a / (tau M_a), with medians over the seeds.
    """

    workers: tuple[int, ...] = option(
        "Numbers of workers, K.",
        default=(1, 2, 3, 4, 5, 6), text="1,2,3,4,5,6", metavar="K,K,...", parse=numbers_of,
    )  # fmt: skip


@request
class CostRequest(UntilAccuracy, LongTrainings, OverNetwork, FigureRequest):
    """Draw the speed-up of K workers by the cost of an exchange, S, in units of an iteration, C(b): for model averaging
    with the best tau, and for batches that are divided among the workers.

    A table has the time of a batch of size b on this machine, C(b), the time of an exchange on the network, S, and the
    number of iterations that one machine needs with such batches, N_a(b).
    """

    workers: int = option("The number of workers, K.", default=5, least=2, metavar="K")


@request
class MethodsRequest(LongTrainings, FigureRequest):
    """Draw the error over time of one machine, of synchronous averaging, of elastic averaging (EASGD) and of MPCA, on
    networks that average the models of all workers in the time of 10 and of 100 iterations: by a ring of workers, where
    that takes little more than sending a model once, and by Spark's own jobs, where it takes 12.6 times as long.
    """

    workers: int = option("The number of workers, K.", default=8, least=2, metavar="K")


@request
class AlexNetRequest(FigureRequest):
    """Draw the accuracy over time of a small AlexNet on digits: of 1, 3, 5 and 10 workers that average after every 50
    iterations, and of 5 workers for several taus. An iteration takes 2 seconds and an exchange among five 20 seconds,
    as in the SparkNet paper.
    """

    accuracy: float = option("The accuracy of the table.", default=0.9, least=0, most=1, metavar="A")
    iterations: int = option("The most iterations of a training.", default=1500, least=1, metavar="N")


@request
class SimulateRequest(OverNetwork, OfSolver):
    """Simulate the training of a MODEL of the zoo, or of a net of your own by its --solver, with several workers and
    with one, and print when each reaches which accuracy, and what it spends its time on. Without --accuracy both train
    to the end, and are compared by the best accuracy that both reach.
    """

    data: str | None = option(DATA_HELP, default=None, metavar="SOURCE")
    strategy: str = option("As of `zoo train`: averaging:tau=50.", default="averaging", metavar="NAME:SETTINGS")
    workers: int = option("How many machines.", default=4, least=1, metavar="K")
    step: float | None = option(
        "The time of an iteration on one machine; measured here by default.",
        default=None, metavar="TIME", parse=seconds,
    )  # fmt: skip
    stragglers: int = option("How many machines are slow.", default=0, least=0, metavar="N")
    slowdown: float = option("How many times slower they are.", default=2.0, least=1, metavar="X")
    jitter: float = option("How much the times of steps vary: 0.2 is about a fifth.", default=0.0, least=0, metavar="X")
    lost: int = option("How many machines are lost on the way, for good.", default=0, least=0, metavar="N")
    lost_after: int = option("After how many iterations.", default=0, least=0, metavar="N")
    spark: bool = option("Models are averaged by Spark's own jobs, through a driver.", default=False)
    accuracy: float | None = option(
        "Train until it is reached, and compare the times until then.", default=None, least=0, most=1, metavar="A"
    )
    max_iter: int | None = option("Train to this iteration instead.", default=None, least=1, metavar="N")
    test_interval: int | None = option("Test after this many iterations instead.", default=None, least=1, metavar="N")
    seed: int | None = option(
        "The random seed instead; 0 if the settings have none.", default=None, least=0, metavar="N"
    )

    def check(self) -> None:
        """Refuse a request without a net."""
        self.check_model_or_solver()
