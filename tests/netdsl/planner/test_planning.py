"""Planning: the best of many options on made-up machines, constraints that can't be met, and the advice about them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.distributed.machines import ExchangeKind
from netdsl.distributed.strategies.all_reduce import AllReduce
from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.distributed.transports.transport import Transport
from netdsl.errors import PlanError
from netdsl.planner.advice import advise
from netdsl.planner.device import Device, DeviceCluster, NumberType, read_device
from netdsl.planner.planning import Planner, Planning, PlanRequest
from netdsl.solver.settings import open_settings

SOLVER = """base_lr: 0.01 lr_policy: "fixed" max_iter: 1000 momentum: 0.9 net_param { name: "small"
layer { name: "data" type: "Input" top: "data" top: "label"
  input_param { shape { dim: 64 dim: 3 dim: 32 dim: 32 } shape { dim: 64 } } }
layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
  convolution_param { num_output: 32 kernel_size: 5 pad: 2 } }
layer { name: "pool1" type: "Pooling" bottom: "conv1" top: "pool1" pooling_param { kernel_size: 4 stride: 4 } }
layer { name: "conv2" type: "Convolution" bottom: "pool1" top: "conv2"
  convolution_param { num_output: 64 kernel_size: 3 pad: 1 } }
layer { name: "ip" type: "InnerProduct" bottom: "conv2" top: "ip" inner_product_param { num_output: 500 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" } }"""
GPU = read_device("k80")
SLOW = Device(
    name="slow", title="a slow one", type="cpu", memory=GPU.memory, bandwidth=GPU.bandwidth / 1e3, bandwidth_share=0.5,
    arithmetic={NumberType.FLOAT32: replace(GPU.arithmetic[NumberType.FLOAT32], peak=1e9)}, tile=1, overhead=0.0,
    sources={},
)  # fmt: skip


@pytest.fixture
def planner() -> Planner:
    return Planner(open_settings(from_text(SOLVER, pb.SolverParameter)))


def request_for(cluster: DeviceCluster, **wishes: object) -> PlanRequest:
    return PlanRequest(cluster, items=50_000, **wishes)


def sentences(planner: Planner, planning: Planning) -> str:
    return " ".join(advise(planner, planning).sentences)


def test_one_device_trains_with_the_solvers_settings(planner: Planner) -> None:
    planning = planner.plan(request_for(DeviceCluster(SLOW)))
    plan = planning.plan()
    assert (plan.workers, plan.batch, plan.iter_size, plan.precision.value) == (1, 64, 1, "exact")
    assert (plan.forecast.iterations, plan.forecast.estimated, plan.forecast.exchange) == (1000, False, 0)
    assert plan.forecast.epoch == pytest.approx(50_000 / 64 * plan.forecast.compute)
    assert sentences(planner, planning).startswith("Train with one worker, a batch of 64.")


def test_a_batch_that_does_not_fit_is_split_into_passes(planner: Planner) -> None:
    whole = planner.plan(request_for(DeviceCluster(SLOW))).best.cost.bytes
    small = replace(SLOW, name="small", memory=int(0.9 * whole))
    planning = planner.plan(request_for(DeviceCluster(small)))
    plan = planning.plan()
    assert plan.iter_size > 1 and plan.iter_size * plan.batch == 64
    assert plan.forecast.memory <= small.memory < whole
    assert "Memory limits the batch: a batch of 64 takes " in sentences(planner, planning)


def test_if_no_batch_fits_the_missing_memory_is_reported(planner: Planner) -> None:
    with pytest.raises(PlanError, match=r"a batch of 1 takes 0\.\d\d GB, but a slow one has 0\.00 GB"):
        planner.plan(request_for(DeviceCluster(replace(SLOW, name="tiny", memory=1000))))


def test_a_slow_network_gets_long_rounds_and_a_fast_one_gradients(planner: Planner) -> None:
    slow = planner.plan(request_for(DeviceCluster(SLOW, machines=4, bandwidth=1e6)))
    fast = planner.plan(request_for(DeviceCluster(SLOW, machines=4, bandwidth=1e12)))
    assert isinstance(slow.best.strategy, ModelAveraging) and slow.best.strategy.tau >= 10
    assert fast.best.strategy == AllReduce() and fast.best.workers == 4
    assert fast.plan().batch == 64 and fast.best.cost.batch == 16
    assert "A network with ten times the bandwidth: " in sentences(planner, slow)
    assert "an estimate from trainings of a small net" in sentences(planner, slow)
    assert "an estimate" not in sentences(planner, fast)


def test_useless_workers_are_left_out(planner: Planner) -> None:
    planning = planner.plan(request_for(DeviceCluster(GPU, machines=8, bandwidth=1e5)))
    assert planning.best.workers == 1
    assert "More of the 8 devices aren't worth it: " in sentences(planner, planning)


def test_slow_machines_are_used_last(planner: Planner) -> None:
    cluster = DeviceCluster(SLOW, machines=4, bandwidth=1e12, stragglers=2, slowdown=10.0)
    planning = planner.plan(request_for(cluster))
    assert planning.best.workers == 2
    assert "Without the slow machines: " in sentences(planner, planning)


def test_a_deadline_selects_the_fewest_devices_that_meet_it(planner: Planner) -> None:
    cluster = DeviceCluster(SLOW, machines=8, bandwidth=1e12)
    quickest = planner.plan(request_for(cluster)).best
    alone = planner.plan(request_for(DeviceCluster(SLOW))).best
    planning = planner.plan(request_for(cluster, deadline=1.01 * alone.forecast.training))
    assert planning.best.workers == 1 and quickest.workers == 8
    with pytest.raises(PlanError, match=r"isn't enough time: the fastest way takes .* with 8 workers and allreduce"):
        planner.plan(request_for(cluster, deadline=0.5 * quickest.forecast.training))


def test_a_budget_selects_the_fastest_affordable_plan(planner: Planner) -> None:
    cluster = DeviceCluster(SLOW, machines=8, bandwidth=1e8)
    ways = planner.plan(request_for(cluster)).candidates
    cheapest = min((each for each in ways if each.measured), key=lambda each: each.device_seconds)
    planning = planner.plan(request_for(cluster, budget=1.2 * cheapest.device_seconds))
    assert planning.best.device_seconds <= 1.2 * cheapest.device_seconds
    with pytest.raises(PlanError, match=r"of device time isn't enough: the cheapest way takes .*, with"):
        planner.plan(request_for(cluster, budget=0.9 * cheapest.device_seconds))


def test_batches_in_a_range_are_tried(planner: Planner) -> None:
    planning = planner.plan(request_for(DeviceCluster(replace(SLOW, name="lazy", overhead=0.01)), batches=(32, 256)))
    assert [cost.batch for cost in planning.passes if cost.batch >= 32] == [32, 64, 128, 256]
    assert planning.best.cost.batch == 256  # since every operation takes long, however small it is
    assert (
        "The recipe's learning rate is for a batch of 64. For 256 items in total, start with 4 times as much."
        in sentences(planner, planning)
    )


def test_a_named_strategy_is_the_only_one(planner: Planner) -> None:
    request = request_for(DeviceCluster(SLOW, machines=2, bandwidth=1e8), strategies=[ModelAveraging(tau=7)])
    assert {each.strategy for each in planner.plan(request).candidates} == {ModelAveraging(tau=7)}


def test_devices_of_one_machine_exchange_over_its_own_links() -> None:
    cluster = DeviceCluster(GPU, devices=4, machines=2, bandwidth=1e8)
    inside, across = cluster.link(4), cluster.link(8)
    assert inside.bandwidth == GPU.node_link and across.bandwidth == 1e8


def test_the_transport_between_machines_determines_the_time_of_an_exchange() -> None:
    def seconds(transport: Transport | None, device: Device = GPU) -> float:
        cluster = DeviceCluster(device, devices=4, machines=2, bandwidth=1e8, transport=transport)
        return cluster.link(8).seconds(ExchangeKind.MEAN, 8, 10**9)

    assert seconds(Transport.NCCL) < seconds(Transport.GLOO) < seconds(Transport.RELAY)
    assert seconds(None) == seconds(Transport.NCCL)
    assert seconds(None, SLOW) == seconds(Transport.GLOO, SLOW)


@pytest.mark.parametrize(("devices", "machines", "stragglers"), [(0, 1, 0), (1, 0, 0), (1, 2, 2)])
def test_impossible_machines_are_refused(devices: int, machines: int, stragglers: int) -> None:
    with pytest.raises(PlanError):
        DeviceCluster(SLOW, devices, machines, stragglers=stragglers)
