"""The guard: what every request passes before anything of it is read, and every response on its way out."""

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

_MOST_CLIENTS = 4096  # that are remembered; those that asked longest ago are forgotten
_OPEN_PATHS = ("/", "/health", "/ready")  # which say nothing about the model, and need no token
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
_DISCARDED_SECONDS = 2.0  # for which a refused body is read and thrown away, so that the client hears why


class RefusedError(Exception):
    """A request that isn't answered; `after` says in how many seconds it may be tried again."""

    def __init__(self, status: HTTPStatus, sentence: str, after: int | None = None) -> None:
        super().__init__(sentence)
        self.status, self.after = status, after

    @property
    def headers(self) -> dict[str, str]:
        """What the response says beside the sentence."""
        headers = {"Connection": "close"}  # what is left of the request isn't read
        if self.after is not None:
            headers["Retry-After"] = str(self.after)
        if self.status is HTTPStatus.UNAUTHORIZED:
            headers["WWW-Authenticate"] = "Bearer"
        return headers


class RateLimit:
    """So many requests a second for each client, of which a second's may come at once."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._most, self._clock = rate, max(rate, 1.0), clock
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()  # requests that are left, and when

    def wait_of(self, client: str) -> float:
        """Return the seconds until a client may ask; if it may now, 0, and the request counts."""
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
    """Wraps an application: checks the host's name, the rate, the token; counts; makes errors sentences.

    `complain` hears of mistakes of ours, which a client isn't told.
    """

    def __init__(
        self, app: ASGIApp, settings: ServerSettings, metrics: Metrics, complain: Callable[[str], object]
    ) -> None:
        self._app, self._settings, self._metrics, self._complain = app, settings, metrics, complain
        self._rate = RateLimit(settings.rate)
        self._token = None if settings.token is None else f"Bearer {settings.token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
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
                if "expect" not in Headers(scope=scope):  # who expects leave to send hasn't sent anything
                    await body.discard(2 * self._settings.largest)
                await JSONResponse({"error": str(refused)}, refused.status, refused.headers)(scope, body, send_guarded)
        path = scope["path"] if scope["path"] in _PATHS else "other"
        if statuses:
            self._metrics.add_request(path, statuses[0], time.monotonic() - start)

    async def _refusal_of(self, scope: Scope, receive: Receive, send: Send) -> RefusedError | None:
        """Let the application answer, or say why it doesn't."""
        try:
            self._check_request(scope)
            await self._app(scope, receive, send)
        except RefusedError as problem:
            return problem
        except ClientDisconnect:
            raise
        except Exception as problem:
            self._complain(str(problem) if isinstance(problem, CaffeError) else f"a request failed: {problem!r}")
            text = "the server made a mistake; its own log says which"
            return RefusedError(HTTPStatus.INTERNAL_SERVER_ERROR, text)
        return None

    def _check_request(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        host = headers.get("host", "").lower()
        if self._settings.is_local and _without_port(host) not in self._settings.names:
            raise RefusedError(HTTPStatus.MISDIRECTED_REQUEST, "this server isn't called so; ask it at its own address")
        if scope["path"] not in _PATHS:
            paths = "there is POST /predict for an image, and GET /, /card, /health, /ready and /metrics"
            raise RefusedError(HTTPStatus.NOT_FOUND, paths)
        if scope["path"] not in _OPEN_PATHS:
            self._check_rate(scope)
            self._check_token(headers)

    def _check_rate(self, scope: Scope) -> None:
        client = scope.get("client")
        wait = self._rate.wait_of(client[0] if client else "")
        if wait:
            raise RefusedError(
                HTTPStatus.TOO_MANY_REQUESTS, "these are too many requests a second; wait a little", math.ceil(wait)
            )

    def _check_token(self, headers: Headers) -> None:
        if self._token is None:
            return
        shown = headers.get("authorization", "").encode("latin-1")
        if not hmac.compare_digest(shown, self._token):
            raise RefusedError(
                HTTPStatus.UNAUTHORIZED, "a request must show the server's token, as 'Authorization: Bearer TOKEN'"
            )


class _Body:
    """The body of a request as it comes in."""

    def __init__(self, receive: Receive) -> None:
        self._receive, self._is_complete = receive, False

    async def __call__(self) -> Message:
        message = await self._receive()
        self._is_complete = not message.get("more_body")
        return message

    async def discard(self, most: int) -> None:
        """Throw away what a client still sends, within limits: one that sends wouldn't read why it is refused."""
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
