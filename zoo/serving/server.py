"""The server: its socket and its application, and how they end."""

from __future__ import annotations

import resource
import signal
import socket
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any, cast

import uvicorn

from netdsl.errors import NetError
from netdsl.solver.events import Listener
from zoo.answers.answerer import Answerer, AnswererRequest
from zoo.answers.cascade import open_answerer
from zoo.serving.app import Service
from zoo.serving.connections import LARGEST_HEAD, TimedConnection
from zoo.serving.settings import ServerSettings

_ACCEPTED = 16  # connections that are accepted in a row, before others are served
_WAITING = 1024  # connections that the system keeps until they are accepted
_OTHER_DESCRIPTORS = 128  # files and sockets that a server opens besides its connections


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
        connection = partial(TimedConnection, settings, service.connections, service.metrics)
        super().__init__(_config(service.app(complain), connection, settings))
        bound.listen()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Record that the server should end. The signal's default action isn't run afterwards."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening."""
        await super().startup(sockets)
        self._socket.listen(_WAITING)  # asyncio uses one number for both limits

    def serve_until_ended(self) -> None:
        """Serve until a signal arrives."""
        with self._socket:
            self.run(sockets=[self._socket])


def open_server(
    request: AnswererRequest, settings: ServerSettings, listen: Listener, complain: Callable[[str], object]
) -> Server:
    """Return a server of a model. It binds its address before the model is opened, and starts listening later."""
    _allow_descriptors(settings.connections + _OTHER_DESCRIPTORS)
    bound = _bound(settings)
    try:
        return Server(bound, open_answerer(request, listen), settings, complain)
    except BaseException:
        bound.close()
        raise


def _config(app: Any, connection: Callable[..., TimedConnection], settings: ServerSettings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=cast(type[TimedConnection], connection),
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=[str(network) for network in settings.proxies],
        server_header=False,
        backlog=_ACCEPTED,
        h11_max_incomplete_event_size=LARGEST_HEAD,
        timeout_keep_alive=cast(int, settings.idle),  # a delay for asyncio, which may be a fraction
        timeout_graceful_shutdown=int(settings.seconds) + 1,
    )


def _allow_descriptors(number: int) -> None:
    """Let this process open a number of files and sockets."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY in (soft, hard) or number <= soft:
        wanted = soft if soft == resource.RLIM_INFINITY else max(soft, number)
    elif number <= hard:
        wanted = number
    else:
        raise NetError(
            f"the server can't open {number:,} files and sockets, because the limit is {hard:,}; choose fewer "
            f"connections with --connections, or raise the limit with 'ulimit -n'"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


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
