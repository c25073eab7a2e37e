"""`zoo train --plan`: a run with a plan's settings, and its report."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.distributed.run import Run
from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.net.compute_precision import ComputePrecision
from netdsl.net.graph import Phase
from netdsl.planner.plan import Forecast, Plan, write_plan
from netdsl.planner.planned_run import with_plan
from netdsl.solver.settings import open_settings

FORECAST = Forecast(0.02, 0.001, 20_000_000, 3.0, 40, estimated=True)
PLAN = Plan(
    "LeNet", "this machine", 1, 2, ModelAveraging(tau=10), 16, 2, ComputePrecision.BF16, FORECAST, ("Because.",)
)
TRAIN = "train", "lenet", "--data", "digits", "--max-iter", "20", "--device", "cpu"


@pytest.fixture
def plan() -> Callable[..., str]:
    def write(**changes: object) -> str:
        write_plan(msgspec.structs.replace(PLAN, **changes), Path("plan.json"))
        return "plan.json"

    return write


def batch_of(run: Run, phase: Phase) -> int:
    model = run.solver.trained if phase is Phase.TRAIN else run.solver.tested[0]
    layers = [layer for layer in model.net.layer if layer.include and layer.include[0].phase == phase]
    return layers[0].data_param.batch_size


def test_a_run_follows_its_plan_and_its_report_shows_both(zoo, plan) -> None:
    done = zoo(*TRAIN, "--plan", plan())
    assert (done.code, done.err) == (0, "")
    run = Run.load(Path("lenet_run"))
    assert (run.workers, run.strategy, run.compute.precision) == (2, ModelAveraging(tau=10), ComputePrecision.BF16)
    assert (run.solver.param.iter_size, batch_of(run, Phase.TRAIN), batch_of(run, Phase.TEST)) == (2, 16, 36)
    said = zoo("report", "lenet_run", "--items", "0").out
    assert "computing an iteration: planned 20 ms, measured " in said
    assert "memory of a worker: planned 20 MB, measured " in said
    page = Path("lenet_run/report.html").read_text()
    assert "Planned and measured" in page and "<li>Because.</li>" in page
    found = json.loads(zoo("report", "lenet_run", "--items", "0", "--json").out)
    assert next(figure["name"] for figure in found["planned"]) == "Computing an iteration"
    assert all(figure["ratio"] > 0 for figure in found["planned"])


@pytest.mark.parametrize(
    ("words", "changes", "problem"),
    [
        (["--workers", "2"], {}, "--plan sets the number of workers"),
        (["--precision", "exact"], {}, "--plan sets the number of workers"),
        (
            [],
            {"net": "AlexNet"},
            "the plan is for the net 'AlexNet', but this net is 'LeNet'; make a plan for it with `zoo plan -o FILE`",
        ),
        ([], {"version": 9}, "plan.json: the plan is from another version of netdsl"),
    ],
)
def test_options_that_contradict_a_plan_are_refused(zoo, plan, words: list[str], changes: dict, problem: str) -> None:
    done = zoo(*TRAIN, "--plan", plan(**changes), *words)
    assert done.code == 2 and problem in done.err and not Path("lenet_run").exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"net": "LeNet"}', "\0"])
def test_a_file_that_is_not_a_plan_is_refused(zoo, text: str) -> None:
    Path("plan.json").write_text(text)
    done = zoo(*TRAIN, "--plan", "plan.json")
    assert done.code == 2 and "plan.json: not a plan: " in done.err and done.err.count("\n") == 1


def test_inputs_with_a_fixed_batch_get_the_plans() -> None:
    net = """name: "n" layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 8 dim: 3 } } }
    layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip" inner_product_param { num_output: 2 } }"""
    run = Run(open_settings(pb.SolverParameter(net_param=from_text(net, pb.NetParameter))))
    changed = with_plan(run, msgspec.structs.replace(PLAN, net="n")).solver.trained.net
    assert [layer.input_param.shape[0].dim[:] for layer in changed.layer if layer.type == "Input"] == [[16, 3], [8, 3]]
