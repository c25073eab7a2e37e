"""A wheel built from the tree works in an environment that contains only its requirements."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_string
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

from netdsl import __version__
from netdsl.own_packages import IMPORTABLE_CAFFE, PACKAGES
from requirements.installation import SOURCES, copy_to

ROOT = Path(__file__).parent.parent
ONLY_IN_SOURCES = (
    "tests",
    "docs",
    "examples",
    "requirements",
    "Makefile",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "MANIFEST.in",
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    copy_to(folder / "tree", SOURCES)
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-q"]
    subprocess.run([*build, "-w", str(folder), str(folder / "tree")], check=True)
    return next(folder.glob("*.whl"))


def required(name: str, found: set[str]) -> set[str]:
    """Return a distribution and all its requirements, according to the packages' metadata."""
    key = re.sub(r"[-_.]+", "-", name).lower()
    if key not in found:
        try:
            needs = distribution(name).requires or []
        except PackageNotFoundError:
            return found  # required only on another system or Python
        found.add(key)
        for need in needs:
            if "extra ==" not in need:
                required(re.split(r"[\s;<>=!~\[(]", need)[0], found)
    return found


def install_only_what_is_asked_for(wheel: Path, folder: Path) -> Path:
    """Create an environment with the wheel and with links to its requirements only, without an index or a network."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    site = next((folder / "lib").glob("python*")) / "site-packages"
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin/python"), "install", "--no-deps", "--no-index"]
    # PYTHONPATH may contain the checkout, and an egg-info there would look like an installed package.
    subprocess.run([*pip, "-q", str(wheel)], check=True, env={**os.environ, "PYTHONPATH": ""})
    needs = required("netdsl", set()) - {"netdsl"}
    for name in needs:
        for file in distribution(name).files or []:
            top = file.parts[0]
            if top != ".." and not (site / top).exists():
                (site / top).symlink_to(distribution(name).locate_file(top))  # type: ignore[arg-type]
    return folder / "bin"


def test_the_wheel_works_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    commands = install_only_what_is_asked_for(wheel, tmp_path / "environment")
    shutil.copy(ROOT / "examples/digits_2013.prototxt", tmp_path)
    zoo = [str(commands / "zoo"), "upgrade", "digits_2013.prototxt", "new.prototxt"]
    subprocess.run(zoo, check=True, cwd=tmp_path, env={})
    shown = subprocess.run([zoo[0], "show", "new.prototxt"], check=True, cwd=tmp_path, env={}, capture_output=True)
    assert b"conv1" in shown.stdout
    code = "import caffe_proto; print(caffe_proto.__file__, len(caffe_proto.all_dialects()) > 20)"
    imported = subprocess.run([str(commands / "python"), "-c", code], cwd=tmp_path, env={}, capture_output=True)
    assert str(tmp_path) in imported.stdout.decode() and b"True" in imported.stdout


def test_the_wheel_carries_schema_types_and_licence(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    data = ["caffe_proto/caffe.proto", "caffe_proto/caffe_pb2.pyi", "caffe_proto/dialects/ssd.toml"]
    data += ["netdsl/dsl/layer_types.pyi", "zoo/catalogue/cards/lenet.md", "zoo/known/vanface.md"]
    data += [f"{IMPORTABLE_CAFFE.relative_to(ROOT).as_posix()}/caffe/__init__.py"]
    for name in data:
        assert name in names
    assert all(f"{package}/py.typed" in names for package in PACKAGES)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not any(name.startswith(("tests/", "benchmarks/", "examples/", "docs/")) for name in names)


def test_the_metadata_stand_without_the_repository(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    text = archive.read(next(name for name in archive.namelist() if name.endswith("METADATA"))).decode()
    metadata = message_from_string(text)
    assert metadata["Version"] == __version__ and metadata["Author"] == "The netdsl developers"
    assert metadata["Requires-Python"] == ">=3.11" and metadata["Description-Content-Type"] == "text/markdown"
    assert "Programming Language :: Python :: 3.14" in metadata.get_all("Classifier", [])
    description = str(metadata.get_payload())
    assert "train (`docs/train.md`)" in description
    assert re.findall(r"\]\((?!https?:)[^)]*\)", description) == []


def test_the_source_distribution_has_tests_pages_and_examples(tmp_path: Path) -> None:
    copy_to(tmp_path, (*SOURCES, *ONLY_IN_SOURCES))
    build = "from setuptools.build_meta import build_sdist; build_sdist('dist')"
    subprocess.run([sys.executable, "-c", build], cwd=tmp_path, check=True, capture_output=True)
    with tarfile.open(next(tmp_path.glob("dist/*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names >= {*SOURCES, *ONLY_IN_SOURCES, "tests/test_wheel.py", "docs/index.md", "examples/digits.prototxt"}
    assert not any("__pycache__" in name for name in names)
