"""Calls functions that open foreign files in a separate process, which has limits on its memory, time and files.

The process may only return plain values. It can't make this process run code, since no value is unpickled.
"""

from __future__ import annotations

import logging
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path, PurePath
from threading import Lock
from typing import Any, TypeVar, cast, get_args, get_type_hints

import msgspec

from caffe_proto.errors import CaffeError, LimitError
from caffe_proto.limits import Limit
from netdsl.allowed_modules import PLUGINS, PYTHON_LAYERS
from netdsl.closing import ClosedAtEnd
from netdsl.errors import ForeignFileError, first_line
from netdsl.plugins import plugin_places

_log = logging.getLogger(__name__)

T = TypeVar("T")

_HEAD = 8  # bytes of the length in front of each message
_SHORTEST = 1e-6  # seconds; a timeout of 0 would mean not to wait at all
_LARGEST_FILE = 1 << 36  # bytes of a file that a call writes
_STARTING = 300.0  # seconds until the process must be ready; imports are slow on a busy machine
_TELL = "tell"  # the parameter through which a function reports progress
_UNEXPECTED = "check that the file is what you expect"
_STATUS = Path("/proc/self/status")


class _Start(msgspec.Struct):
    """The first message to a process: the module to import, the user's permissions, and the limits."""

    module: str
    python_layers: dict[str, str]
    plugins: dict[str, str]
    memory: int
    file_size: int
    cpu_seconds: float


class _Call(msgspec.Struct):
    function: str
    arguments: list[msgspec.Raw]
    tells: bool


class _Answer(msgspec.Struct, tag=True):
    value: msgspec.Raw


class _Event(msgspec.Struct, tag=True):
    value: msgspec.Raw


class _Problem(msgspec.Struct, tag=True):
    """The class and the text of a `CaffeError`, or of any other exception without a class."""

    text: str
    error: str = ""
    is_memory: bool = False


_Reply = _Answer | _Event | _Problem


class _EndedError(Exception):
    """The process ended, or closed its connection."""


@dataclass
class _Child:
    """A running process, and the connection to it. The process is ready when it has imported its module."""

    process: subprocess.Popen[bytes]
    connection: socket.socket
    is_ready: bool = False


