"""The guard, through which every request passes before it is read, and every response before it is sent."""

from __future__ import annotations

import hmac
import math
import time
from asyncio import timeout
from collections.abc import Callable
from contextlib import suppress

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from caffe_proto.errors import CaffeError
from zoo.serving.clients import RateLimit, requesting_client
from zoo.serving.metrics import Metrics
from zoo.serving.refusals import SAFE_HEADERS, Reason, RefusedError
from zoo.serving.settings import PREDICT, ServerSettings

_OPEN_PATHS = ("/", "/health", "/ready")  # paths that reveal nothing about the model, and need no token
_PATHS = (*_OPEN_PATHS, PREDICT, "/metrics", "/card")
_PREDICTIONS_PER_OTHER = 10  # monitoring and the page ask rarely
_DISCARDED_SECONDS = 2.0  # limit for reading and discarding a refused body, so that the client gets the reason


class Guard:
    """Wraps an application. It checks the rate, the host name, the path and the token, counts requests, and turns
    errors into sentences.

    Predictions and other requests have separate rates, so a busy client's monitoring continues.

    `complain` receives internal errors, whose details aren't sent to clients.
    """

    def __init__(
        self, app: ASGIApp, settings: ServerSettings, metrics: Metrics, complain: Callable[[str], object]
    ) -> None:
        self._app, self._settings, self._metrics, self._complain = app, settings, metrics, complain
        self._predictions, self._others = RateLimit(settings.rate), RateLimit(settings.rate / _PREDICTIONS_PER_OTHER)
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
                self._metrics.add_refusal(refused.reason)
                # A client that waits for permission to send hasn't sent a body.
                if "expect" not in Headers(scope=scope):
                    await body.discard(2 * self._settings.largest)
                await refused.response()(scope, body, send_guarded)
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
            return RefusedError(Reason.ERROR, text)
        return None

    def _check_request(self, scope: Scope) -> None:
        headers, path = Headers(scope=scope), scope["path"]
        self._check_rate(scope)
        host = headers.get("host", "").lower()
        if self._settings.is_local and _without_port(host) not in self._settings.names:
            raise RefusedError(Reason.HOST, "this server has another host name; use the address that it printed")
        if path not in _PATHS:
            paths = "unknown path; use POST /predict for an image, and GET /, /card, /health, /ready and /metrics"
            raise RefusedError(Reason.PATH, paths)
        methods = ("POST",) if path == PREDICT else ("GET", "HEAD")
        if scope["method"] not in methods:
            raise RefusedError(Reason.METHOD, f"{path} doesn't have this method; use {methods[0]}")
        if path != PREDICT and (headers.get("content-length", "0") != "0" or "transfer-encoding" in headers):
            raise RefusedError(Reason.BODY, f"{path} doesn't read a body; send the request without one")
        if path not in _OPEN_PATHS:
            self._check_token(headers)

    def _check_rate(self, scope: Scope) -> None:
        rate = self._predictions if scope["path"] == PREDICT else self._others
        wait = rate.wait_of(requesting_client(scope))
        if wait:
            text = "too many requests per second; wait a little and try again"
            raise RefusedError(Reason.RATE, text, math.ceil(wait))

    def _check_token(self, headers: Headers) -> None:
        if self._token is None:
            return
        shown = headers.get("authorization", "").encode("latin-1")
        if not hmac.compare_digest(shown, self._token):
            raise RefusedError(Reason.TOKEN, "the token is missing or wrong; send it as 'Authorization: Bearer TOKEN'")


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
            async with timeout(_DISCARDED_SECONDS):
                while not self._is_complete and size <= most:
                    size += len((await self()).get("body", b""))


def _add_headers(message: Message) -> None:
    headers = MutableHeaders(scope=message)
    for name, value in SAFE_HEADERS.items():
        headers.setdefault(name, value)


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host
