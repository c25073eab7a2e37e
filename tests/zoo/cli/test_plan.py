"""`zoo plan`: its output, files and charts, and the requests that it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from netdsl.planner.plan import read_plan

PLAN = "plan", "lenet", "--data", "digits"


def test_a_plan_is_printed_written_and_drawn(zoo) -> None:
    done = zoo(*PLAN, "--device", "k80", "--machines", "4", "-o", "plan.json", "--pictures", "pictures")
    assert (done.code, done.err) == (0, "")
    first, _, advice, *_ = done.out.splitlines()
    assert first == "LeNet on 4 machines, each with NVIDIA Tesla K80, one of its two GPUs, on a network with 125 MB/s"
    assert advice.startswith("Train with ") and "strategy" in done.out and "allreduce" in done.out
    plan = read_plan(Path("plan.json"))
    assert plan.net == "LeNet" and plan.device == "k80" and plan.reasons[0] == advice
    for name in ("batches.png", "speedups.png"):
        assert Path("pictures", name).read_bytes().startswith(b"\x89PNG")
    found = json.loads(zoo(*PLAN, "--device", "k80", "--machines", "4", "--json").out)
    assert found["use"] == list(plan.reasons[: len(found["use"])])
    assert {"allreduce", "averaging:tau=50"} <= {way["strategy"] for way in found["ways"]}


@pytest.mark.parametrize(
    ("machines", "advice", "limit", "change"),
    [
        (
            ["--device", "laptop"],
            "Train with one worker, a batch of 256",
            "Computing is the limit",
            "An NVIDIA T4 in each",
        ),
        (
            ["--device", "a100", "--devices", "8"],
            "Train with 8 workers and allreduce, each with a batch of 32 (its part of the net's batch)",
            "Computing is the limit",
            "With --precision bf16: ",
        ),
        (
            ["--device", "k80", "--machines", "10", "--bandwidth", "1Gbit"],
            "Train with 8 workers and averaging:tau=",
            "Computing is the limit",
            "A network with ten times the bandwidth: ",
        ),
    ],
    ids=["laptop", "node", "cluster"],
)
def test_a_laptop_a_node_and_a_cluster_train_alexnet(
    zoo, machines: list[str], advice: str, limit: str, change: str
) -> None:
    found = json.loads(zoo("plan", "alexnet", *machines, "--json").out)
    assert found["use"][0].startswith(advice)
    assert found["limits"][0].startswith(limit)
    assert any(each.startswith(change) for each in found["change_first"])


def test_the_assumed_length_of_an_epoch_is_printed(zoo) -> None:
    done = zoo("plan", "lenet")
    assert done.code == 0
    assert (
        done.err == "zoo: assuming that an epoch has ImageNet's 1,281,167 items; use --items or --data to change that\n"
    )


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--device", "h10"], "h100"),
        (["--deadline", "1us"], "1 us isn't enough time: the fastest way takes "),
        (["--budget", "1us"], "1 us of device time isn't enough: the cheapest way takes "),
        (["--batch", "512:64"], "'512:64' isn't a batch or a range of batches"),
        (["--batch", "big"], "'big' isn't a batch"),
        (["--bandwidth", "fast"], "'fast' isn't a bandwidth"),
        (["--deadline", "soon"], "'soon' isn't a time; write it as in 50us, 0.3s or 20h"),
        (["--solver", "s.prototxt"], "Give a MODEL of the zoo, or --solver FILE, but not both."),
        (["--strategy", "averagin"], "did you mean averaging?"),
    ],
)
def test_impossible_requests_are_reported(zoo, words: list[str], problem: str) -> None:
    done = zoo(*PLAN, *words)
    assert done.code == 2 and problem in done.err and "Traceback" not in done.err
