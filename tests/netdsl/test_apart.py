"""The separate process that opens foreign files, and its limits."""

from __future__ import annotations

import importlib
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from caffe_proto.errors import LimitError
from netdsl import apart
from netdsl.allowed_modules import PYTHON_LAYERS
from netdsl.apart import SeparateProcess
from netdsl.errors import DataError, ForeignFileError

_MODULE = "functions_apart"
_FUNCTIONS = '''
"""Functions that behave like readers of bad files."""

from __future__ import annotations

import ctypes, os, sys, time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from netdsl.errors import DataError
from netdsl.allowed_modules import PYTHON_LAYERS

@dataclass(frozen=True)
class Pair:
    name: str
    sizes: tuple[int, ...]
    path: Path

def pair(name: str, size: int, path: Path) -> Pair:
    return Pair(name, (size, size), path)

def process_number() -> int:
    return os.getpid()

def refuse() -> None:
    raise DataError("a.prototxt:3: the layer is wrong; correct it")

def divide() -> float:
    return 1 / 0

def fill(size: int) -> int:
    return len(bytes(size))

def crash() -> None:
    ctypes.string_at(0)

def sleep() -> None:
    time.sleep(1000)

def compute() -> None:
    while True:
        pass

def write(path: Path) -> None:
    path.write_bytes(bytes(3 << 20))

def lie() -> int:
    return "text"

def count(most: int, tell: Callable[[Pair], object]) -> int:
    for number in range(most):
        tell(Pair("", (number,), Path()))
    return most

def allowed() -> list[str]:
    return sorted(PYTHON_LAYERS)

def has_torch() -> bool:
    return "torch" in sys.modules
'''


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    folder = tmp_path_factory.mktemp("functions")
    (folder / f"{_MODULE}.py").write_text(_FUNCTIONS)
    with PYTHON_LAYERS.allowing({_MODULE: str(folder)}):
        yield importlib.import_module(_MODULE)
    del sys.modules[_MODULE]


@pytest.fixture(scope="module")
def process(functions: ModuleType) -> Iterator[SeparateProcess]:
    with pytest.MonkeyPatch.context() as patch, SeparateProcess(_MODULE) as process:
        patch.setenv("NETDSL_LIMITS", "process-memory=256M,archive-bytes=1M")
        patch.setattr(apart, "_LARGEST_FILE", 1 << 20)
        yield process


def test_values_cross_by_their_annotations(process: SeparateProcess, functions: ModuleType) -> None:
    path = Path("b\udcffad")
    assert process.call("a", functions.pair, "ü", 3, path) == functions.Pair("ü", (3, 3), path)
    assert not process.call("a", functions.has_torch)
    assert process.call("a", functions.allowed) == [_MODULE]


def test_a_function_tells_events_before_its_result(process: SeparateProcess, functions: ModuleType) -> None:
    told: list[object] = []
    assert process.call_telling("a", functions.count, 3, listen=told.append) == 3
    assert told == [functions.Pair("", (number,), Path()) for number in range(3)]


def test_an_error_about_a_file_keeps_its_text_and_the_process(process: SeparateProcess, functions: ModuleType) -> None:
    before = process.call("a", functions.process_number)
    with pytest.raises(DataError, match=r"^a.prototxt:3: the layer is wrong; correct it$"):
        process.call("a", functions.refuse)
    with pytest.raises(ForeignFileError, match=r"^b: ZeroDivisionError: division by zero; report this fault of netdsl"):
        process.call("b", functions.divide)
    assert process.call("a", functions.process_number) == before


def test_too_much_memory_is_a_sentence(process: SeparateProcess, functions: ModuleType) -> None:
    assert process.call("a", functions.fill, 1 << 27) == 1 << 27
    with pytest.raises(LimitError, match=r"^big needs .* bytes or more, .* set NETDSL_LIMITS=process-memory=512M$"):
        process.call("big", functions.fill, 1 << 29)


def test_a_file_that_ends_the_process_fails_alone(process: SeparateProcess, functions: ModuleType) -> None:
    before = process.call("a", functions.process_number)
    with pytest.raises(ForeignFileError, match=r"^bad: it ended its process \(SIGSEGV\)"):
        process.call("bad", functions.crash)
    assert process.call("a", functions.process_number) != before


def test_a_large_file_isnt_written(process: SeparateProcess, functions: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(ForeignFileError, match=r"^bad: OSError: .*File too large"):
        process.call("bad", functions.write, tmp_path / "file")
    assert (tmp_path / "file").stat().st_size <= 1 << 20


def test_an_answer_of_another_type_is_refused(process: SeparateProcess, functions: ModuleType) -> None:
    with pytest.raises(ForeignFileError, match=r"^bad: its process sent an invalid answer; "):
        process.call("bad", functions.lie)


def test_time_is_limited(functions: ModuleType) -> None:
    with SeparateProcess(_MODULE, 0.1, "--seconds") as process:
        process.start()
        number = process.call("a", functions.process_number)
        with pytest.raises(LimitError, match=r"^slow: it took longer than 0.1 s, the limit of --seconds; "):
            process.call("slow", functions.sleep)
        assert not Path(f"/proc/{number}").exists()


def test_limits_of_the_system_stay(functions: ModuleType) -> None:
    folder = Path(functions.__file__ or "").parent
    script = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (1000, 1000))
sys.path.insert(0, {str(folder)!r})
from netdsl.allowed_modules import PYTHON_LAYERS
from netdsl.apart import SeparateProcess
PYTHON_LAYERS.allow({{"{_MODULE}": {str(folder)!r}}})
import {_MODULE}
with SeparateProcess("{_MODULE}") as process:
    print(process.call("a", {_MODULE}.has_torch))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_the_process_ends_with_its_caller(functions: ModuleType, tmp_path: Path) -> None:
    folder = Path(functions.__file__ or "").parent
    script = f"""
import os, sys
sys.path.insert(0, {str(folder)!r})
from netdsl.allowed_modules import PYTHON_LAYERS
from netdsl.apart import SeparateProcess
PYTHON_LAYERS.allow({{"{_MODULE}": {str(folder)!r}}})
import {_MODULE}
process = SeparateProcess("{_MODULE}")
print(process.call("a", {_MODULE}.process_number), flush=True)
os.kill(os.getpid(), 9)
"""
    number = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout.strip()
    deadline = time.monotonic() + 60
    while Path(f"/proc/{number}/exe").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert number and not Path(f"/proc/{number}/exe").exists()