class SeparateProcess(ClosedAtEnd):
    """A process that makes one call after the other. If a call exceeds its limits or ends the process, the call fails,
    and the next one starts another process.

    `seconds` is the limit of one call, which the user sets with an option. By default, it is the limit
    'process-seconds'. All functions must be in `module`, whose import doesn't count. Their arguments and results are
    values that msgspec can convert by their annotations, and paths.
    """

    def __init__(self, module: str, seconds: float | None = None, option: str = "") -> None:
        self._module, self._option = module, option
        self._seconds: float = Limit.PROCESS_SECONDS.most if seconds is None else seconds
        self._child: _Child | None = None
        self._lock = Lock()

    def start(self) -> None:
        """Start the process, unless it is running, and return before it is ready. The first call does so too."""
        with self._lock, self._starting():
            self._started()

    def call(self, subject: str | Path, function: Callable[..., T], *arguments: Any) -> T:
        """Return the result of a function, or raise its `CaffeError`."""
        return self._call(subject, function, arguments, None)

    def call_telling(
        self, subject: str | Path, function: Callable[..., T], *arguments: Any, listen: Callable[[Any], object]
    ) -> T:
        """Return the result of a function with a parameter `tell`. `listen` receives the events."""
        return self._call(subject, function, arguments, listen)

    def close(self) -> None:
        """End the process."""
        with self._lock:
            if self._child is not None:
                self._end(self._child)

    def _call(
        self,
        subject: str | Path,
        function: Callable[..., T],
        arguments: tuple[Any, ...],
        listen: Callable[[Any], object] | None,
    ) -> T:
        call = _Call(function.__qualname__, [msgspec.Raw(_encode(each)) for each in arguments], listen is not None)
        with self._lock:
            child = self._ready()
            try:
                reply = self._exchange(child.connection, call, listen, _hints(function))
            except TimeoutError:
                self._end(child)
                raise self._out_of_time(subject) from None
            except (_EndedError, OSError):
                raise self._ended(subject, child) from None
            except msgspec.MsgspecError:
                self._end(child)
                raise ForeignFileError(f"{subject}: its process sent an invalid answer; {_UNEXPECTED}") from None
            except BaseException:  # such as Ctrl-C
                self._end(child)
                raise
        if isinstance(reply, _Problem):
            raise self._problem(subject, reply)
        return cast(T, reply)

    def _exchange(
        self, connection: socket.socket, call: _Call, listen: Callable[[Any], object] | None, hints: dict[str, Any]
    ) -> Any:
        """Return the function's result, or a problem."""
        deadline = time.monotonic() + self._seconds
        _send(connection, call)
        while True:
            reply = _decode(_receive(connection, deadline), _Reply)
            if isinstance(reply, _Problem):
                return reply
            if isinstance(reply, _Answer):
                return _decode(reply.value, hints["return"])
            if listen is not None:
                listen(_decode(reply.value, get_args(hints[_TELL])[0][0]))

    def _ready(self) -> _Child:
        with self._starting():
            child = self._started()
            if not child.is_ready:
                _receive(child.connection, time.monotonic() + _STARTING)
                child.is_ready = True
        return child

    def _started(self) -> _Child:
        if self._child is None:
            self._child = _start_process()
            _send(self._child.connection, self._permissions())
        return self._child

    @contextmanager
    def _starting(self) -> Iterator[None]:
        """End a process that doesn't start."""
        try:
            yield
        except BaseException as problem:
            if self._child is not None:
                self._end(self._child)
            if not isinstance(problem, (TimeoutError, _EndedError, OSError)):
                raise
            raise ForeignFileError(
                "the process that opens files didn't start; run `zoo doctor` to check the installation"
            ) from None

    def _permissions(self) -> _Start:
        seconds = self._seconds * (os.cpu_count() or 1)  # threads compute at the same time
        places = PYTHON_LAYERS.places(), plugin_places()
        file_size = max(_LARGEST_FILE, Limit.ARCHIVE_BYTES.most)
        return _Start(self._module, *places, Limit.PROCESS_MEMORY.most, file_size, seconds)

    def _end(self, child: _Child) -> int:
        """End the process with all that it started, and return its exit code."""
        self._child = None
        child.connection.close()
        with suppress(ProcessLookupError):
            os.killpg(child.process.pid, signal.SIGKILL)
        return child.process.wait()

    def _out_of_time(self, subject: str | Path) -> CaffeError:
        if not self._option:
            return _exceeded(Limit.PROCESS_SECONDS, subject)
        limit = f"it took longer than {self._seconds:g} s, the limit of {self._option}"
        return LimitError(f"{subject}: {limit}; if you trust the file, raise {self._option}")

    def _ended(self, subject: str | Path, child: _Child) -> CaffeError:
        with suppress(subprocess.TimeoutExpired):
            child.process.wait(1)  # otherwise, its own exit code could be lost
        code = self._end(child)
        _log.warning("the process that opened %s ended with code %d", subject, code)
        if code == -signal.SIGXCPU:
            return self._out_of_time(subject)
        reason = signal.Signals(-code).name if code < 0 else f"code {code}"
        return ForeignFileError(
            f"{subject}: it ended its process ({reason}), as systems do when memory is short; close other programs, or "
            "report this fault of netdsl with the file"
        )

    def _problem(self, subject: str | Path, problem: _Problem) -> CaffeError:
        if problem.error:
            kind = _errors().get(problem.error, ForeignFileError)
            return kind.__new__(kind, problem.text)  # without the arguments that its constructor may need
        if problem.is_memory:
            return _exceeded(Limit.PROCESS_MEMORY, subject)
        return ForeignFileError(f"{subject}: {problem.text}; report this fault of netdsl with the file")


def _errors() -> dict[str, type[CaffeError]]:
    """Return all imported classes of errors by name."""
    kinds: list[type[CaffeError]] = [CaffeError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return {kind.__name__: kind for kind in kinds}


def _exceeded(limit: Limit, subject: str | Path) -> LimitError:
    return limit.problem(limit.most + 1, str(subject), limit.most)


def _start_process() -> _Child:
    ours, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, "-P", "-c", f"from {__name__} import answer_calls; answer_calls({theirs.fileno()})"]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, pass_fds=(theirs.fileno(),), start_new_session=True
        )
    _log.info("process %d opens foreign files", process.pid)
    return _Child(process, ours)


