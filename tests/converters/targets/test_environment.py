"""Environments of targets."""

from __future__ import annotations

import zipfile
from pathlib import Path

import msgspec
import pytest

from converters.running import unreported
from converters.targets.environment import _folder_of, install_target, installed_target, own_variables, remove_target
from converters.targets.target import TARGETS, Target
from netdsl.errors import ConversionError


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Target:
    """Return a target with one package, whose wheel is in a folder of this machine. The package needs another one."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    with zipfile.ZipFile(wheels / "small_runtime-1.2-py3-none-any.whl", "w") as wheel:
        info = "small_runtime-1.2.dist-info"
        wheel.writestr("small_runtime.py", "ANSWER = 42\n")
        wheel.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: small-runtime\nVersion: 1.2\nRequires-Dist: torch\n"
        )
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    return msgspec.structs.replace(TARGETS["tract"], packages=(), without_dependencies=("small-runtime",))


@pytest.mark.broad
def test_a_target_is_installed_once_and_removed(small: Target) -> None:
    assert installed_target(small) is None and remove_target(small) is None
    made = install_target(small, unreported)
    assert made.versions["small-runtime"] == "1.2" and "torch" not in made.versions
    assert made.python.is_file() and installed_target(small) == made
    assert [path.name for path in made.folder.parent.iterdir()] == [made.folder.name]  # nothing is left
    mark = made.folder / "mark"
    mark.touch()
    assert install_target(small, unreported) == made and mark.exists()
    assert own_variables(made)["PATH"] == str(made.folder / "bin")
    twin = msgspec.structs.replace(small, name="twin", settings={"fast": True})
    assert installed_target(twin) == made  # since it has the same packages
    assert remove_target(small) == made.folder and installed_target(twin) is None


@pytest.mark.broad
def test_a_package_that_is_missing_leaves_nothing(small: Target, tmp_path: Path) -> None:
    wrong = msgspec.structs.replace(small, packages=("no-such-runtime>=7",))
    with pytest.raises(ConversionError, match=r"environment of target 'tract' can't be made: ERROR: .*no-such-runtime"):
        install_target(wrong, unreported)
    assert list((tmp_path / "cache/netdsl/targets").iterdir()) == []


def test_an_environment_without_its_record_is_not_installed(small: Target) -> None:
    (_folder_of(small) / "bin").mkdir(parents=True)
    assert installed_target(small) is None
