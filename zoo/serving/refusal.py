"""Refusals: requests that aren't answered, with a status of HTTP and a sentence."""

from __future__ import annotations

from http import HTTPStatus


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
