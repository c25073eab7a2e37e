"""The server: its socket and its application, and how they end."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from netdsl.errors import NetError
from netdsl.solver.events import Listener
from zoo.answers.answerer import Answerer, AnswererRequest
from zoo.answers.cascade import open_answerer
from zoo.serving.app import Service
from zoo.serving.settings import ServerSettings

_IDLE_SECONDS = 5  # seconds for which a connection may stay open without a request
_SPARE = 64  # number of connections in addition to those with requests in progress


class _Connection(H11Protocol):
    """A connection that is closed if no request arrives soon. uvicorn itself waits for the first request without
    limit."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.loop.call_later(_IDLE_SECONDS, self._end_silent)

    def _end_silent(self) -> None:
        if self.cycle is None:
            self.transport.close()


class Server(uvicorn.Server):
    """A server that ends on Ctrl-C or SIGTERM after it has answered the current requests. A second Ctrl-C ends it at
    once."""

    def __init__(
        self, bound: socket.socket, answerer: Answerer, settings: ServerSettings, complain: Callable[[str], object]
    ) -> None:
        self._socket, self.name = bound, answerer.name
        self.address = f"http://{settings.address}:{bound.getsockname()[1]}/"
        service = Service(answerer, settings)
        service.is_ending = lambda: self.should_exit
        super().__init__(_config(service.app(complain), settings))
        bound.listen()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Record that the server should end. The signal's default action isn't run afterwards."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True

    def serve_until_ended(self) -> None:
        """Serve until a signal arrives."""
        with self._socket:
            self.run(sockets=[self._socket])


def open_server(
    request: AnswererRequest, settings: ServerSettings, listen: Listener, complain: Callable[[str], object]
) -> Server:
    """Return a server of a model. It binds its address before the model is opened, and starts listening later."""
    bound = _bound(settings)
    try:
        return Server(bound, open_answerer(request, listen), settings, complain)
    except BaseException:
        bound.close()
        raise


def _config(app: Any, settings: ServerSettings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=_Connection,
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=int(settings.seconds) + 1,
        limit_concurrency=settings.queue + _SPARE,
    )


def _bound(settings: ServerSettings) -> socket.socket:
    """Return a socket that is bound to the address, but doesn't listen yet."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
        except OSError:
            bound.close()
            raise
    except OSError as problem:
        advice = "; another server may be using it; choose another port with --port, or 0 for any free one"
        raise NetError(
            f"{settings.host}:{settings.port}: the server can't listen there: {problem.strerror}{advice}"
        ) from None
    return bound
