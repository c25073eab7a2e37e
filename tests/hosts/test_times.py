"""The times in the records of a training on several hosts are never negative, and never below what the links allow.

Neither is the network faster that `zoo doctor --cluster` measures for `zoo plan` and `zoo simulate`.
"""

from __future__ import annotations

import re
import sys

import pytest

from netdsl.distributed.run_log import read_records
from tests.hosts.laboratory import Network, laboratory
from tests.hosts.trainings import Launcher, start_training, training_command
from tests.patience import PATIENCE

pytestmark = [pytest.mark.hosts, pytest.mark.usefixtures("possible")]

_HOSTS, _ROUNDS, _BANDWIDTH = 3, 4, 125e6  # bytes per second of a link, in each direction
_BURST = 1.05  # how much faster a link carries the first bytes of a buffer
_WIDTH = 2600
_MODEL = 4 * _WIDTH * _WIDTH  # bytes of the largest layer, nearly the whole model
_EARLY = 1 << 23  # bytes that can be on their way before the last worker joins, which a worker counts as waiting
_WIDE_NET = f"""
layer {{ name: "data" type: "Data" top: "data" top: "label"
  data_param {{ source: "csv:numbers.csv?columns=a,b,c&label=label" batch_size: 8 }} }}
layer {{ name: "in" type: "InnerProduct" bottom: "data" top: "in"
  inner_product_param {{ num_output: {_WIDTH} weight_filler {{ type: "xavier" }} }} }}
layer {{ name: "wide" type: "InnerProduct" bottom: "in" top: "wide"
  inner_product_param {{ num_output: {_WIDTH} weight_filler {{ type: "xavier" }} }} }}
layer {{ name: "out" type: "InnerProduct" bottom: "wide" top: "out"
  inner_product_param {{ num_output: 3 weight_filler {{ type: "xavier" }} }} }}
layer {{ name: "loss" type: "SoftmaxWithLoss" bottom: "out" bottom: "label" top: "loss" }}
"""


@pytest.mark.parametrize(
    ("launcher", "options"),
    [
        (Launcher.TORCHRUN, ()),
        (Launcher.TORCHRUN, ("--transport", "relay")),
        (Launcher.MPI, ()),
    ],
    ids=["gloo", "relay", "mpi"],
)
def test_the_times_of_records_are_possible(launcher: Launcher, options: tuple[str, ...]) -> None:
    with laboratory(_HOSTS, Network(bandwidth=f"{8 * _BANDWIDTH}bit")) as made:
        command = training_command(made.folder, *options, net=_WIDE_NET, iterations=2 * _ROUNDS)
        programs = start_training(launcher, made, command)
        codes = [program.wait(PATIENCE) for program in programs]
        assert not any(codes), "\n".join(program.text() for program in programs)
        records = read_records(made.folder / "run")
    assert len(records) == _HOSTS * _ROUNDS
    for record in records:
        assert min(record.wait, record.exchange, record.compute) >= 0, record
        assert record.bytes >= 2 * _MODEL
        carried = 2 * (_HOSTS - 1) * _MODEL // _HOSTS  # in each direction, at least
        if record.rank or "relay" not in options:  # the relay is on the first worker's host
            assert record.exchange >= (carried - _EARLY) / _BANDWIDTH, record


@pytest.mark.parametrize("launcher", [Launcher.TORCHRUN, Launcher.MPI, Launcher.SPARK])
def test_the_measured_network_is_possible(launcher: Launcher) -> None:
    with laboratory(_HOSTS, Network(bandwidth=f"{8 * _BANDWIDTH}bit")) as made:
        command = [sys.executable, "-m", "zoo", "doctor", "--cluster", "--run", str(made.folder / "run")]
        programs = start_training(launcher, made, command)
        codes = [program.wait(PATIENCE) for program in programs]
        texts = "\n".join(program.text() for program in programs)
    assert not any(codes), texts
    measured = re.findall(r"--bandwidth ([\d.]+)MB --latency (\d+)us", texts)
    assert len(measured) == 1, texts
    megabytes, microseconds = map(float, measured[0])
    assert 0 < 1e6 * megabytes <= _BURST * _BANDWIDTH, texts
    assert microseconds > 0, texts
