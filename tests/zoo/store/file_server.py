"""A file server on this machine that behaves like real servers, including their faults."""

from __future__ import annotations

import json
import socket
import socketserver
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class ServedFile:
    """A file, and how it is served."""

    data: bytes = b""
    etag: str = '"one"'
    ranges: bool = True
    if_range: bool = True  # whether the server respects the header
    breaks: list[int] = field(default_factory=list)  # ends each answer in turn after this many bytes
    length: int | None = None  # the Content-Length, by default the true one
    has_length: bool = True
    redirect: str = ""
    status: list[int] = field(default_factory=list)  # for the next answers
    error_code: str = ""  # sent with a refusing status, as hubs do
    silent: bool = False


@dataclass
class ReceivedRequest:
    """A request."""

    path: str
    headers: dict[str, str]

    @property
    def start(self) -> int:
        return int(self.headers.get("range", "bytes=0-").removeprefix("bytes=").partition("-")[0])


class FileServer:
    """Files by path, and the requests for them."""

    def __init__(self) -> None:
        self.files: dict[str, ServedFile] = {}
        self.posts: dict[str, Callable[[bytes], object]] = {}  # the JSON answers to posted bodies
        self.asked: list[ReceivedRequest] = []
        self.end = threading.Event()
        self.port = 0

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def put(self, path: str, data: bytes = b"", **how: object) -> ServedFile:
        self.files[path] = ServedFile(data, **how)  # type: ignore[arg-type]
        return self.files[path]

    def asked_for(self, path: str) -> list[ReceivedRequest]:
        return [each for each in self.asked if each.path == path]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 20  # a client that stays silent doesn't keep the thread
    server: _Server

    def do_GET(self) -> None:
        files = self.server.file_server
        headers = {name.lower(): value for name, value in self.headers.items()}
        files.asked.append(ReceivedRequest(self.path, headers))
        file = files.files.get(self.path.partition("?")[0])
        if file is None:
            self._refuse(404)
        elif file.silent:
            files.end.wait(self.timeout)
            self.close_connection = True
        elif file.status and (status := file.status.pop(0)) >= 400:
            self._refuse(status, file.error_code)
        elif file.redirect:
            self.send_response(302)
            self.send_header("Location", file.redirect)
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self._send(file, files.asked[-1])

    def do_POST(self) -> None:
        files = self.server.file_server
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        answer = files.posts.get(self.path)
        if answer is None:
            self._refuse(404)
            return
        data = json.dumps(answer(body)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _refuse(self, status: int, error_code: str = "") -> None:
        self.send_response(status)
        self.send_header("X-Error-Code", error_code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _send(self, file: ServedFile, asked: ReceivedRequest) -> None:
        fits = not file.if_range or asked.headers.get("if-range", file.etag) == file.etag
        start = asked.start if file.ranges and fits else 0
        if start and start >= len(file.data):
            self._refuse(416)
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(file.data) - 1}/{len(file.data)}")
        if file.etag:
            self.send_header("ETag", file.etag)
        if file.has_length:
            self.send_header("Content-Length", str(file.length if file.length is not None else len(file.data) - start))
        self.send_header("Connection", "close")
        self.end_headers()
        end = start + file.breaks.pop(0) if file.breaks else len(file.data)
        self.wfile.write(file.data[start:end])
        self.close_connection = True

    def log_message(self, *args: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    file_server: FileServer

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # clients may disconnect at any moment


@contextmanager
def serving() -> Iterator[FileServer]:
    """Serve files while the context is open."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        files = server.file_server = FileServer()
        files.port = server.server_address[1]
        with _running(server):
            try:
                yield files
            finally:
                files.end.set()


@contextmanager
def _running(server: socketserver.BaseServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join(20)


class _BytesServer(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 20

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # clients may disconnect at any moment


@contextmanager
def answering(answer: Callable[[int], Iterable[bytes]]) -> Iterator[str]:
    """Answer each connection with bytes, which may be endless. Yields the server's address. `answer` receives the
    number of the connection, from 0."""
    count = iter(range(1000))

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            connection: socket.socket = self.request
            connection.settimeout(20)
            with suppress(OSError):
                while b"\r\n\r\n" not in connection.recv(1 << 16):
                    pass
                for piece in answer(next(count)):
                    connection.sendall(piece)

    with _BytesServer(("127.0.0.1", 0), Handler) as server, _running(server):
        yield f"http://127.0.0.1:{server.server_address[1]}"
