"""The modules that nets may run, and the only folders in which they are found."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path

import pytest

from netdsl.allowed_modules import PYTHON_LAYERS, in_folder


@pytest.fixture(autouse=True)
def modules():
    """Forget the modules that a test imported."""
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_a_folder_is_searched_only_for_allowed_modules(tmp_path: Path) -> None:
    (tmp_path / "wanted_module.py").write_text("value = 3")
    (tmp_path / "other_module.py").write_text("value = 4")
    with PYTHON_LAYERS.allowing(in_folder(["wanted_module"], tmp_path)):
        assert import_module("wanted_module").value == 3
        with pytest.raises(ModuleNotFoundError):
            import_module("other_module")
    assert "wanted_module" not in PYTHON_LAYERS
    del sys.modules["wanted_module"]
    with pytest.raises(ModuleNotFoundError):
        import_module("wanted_module")


def test_a_submodule_is_found_in_its_package(tmp_path: Path) -> None:
    (tmp_path / "package_of_layers").mkdir()
    (tmp_path / "package_of_layers/voc.py").write_text("value = 5")
    with PYTHON_LAYERS.allowing(in_folder(["package_of_layers.voc"], tmp_path)):
        assert import_module("package_of_layers.voc").value == 5


def test_installed_modules_come_first(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise AssertionError")
    with PYTHON_LAYERS.allowing(in_folder(["json"], tmp_path)):
        del sys.modules["json"]
        assert import_module("json").__file__ == json.__file__


def test_other_processes_learn_where_modules_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "on_the_path").mkdir()
    (tmp_path / "on_the_path/found_module.py").write_text("")
    (tmp_path / "named_module.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path / "on_the_path")
    with PYTHON_LAYERS.allowing({**in_folder(["named_module"], tmp_path), "found_module": "", "missing_module": ""}):
        assert PYTHON_LAYERS.places() == {
            "found_module": str(tmp_path / "on_the_path"),
            "missing_module": "",
            "named_module": str(tmp_path),
        }
    assert not {"found_module", "named_module"} & set(sys.modules)  # neither module was imported
