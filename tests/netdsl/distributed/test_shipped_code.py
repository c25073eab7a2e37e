"""The modules that a command sends to its workers, and what a worker accepts of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from caffe_proto.dialects import unregister_dialect
from netdsl.allowed_modules import PLUGINS, PYTHON_LAYERS, in_folder
from netdsl.distributed import shipped_code
from netdsl.distributed.launchers import LAUNCHERS
from netdsl.distributed.shipped_code import (
    MOST_BYTES,
    MOST_FILES,
    advice_on_missing_module,
    code_in_place,
    pack,
    shipping,
    unpack,
)
from netdsl.errors import DistributedError, NetError, RegistryError
from netdsl.plugins import Plugin


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the current folder, which isn't on Python's path. Forget the modules that a test imported."""
    monkeypatch.chdir(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_a_module_and_a_package_are_packed_with_their_data_only(folder: Path) -> None:
    (folder / "own_package/data").mkdir(parents=True)
    (folder / "own_package/__pycache__").mkdir()
    (folder / "own_package/.git").mkdir()
    for name in ("own_layers.py", "other.py", "own_package/__init__.py", "own_package/data/names.txt"):
        (folder / name).write_text(name)
    for name in (".env", ".git/config", "__pycache__/x.pyc"):
        (folder / "own_package" / name).write_text("left out")
    (folder / "own_package/link.txt").symlink_to(folder / "other.py")
    (folder / "own_package/again.txt").symlink_to("data/names.txt")
    (folder / "own_package/above").symlink_to(folder)
    with PYTHON_LAYERS.allowing(in_folder(["own_layers", "own_package.voc", "missing_module", "json"], folder)):
        files = pack(PYTHON_LAYERS)
    assert {name: contents.decode() for name, contents in files.items()} == {
        "own_layers.py": "own_layers.py",
        "own_package/__init__.py": "own_package/__init__.py",
        "own_package/again.txt": "own_package/data/names.txt",
        "own_package/data/names.txt": "own_package/data/names.txt",
    }


def test_an_installed_module_is_not_sent(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "site").mkdir()
    (folder / "site/on_the_path.py").write_text("")
    (folder / "on_the_path.py").write_text("")
    monkeypatch.syspath_prepend(folder / "site")
    with PYTHON_LAYERS.allowing(in_folder(["on_the_path", "json"], folder)):
        assert pack(PYTHON_LAYERS) == {}


def test_a_programs_own_module_is_sent(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "program").mkdir()
    (folder / "program/own_layers.py").write_text("value = 1")
    monkeypatch.syspath_prepend(folder / "program")  # as Python does for a program in this folder
    monkeypatch.setattr(sys.modules["__main__"], "__file__", str(folder / "program/main.py"), raising=False)
    assert pack(["own_layers"]) == {"own_layers.py": b"value = 1"}


def test_too_much_is_refused_by_name(folder: Path) -> None:
    (folder / "large").mkdir()
    (folder / "large/table.bin").write_bytes(bytes(MOST_BYTES + 1))
    (folder / "many").mkdir()
    for number in range(MOST_FILES + 1):
        (folder / f"many/{number}").touch()
    with PYTHON_LAYERS.allowing(in_folder(["large", "many"], folder)):
        with pytest.raises(DistributedError, match=r"large/table\.bin: .* more than 8,388,608 bytes; move data out"):
            pack(["large"])
        with pytest.raises(DistributedError, match=r"many: .* more than 1,000 files; move data out of the package"):
            pack(["many"])


def test_a_module_without_source_is_refused(folder: Path) -> None:
    (folder / "sourceless.pyc").touch()
    with (
        PYTHON_LAYERS.allowing(in_folder(["sourceless"], folder)),
        pytest.raises(DistributedError, match=r"sourceless\.pyc: --ship sends only modules in Python's source"),
    ):
        pack(PYTHON_LAYERS)


@pytest.mark.parametrize(
    "name", ["", ".", "/etc/own_layers.py", "../own_layers.py", "own_layers/../../x.py", "own_layers/\0"]
)
def test_a_file_outside_of_the_folder_is_refused(folder: Path, name: str) -> None:
    (folder / "received").mkdir()
    with (
        PYTHON_LAYERS.allowing({"own_layers": ""}),
        pytest.raises(DistributedError, match="a file outside of its folder"),
    ):
        unpack({name: b"raise AssertionError"}, folder / "received")
    assert not list((folder / "received").iterdir())


def test_only_allowed_modules_are_written(folder: Path) -> None:
    files = {"own_layers.py": b"", "json.py": b"", "os/__init__.py": b"", "plug/__init__.py": b"", "plug/a/b.txt": b"c"}
    with PYTHON_LAYERS.allowing({"own_layers": "/elsewhere"}), PLUGINS.allowing({"plug.inner": "/elsewhere"}):
        assert unpack(files, folder) == {"own_layers", "plug"}
        with pytest.raises(DistributedError, match="can't be written: File exists; free space there, or set TMPDIR to"):
            unpack({"own_layers.py/x": b""}, folder)
    found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert found == ["own_layers.py", "plug/__init__.py", "plug/a/b.txt"]


def test_received_code_takes_the_place_of_other_code_for_a_while(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "own_layers.py").write_text("value = 'of this machine'")
    monkeypatch.syspath_prepend(folder)
    assert import_module("own_layers").value == "of this machine"
    files = {"own_layers.py": b"value = 'sent'", "own_package/names.txt": b"", "own_package/voc.py": b"value = 'voc'"}
    with PYTHON_LAYERS.allowing(in_folder(["own_layers", "own_package"], folder)):
        for _ in range(2):  # as in a process that Spark uses again
            with code_in_place(files):
                module = import_module("own_layers")
                place = Path(module.__file__).parent
                assert module.value == "sent" and place.stat().st_mode & 0o777 == 0o700
                assert import_module("own_package.voc").value == "voc" and (place / "own_package/names.txt").exists()
                assert PYTHON_LAYERS.places()["own_layers"] == str(place)  # for further processes
            assert not place.exists() and str(place) not in sys.path
            assert import_module("own_layers").value == "of this machine"
            assert "own_package" not in sys.modules
            files["own_package/new.txt"] = b""


def test_code_that_a_killed_worker_left_is_removed_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = "import os, signal\nfrom netdsl.distributed.shipped_code import code_in_place\n"
    program += "with code_in_place({}):\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "TMPDIR": str(tmp_path)})
    (left,) = tmp_path.iterdir()
    assert done.returncode == -signal.SIGKILL
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with code_in_place({}):
        assert not left.exists()


def test_a_plugin_is_imported_again_with_the_code_that_was_sent(folder: Path) -> None:
    text = "from pathlib import Path\nfrom caffe_proto import register_dialect\n"
    text += "from netdsl.registry import register_launcher\n@register_launcher\nclass Shipped:\n    name = 'shipped'\n"
    text += "    value = {value}\nregister_dialect(Path(__file__).with_name('shipped-fork.toml'))\n"
    table = b'title = "Ours"\n[fields.LayerParameter]\npermute_param = 391\n'
    try:
        for value in (1, 2):
            code = text.format(value=value).encode()
            files = {"sent_plugin/__init__.py": code, "sent_plugin/shipped-fork.toml": table}
            with PLUGINS.allowing(in_folder(["sent_plugin"], "/nowhere")), code_in_place(files):
                assert LAUNCHERS["shipped"].value == value
    finally:
        LAUNCHERS.unregister("shipped")
        unregister_dialect("shipped-fork")


def test_modules_are_packed_once_for_a_command(folder: Path) -> None:
    (folder / "own_layers.py").write_text("value = 1")
    with PYTHON_LAYERS.allowing(in_folder(["own_layers"], folder)):
        with shipping(False):
            assert shipped_code.shipped_code() is None
        with shipping(True):
            (folder / "own_layers.py").write_text("value = 2")
            assert shipped_code.shipped_code() == {"own_layers.py": b"value = 1"}
    assert shipped_code.shipped_code() is None


def test_a_missing_module_of_a_user_is_sent_with_ship(folder: Path) -> None:
    with pytest.raises(RegistryError) as plugin:
        Plugin("missing_plugin").load()
    assert advice_on_missing_module(plugin.value, ships=False).startswith("; or add --ship, or ship=True")
    assert advice_on_missing_module(plugin.value, ships=True) == "; --ship then sends it to the workers"
    assert not advice_on_missing_module(NetError("a leg is broken"), ships=False)
