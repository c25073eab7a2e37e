"""The server: a socket, the application behind it, and how both end."""

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
from zoo.serving.app import Service
from zoo.serving.settings import ServerSettings

_IDLE_SECONDS = 5  # that a connection may be open without a request
_SPARE = 64  # connections beyond those whose requests are under way


class _Connection(H11Protocol):
    """A connection that ends if no request comes soon: uvicorn itself waits for the first one without limit."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.loop.call_later(_IDLE_SECONDS, self._end_silent)

    def _end_silent(self) -> None:
        if self.cycle is None:
            self.transport.close()


class Server(uvicorn.Server):
    """A server that ends by Ctrl-C or SIGTERM once the requests under way are answered; a second Ctrl-C ends it now."""

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
        """End, without the signal's own effect on the process afterwards."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True

    def serve_until_ended(self) -> None:
        """Listen until a signal comes."""
        with self._socket:
            self.run(sockets=[self._socket])


def open_server(
    request: AnswererRequest, settings: ServerSettings, listen: Listener, complain: Callable[[str], object]
) -> Server:
    """Return a server of a model. It has its address before the model is opened, and listens afterwards."""
    bound = _bound(settings)
    try:
        return Server(bound, Answerer(request, listen), settings, complain)
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
    """Return a socket that has the address, and doesn't listen yet."""
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
        advice = "; is another server there? --port names another port, and 0 any that is free"
        raise NetError(f"{settings.host}:{settings.port}: can't be listened at: {problem.strerror}{advice}") from None
    return bound
