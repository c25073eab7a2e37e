"""The guard, through which every request passes before it is read, and every response before it is sent."""

from __future__ import annotations

import asyncio
import hmac
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from caffe_proto.errors import CaffeError
from zoo.serving.metrics import Metrics
from zoo.serving.settings import ServerSettings

_MOST_CLIENTS = 4096  # maximum number of remembered clients; those that have been silent longest are forgotten
_OPEN_PATHS = ("/", "/health", "/ready")  # paths that reveal nothing about the model, and need no token
_PATHS = (*_OPEN_PATHS, "/predict", "/metrics", "/card")
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_NO_CONTENT = "default-src 'none'; frame-ancestors 'none'"
_DISCARDED_SECONDS = 2.0  # limits for reading and discarding a refused body, so that the client gets the reason


class RefusedError(Exception):
    """A refused request. `after` is the number of seconds after which the client may try again."""

    def __init__(self, status: HTTPStatus, sentence: str, after: int | None = None) -> None:
        super().__init__(sentence)
        self.status, self.after = status, after

    @property
    def headers(self) -> dict[str, str]:
        """Additional headers of the response."""
        headers = {"Connection": "close"}  # the rest of the request isn't read
        if self.after is not None:
            headers["Retry-After"] = str(self.after)
        if self.status is HTTPStatus.UNAUTHORIZED:
            headers["WWW-Authenticate"] = "Bearer"
        return headers


class RateLimit:
    """A limit of requests per second for each client. Requests for one second may arrive at once."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._most, self._clock = rate, max(rate, 1.0), clock
        # Remaining requests, and the time of the last one.
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_of(self, client: str) -> float:
        """Return the seconds until a client may send a request. Returns 0 if it may now, and counts the request."""
        if not self._rate:
            return 0.0
        now = self._clock()
        left, then = self._clients.pop(client, (self._most, now))
        left = min(self._most, left + (now - then) * self._rate)
        allowed = left >= 1
        self._clients[client] = left - allowed, now
        if len(self._clients) > _MOST_CLIENTS:
            self._clients.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self._rate


class Guard:
    """Wraps an application. It checks the host name, the rate and the token, counts requests, and turns errors into
    sentences.

    `complain` receives internal errors, whose details aren't sent to clients.
    """

    def __init__(
        self, app: ASGIApp, settings: ServerSettings, metrics: Metrics, complain: Callable[[str], object]
    ) -> None:
        self._app, self._settings, self._metrics, self._complain = app, settings, metrics, complain
        self._rate = RateLimit(settings.rate)
        self._token = None if settings.token is None else f"Bearer {settings.token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, statuses = time.monotonic(), list[int]()
        body = _Body(receive)

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
                _add_headers(message)
            await send(message)

        with suppress(ClientDisconnect):
            refused = await self._refusal_of(scope, body, send_guarded)
            if refused is not None and not statuses:
                if "expect" not in Headers(
                    scope=scope
                ):  # a client that waits for permission to send hasn't sent a body
                    await body.discard(2 * self._settings.largest)
                await JSONResponse({"error": str(refused)}, refused.status, refused.headers)(scope, body, send_guarded)
        path = scope["path"] if scope["path"] in _PATHS else "other"
        if statuses:
            self._metrics.add_request(path, statuses[0], time.monotonic() - start)

    async def _refusal_of(self, scope: Scope, receive: Receive, send: Send) -> RefusedError | None:
        """Let the application answer. Returns a refusal if it doesn't."""
        try:
            self._check_request(scope)
            await self._app(scope, receive, send)
        except RefusedError as problem:
            return problem
        except ClientDisconnect:
            raise
        except Exception as problem:
            self._complain(str(problem) if isinstance(problem, CaffeError) else f"a request failed: {problem!r}")
            text = "the server failed on this request; its own log has the details"
            return RefusedError(HTTPStatus.INTERNAL_SERVER_ERROR, text)
        return None

    def _check_request(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        host = headers.get("host", "").lower()
        if self._settings.is_local and _without_port(host) not in self._settings.names:
            raise RefusedError(
                HTTPStatus.MISDIRECTED_REQUEST, "this server has another host name; use the address that it printed"
            )
        if scope["path"] not in _PATHS:
            paths = "unknown path; use POST /predict for an image, and GET /, /card, /health, /ready and /metrics"
            raise RefusedError(HTTPStatus.NOT_FOUND, paths)
        if scope["path"] not in _OPEN_PATHS:
            self._check_rate(scope)
            self._check_token(headers)

    def _check_rate(self, scope: Scope) -> None:
        client = scope.get("client")
        wait = self._rate.wait_of(client[0] if client else "")
        if wait:
            raise RefusedError(
                HTTPStatus.TOO_MANY_REQUESTS,
                "too many requests per second; wait a little and try again",
                math.ceil(wait),
            )

    def _check_token(self, headers: Headers) -> None:
        if self._token is None:
            return
        shown = headers.get("authorization", "").encode("latin-1")
        if not hmac.compare_digest(shown, self._token):
            raise RefusedError(
                HTTPStatus.UNAUTHORIZED, "the token is missing or wrong; send it as 'Authorization: Bearer TOKEN'"
            )


class _Body:
    """The body of a request while it arrives."""

    def __init__(self, receive: Receive) -> None:
        self._receive, self._is_complete = receive, False

    async def __call__(self) -> Message:
        message = await self._receive()
        self._is_complete = not message.get("more_body")
        return message

    async def discard(self, most: int) -> None:
        """Read and discard the rest of the body, within limits, since a client reads the reason only after sending its
        body."""
        size = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(_DISCARDED_SECONDS):
                while not self._is_complete and size <= most:
                    size += len((await self()).get("body", b""))


def _add_headers(message: Message) -> None:
    headers = MutableHeaders(scope=message)
    for name, value in _HEADERS.items():
        headers[name] = value
    headers.setdefault("Content-Security-Policy", _NO_CONTENT)


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host
