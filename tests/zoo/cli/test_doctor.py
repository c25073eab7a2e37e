"""`zoo doctor` on this machine, and on a machine with problems."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.registered import forgotten_plugins, installed_as_package
from zoo.doctor.packages import Requirement
from zoo.doctor.results import CheckResult, Verdict

RESULTS = [
    CheckResult("core", "torch", Verdict.GOOD, "2.13"),
    CheckResult("engines", "MPI", Verdict.WRONG, "ranks don't find each other, " * 4, "use a single MPI"),
]


SOME = [
    Requirement("click", ">=8.1", ""),
    Requirement("starlette", ">=0.45", "serve"),
    Requirement("made-up", "", "hub"),
]


def examined(zoo) -> tuple[int, bool, dict[str, dict[str, str]]]:
    """Return the exit code, whether all is well, and the checks by part."""
    code, out, err = zoo("doctor", "--json")
    answer = json.loads(out)
    assert err == ""
    return code, answer["healthy"], {check["part"]: check for check in answer["checks"]}


@pytest.mark.slow
def test_the_core_of_this_installation_passes(zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS")  # tests set this to use a core each
    code, healthy, checks = examined(zoo)
    assert (code, healthy) == (0, True)
    assert {checks[part]["verdict"] for part in ("netdsl", "torch", "training", "numpy", "cpu")} == {"good"}
    assert {"memory", "store", "data", "spark", "mpi"} <= checks.keys()


def test_a_broken_package_is_wrong_and_an_absent_one_missing(
    zoo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "starlette.py").write_text("raise ImportError('no SSL here')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    monkeypatch.setattr("zoo.doctor.examination.requirements", lambda: SOME)
    code, healthy, checks = examined(zoo)
    assert (code, healthy) == (1, False)
    assert "can't be imported: ImportError: no SSL here" in checks["serve"]["fact"]
    assert checks["serve"]["advice"].startswith("pip install 'starlette>=")
    assert (checks["hub"]["verdict"], checks["hub"]["advice"]) == ("missing", "pip install 'netdsl[hub]'")
    assert (checks["click"]["verdict"], checks["memory"]["group"]) == ("good", "machine")


def test_plugins_are_listed_with_their_registrations(zoo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site/broken_one.py").write_text("1 / 0")
    installed_as_package(tmp_path / "site", "broken_one")
    Path("own_one.py").write_text(
        "from netdsl.layer import Layer\nfrom netdsl.registry import register_layer\n"
        "@register_layer\nclass Ownly(Layer): pass\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"), prepend=":")
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.setattr("zoo.doctor.examination.requirements", list)
    with forgotten_plugins(monkeypatch):
        code, out, _ = zoo("doctor", "--json", "--plugin", "own_one")
    checks = {check["part"]: check for check in json.loads(out)["checks"] if check["group"] == "plug-ins"}
    assert code == 1 and checks["own_one"]["fact"] == "allowed by name; registers layer type Ownly"
    assert checks["broken_one"]["fact"].startswith(
        "netdsl-of-somebody 1.2; can't be imported: ZeroDivisionError: division by zero; fix the package, or remove it"
    )


def test_problems_are_printed_with_advice_and_decide_the_exit_code(zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.doctor.examination.Examination.run", lambda self, done: RESULTS)
    code, out, _ = zoo("doctor")
    assert code == 1
    assert "  wrong    MPI    ranks don't find each other, ranks" in out
    assert out.splitlines()[-2:] == ["                  -> use a single MPI", "wrong: MPI"]
    monkeypatch.setattr("zoo.doctor.examination.Examination.run", lambda self, done: RESULTS[:1])
    assert zoo("doctor")[:2] == (0, "core\n  good     torch  2.13\nEverything that is installed works.\n")