def answer_calls(descriptor: int) -> None:
    """Run the separate process: answer calls until the connection is closed."""
    with socket.socket(fileno=descriptor) as connection, suppress(_EndedError):
        start = _decode(_receive(connection), _Start)
        PYTHON_LAYERS.allow(start.python_layers)
        PLUGINS.allow(start.plugins)
        module = import_module(start.module)
        _limit(start)
        _send(connection, None)
        while True:
            call = _decode(_receive(connection), _Call)
            _limit_to(resource.RLIMIT_CPU, _used_seconds() + int(start.cpu_seconds) + 1)
            _send(connection, _reply(getattr(module, call.function), call, connection))
            sys.stdout.flush()  # the caller's own output comes next


def _limit(start: _Start) -> None:
    """Limit memory, files and dumps. Mapped files don't count as memory, since their pages can be released."""
    _limit_to(resource.RLIMIT_CORE, 0)
    _limit_to(resource.RLIMIT_DATA, _data_size() + start.memory)
    _limit_to(resource.RLIMIT_FSIZE, start.file_size)


def _limit_to(kind: int, limit: int) -> None:
    """Set a limit, unless the system already has a lower one, which can't be raised."""
    highest = resource.getrlimit(kind)[1]
    resource.setrlimit(kind, (limit if highest == resource.RLIM_INFINITY else min(limit, highest), highest))


def _data_size() -> int:
    """Return the bytes that already count towards the limit of memory."""
    with suppress(OSError, StopIteration):
        lines = _STATUS.read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmData:")).split()[1]) * 1024
    return 0


def _used_seconds() -> int:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return int(usage.ru_utime + usage.ru_stime)


def _reply(function: Callable[..., Any], call: _Call, connection: socket.socket) -> _Reply:
    hints = _hints(function)
    try:
        arguments = [_decode(value, hint) for value, hint in zip(call.arguments, hints.values(), strict=False)]
        told = {_TELL: partial(_tell, connection)} if call.tells else {}
        return _Answer(msgspec.Raw(_encode(function(*arguments, **told))))
    except CaffeError as problem:
        return _Problem(str(problem), type(problem).__name__)
    except Exception as problem:
        is_memory = isinstance(problem, MemoryError)
        return _Problem(f"{type(problem).__name__}: {first_line(problem)}", is_memory=is_memory)


def _tell(connection: socket.socket, event: Any) -> None:
    _send(connection, _Event(msgspec.Raw(_encode(event))))


@cache
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    return get_type_hints(function)


def _encode(value: Any) -> bytes:
    return msgspec.msgpack.encode(value, enc_hook=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, PurePath):
        return os.fsencode(value)
    raise NotImplementedError(f"{type(value)} can't be sent to another process")


def _decode(data: bytes | bytearray | msgspec.Raw, kind: Any) -> Any:
    return msgspec.msgpack.decode(data, type=kind, dec_hook=_typed)


def _typed(kind: type, value: Any) -> Any:
    if issubclass(kind, PurePath):
        return kind(os.fsdecode(value))
    raise NotImplementedError(f"{kind} can't be received from another process")


def _send(connection: socket.socket, message: Any) -> None:
    data = _encode(message)
    connection.settimeout(None)
    connection.sendall(len(data).to_bytes(_HEAD, "little"))
    connection.sendall(data)


def _receive(connection: socket.socket, deadline: float | None = None) -> bytearray:
    """Return a message. Raises a `TimeoutError` at the deadline."""
    size = int.from_bytes(_receive_bytes(connection, _HEAD, deadline), "little")
    return _receive_bytes(connection, size, deadline)


def _receive_bytes(connection: socket.socket, size: int, deadline: float | None) -> bytearray:
    """Return this number of bytes. No process may send more than it may have in memory."""
    if size > Limit.PROCESS_MEMORY.most:
        raise _EndedError
    data = bytearray(size)
    rest = memoryview(data)
    while rest:
        if deadline is not None:
            connection.settimeout(max(deadline - time.monotonic(), _SHORTEST))
        count = connection.recv_into(rest)
        if not count:
            raise _EndedError
        rest = rest[count:]
    return data
