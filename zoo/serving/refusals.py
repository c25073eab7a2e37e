"""Refusals: their reasons, which the metrics count, and the answer that a client gets."""

from __future__ import annotations

from enum import Enum
from http import HTTPStatus

from starlette.responses import JSONResponse, Response

SAFE_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}


class Reason(Enum):
    """A reason to refuse a request: its name in the metrics, and the status of the answer."""

    HOST = "host", HTTPStatus.MISDIRECTED_REQUEST
    PATH = "path", HTTPStatus.NOT_FOUND
    METHOD = "method", HTTPStatus.METHOD_NOT_ALLOWED
    RATE = "rate", HTTPStatus.TOO_MANY_REQUESTS
    TOKEN = "token", HTTPStatus.UNAUTHORIZED
    TYPE = "type", HTTPStatus.UNSUPPORTED_MEDIA_TYPE
    QUERY = "query", HTTPStatus.BAD_REQUEST
    BODY = "body", HTTPStatus.BAD_REQUEST
    SIZE = "size", HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    IMAGE = "image", HTTPStatus.UNPROCESSABLE_ENTITY
    MALFORMED = "malformed", HTTPStatus.BAD_REQUEST
    HEAD = "head", HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
    SLOW_HEAD = "slow_head", HTTPStatus.REQUEST_TIMEOUT
    SLOW = "slow", HTTPStatus.SERVICE_UNAVAILABLE
    UNREAD = "unread", HTTPStatus.SERVICE_UNAVAILABLE  # the client doesn't read, so the connection just ends
    GAVE_WAY = "gave_way", HTTPStatus.SERVICE_UNAVAILABLE
    QUEUE = "queue", HTTPStatus.SERVICE_UNAVAILABLE
    CONNECTIONS = "connections", HTTPStatus.SERVICE_UNAVAILABLE
    NOT_READY = "not_ready", HTTPStatus.SERVICE_UNAVAILABLE
    ERROR = "error", HTTPStatus.INTERNAL_SERVER_ERROR

    @property
    def label(self) -> str:
        """The reason's name in the metrics."""
        return self.value[0]

    @property
    def status(self) -> HTTPStatus:
        """The status of the answer."""
        return self.value[1]


class RefusedError(Exception):
    """A refused request. `after` is the number of seconds after which the client may try again."""

    def __init__(self, reason: Reason, sentence: str, after: int | None = None) -> None:
        super().__init__(sentence)
        self.reason, self.after = reason, after
        if after is None and reason.status is HTTPStatus.SERVICE_UNAVAILABLE:
            self.after = 1

    def response(self) -> Response:
        """Return the answer. It ends the connection, because the rest of the request isn't read."""
        headers = {**SAFE_HEADERS, "Connection": "close"}
        if self.after is not None:
            headers["Retry-After"] = str(self.after)
        if self.reason is Reason.TOKEN:
            headers["WWW-Authenticate"] = "Bearer"
        return JSONResponse({"error": str(self)}, self.reason.status, headers)
