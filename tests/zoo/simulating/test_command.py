"""`zoo simulate` with training results that are already in the cache."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from caffe_proto.errors import CaffeError
from caffe_proto.text.prototxt import text_of
from netdsl.planner.convergence import read_grid
from zoo.cli import zoo
from zoo.simulating.convergence import BATCHES, ConvergenceExperiment
from zoo.simulating.digits import DigitsTask
from zoo.simulating.methods import SETTINGS, Method, MethodComparison
from zoo.simulating.scaling import BY_TAU, BY_WORKERS, AlexNetTask, ScalingExperiment
from zoo.simulating.trials import AccuracyPoint, Trial, TrialCache, TrialOutcome, WorkerUsage, measure_step

QUESTION = ConvergenceExperiment(goal=0.5, seeds=1, task=DigitsTask(iterations=30))
SMALL = ("--accuracy", "0.5", "--seeds", "1", "--iterations", "30", "--cache", "kept", "-o", "out/here")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def simulate(*words: str) -> Result:
    done = CliRunner().invoke(zoo, ["simulate", *words])
    if isinstance(done.exception, CaffeError) or done.exit_code == 0:
        return done
    assert isinstance(done.exception, SystemExit), done.exception
    return done


def keep(trials: Iterable[Trial], iteration: int) -> None:
    """Store results as if the runs had been trained and had reached the goal in this iteration."""
    for trial in trials:
        points = (
            AccuracyPoint(0.5, 0, 0.1),
            AccuracyPoint(1.5 * iteration, iteration, 0.96),
            AccuracyPoint(900.0, 600, 0.96),
        )
        usage = WorkerUsage(iteration, 1.0 * iteration, 0.0, 0.5 * iteration, 80)
        TrialCache(Path("kept")).put(trial, TrialOutcome(points, (usage,), 1.5 * iteration))


def rows(name: str) -> list[list[str]]:
    with Path("out/here", name).open(newline="") as file:
        return list(csv.reader(file))


def is_picture(name: str) -> bool:
    return Path("out/here", name).read_bytes().startswith(b"\x89PNG")


def test_the_heat_map_is_drawn() -> None:
    keep(QUESTION.trials(QUESTION.serial()), 60)
    keep(QUESTION.trials(QUESTION.parallel(3, 2)), 20)
    keep(QUESTION.trials(QUESTION.parallel(3, 10)), 40)
    done = simulate("speedup", "--workers", "1,3", "--taus", "2,10", *SMALL)
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["K", "\\", "tau", "10", "2"],
        ["1", "1.00", "1.00"],
        ["3", "1.50", "3.00"],
    ]
    assert rows("speedup.csv")[0] == ["workers", "tau", "N_a", "tau M_a", "speed-up"]
    assert rows("speedup.csv")[3:] == [["3", "2", "60", "20", "3.000"], ["3", "10", "60", "40", "1.500"]]
    assert is_picture("speedup.png")
    grid = read_grid(Path("out/here/speedup.json"))
    assert (grid.goal, grid.seeds, grid.serial) == (0.5, 1, 60)
    assert (grid.workers, grid.taus, grid.parallel) == ((1, 3), (2, 10), ((60, 60), (20, 40)))
    assert grid.command == ("zoo simulate speedup --workers 1,3 --taus 2,10 --accuracy 0.5 --seeds 1 --iterations 30")
    assert done.stderr == "speedup: 3 of 3 trainings done\n"


def test_speedups_by_the_cost_of_exchanges_are_drawn() -> None:
    keep(QUESTION.trials(QUESTION.parallel(3, 2)), 20)
    for batch in BATCHES:
        keep(QUESTION.trials(QUESTION.serial(batch)), 400 // batch)
    done = simulate("cost", "--workers", "3", "--taus", "2", "--latency", "20ms", *SMALL)
    lines = [line.split("  ") for line in done.stdout.splitlines()]
    assert [line[0].strip() for line in lines] == ["b", *map(str, BATCHES)]
    assert [row[4] for row in rows("batches.csv")[1:]] == ["100", "50", "25", "12", "6"]
    assert {row[2] for row in rows("batches.csv")[1:]} == {"80.2 ms"}  # the four steps of a ring
    ratio, naive, averaging, tau = rows("cost.csv")[17]
    assert (float(ratio), float(naive), float(averaging), tau) == (1.0, 0.75, pytest.approx(5 / 1.5, abs=1e-3), "2")
    assert is_picture("cost.png")


def test_the_methods_are_compared() -> None:
    comparison = MethodComparison(workers=2, seeds=1, task=DigitsTask(iterations=30))
    size = measure_step(comparison.trials(Method.SINGLE, SETTINGS[0], 1)[0].plan).bytes
    for place, setting in enumerate(SETTINGS):
        for number, method in enumerate(Method):
            keep(comparison.trials(method, setting, size), 10 if method is Method.SINGLE else 20 * place + 2 * number)
    words = ("--workers", "2", "--seeds", "1", "--iterations", "30", "--cache", "kept", "-o", "out/here")
    assert simulate("methods", *words).exit_code == 0
    assert rows("methods.csv")[:3] == [
        ["network", "S/C", "method", "90%", "94%", "96%", "97%", "in the end", "computing"],
        ["switch", "10", "single machine", "15", "15", "15", "", "96.0%", "67%"],
        ["switch", "10", "synchronous", "3", "3", "3", "", "96.0%", "67%"],
    ]
    assert [row[:4] for row in rows("methods.csv")[9:]] == [
        ["Spark", "10", "single machine", "15"],
        ["Spark", "10", "synchronous", "63"],
        ["Spark", "10", "EASGD", "66"],
        ["Spark", "10", "MPCA", "69"],
        ["Spark", "100", "single machine", "15"],
        ["Spark", "100", "synchronous", "93"],
        ["Spark", "100", "EASGD", "96"],
        ["Spark", "100", "MPCA", "99"],
    ]
    assert is_picture("methods.png")


def test_alexnet_is_simulated_by_workers_and_tau() -> None:
    experiment = ScalingExperiment(seeds=1, task=AlexNetTask(iterations=30))
    size = measure_step(experiment.trials(1, 50, 1)[0].plan).bytes
    for workers, tau in {*BY_WORKERS, *BY_TAU}:
        keep(experiment.trials(workers, tau, size), 4800 // workers + tau)
    words = ("--seeds", "1", "--iterations", "30", "--cache", "kept", "-o", "out/here")
    assert simulate("alexnet", *words).exit_code == 0
    assert rows("alexnet.csv")[:3] == [
        ["workers", "tau", "hours to 90%", "speed-up"],
        ["1", "50", "2.02", "1.00"],
        ["3", "50", "0.69", "2.94"],
    ]
    assert is_picture("alexnet.png")


@pytest.mark.broad
def test_a_users_own_net_is_compared_with_one_machine() -> None:
    words = ["lenet", "--max-iter", "4", "--test-interval", "2", "--step", "20ms", "--bandwidth", "100MB"]
    done = simulate("run", *words, "--workers", "2", "--strategy", "averaging:tau=2", "--accuracy", "0", "--json")
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert (found["single_step"], found["several_step"], found["goal"]) == (0.02, 0.02, 0.0)
    assert [point["iteration"] for point in found["single"]["points"]] == [0, 2]
    assert [usage["steps"] for usage in found["several"]["usages"]] == [2, 2]


@pytest.mark.broad
def test_a_lost_machine_stops_and_the_others_continue() -> None:
    words = ["lenet", "--max-iter", "4", "--test-interval", "4", "--step", "20ms", "--workers", "3", "--json"]
    done = simulate("run", *words, "--strategy", "averaging:tau=1", "--lost", "1", "--lost-after", "2")
    assert [usage["steps"] for usage in json.loads(done.stdout)["several"]["usages"]] == [4, 4, 2]


@pytest.mark.slow
def test_exchanges_through_a_driver_cost_sparks_jobs() -> None:
    words = ["lenet", "--max-iter", "4", "--test-interval", "4", "--step", "20ms", "--workers", "2", "--json"]
    words += ["--bandwidth", "1000TB", "--strategy", "averaging:tau=2"]
    ring, spark = (json.loads(simulate("run", *words, *more).stdout)["several"]["time"] for more in ((), ("--spark",)))
    assert spark - ring > 2 * 0.1  # one job for each of two means


@pytest.mark.broad
def test_held_out_items_are_reported() -> None:
    words = ["lenet", "--max-iter", "2", "--test-interval", "2", "--step", "20ms", "--workers", "2", "--json"]
    done = simulate("run", *words, "--data", "digits:train")
    assert "zoo: every tenth item of digits:train is held out for tests\n" in done.stderr
    assert "held out" not in simulate("run", *words, "--data", "digits").stderr


@pytest.mark.slow
def test_one_seed_gives_the_same_numbers_even_without_one_in_the_settings() -> None:
    settings = DigitsTask(batch=6).settings(1, 2).without("random_seed")
    Path("solver.prototxt").write_text(text_of(settings.message))
    words = ("run", "--solver", "solver.prototxt", "--max-iter", "4", "--step", "20ms", "--workers", "2", "--json")
    first, again, other = (simulate(*words, *seed).stdout for seed in ((), ("--seed", "0"), ("--seed", "5")))
    assert first == again != other


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run"], "Give a MODEL of the zoo, or --solver FILE, but not both."),
        (["run", "lenett"], "did you mean lenet?"),
        (["run", "lenet", "--bandwidth", "fast"], "'fast' isn't a bandwidth; write it per second, as in 1Gbit"),
        (["run", "lenet", "--step", "3"], "'3' isn't a time"),
        (["run", "lenet", "--strategy", "averagin"], "did you mean averaging?"),
        (["run", "lenet", "--step", "1s", "--workers", "2", "--stragglers", "3"], "3 stragglers among 2 workers"),
        (["run", "lenet", "--step", "1s", "--workers", "2", "--lost", "2"], "2 of 2 workers can't be lost"),
        (["speedup", "--taus", "1,x"], "'1,x' isn't a list of whole numbers above 0"),
        (["speedup", "--workers", "0"], "'0' isn't a list of whole numbers above 0"),
        (["cost", "--workers", "1"], "1 is not in the range x>=2"),
        (["alexnet", "--seeds", "0"], "0 is not in the range x>=1"),
        (["methods", "-o", "/dev/null/here"], "/dev/null/here: the folder can't be created: Not a directory"),
    ],
)
def test_problems_are_reported(words: list[str], says: str, folder: Path) -> None:
    done = simulate(*words)
    assert done.exit_code != 0
    assert says in (str(done.exception) if isinstance(done.exception, CaffeError) else done.output)
    assert list(folder.iterdir()) == []


def test_a_simulation_has_one_way_of_exchanging_models() -> None:
    done = simulate("run", "lenet", "--spark", "--transport", "relay")
    assert "leave out --transport or --spark" in " ".join(done.stderr.split())
