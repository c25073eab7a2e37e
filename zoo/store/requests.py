"""Requests over HTTP with Python's own urllib, whose problems become sentences."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPException, HTTPMessage, HTTPResponse
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from zoo.store.errors import (
    DownloadError,
    InterruptedTransferError,
    MissingFileError,
    RangeRefusedError,
    UnreachableError,
)

_SCHEMES = ("http", "https")
_LATER = (408, 425, 429, 500, 502, 503, 504)  # what may pass
_NO_SUCH_RANGE = 416  # the part that is here is none of this file
_DENIED = (401, 403)
_GONE = (404, 410)


@contextmanager
def open_address(address: str, headers: Mapping[str, str], silence: float) -> Iterator[HTTPResponse]:
    """The answer to a request for an address, by the proxies that the environment names.

    Problems while it is read are errors that name the address, too: those that may pass are interruptions.
    """
    check_address(address)
    # Nothing is compressed on its way, since lengths and ranges are those of the file.
    request = Request(address, headers={"User-Agent": "netdsl", "Accept-Encoding": "identity", **headers})
    try:
        with build_opener(_Redirects).open(request, timeout=silence) as response:
            yield response
    except HTTPError as problem:
        with problem:
            raise _refusal(address, problem.code, problem.reason) from None
    except URLError as problem:
        raise _unreachable(address, problem.reason) from None
    except TimeoutError:
        raise InterruptedTransferError(f"{address}: the server is silent for {silence:g} seconds") from None
    except (OSError, HTTPException) as problem:
        reason = getattr(problem, "strerror", None) or type(problem).__name__
        raise InterruptedTransferError(f"{address}: the transfer broke off: {reason}") from None


def check_address(address: str) -> None:
    """Raise an error for what is no address of a file on the web, or has a password, which would be kept with it."""
    try:
        parts = urlsplit(address)
        is_address = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address or not address.isascii() or any(letter <= " " for letter in address):
        raise DownloadError(f"{address}: is no address of a file, such as https://example.org/net.caffemodel")
    if "@" in parts.netloc:
        raise DownloadError(f"{parts.hostname}: addresses with a password in them aren't taken, since they are kept")


class _Redirects(HTTPRedirectHandler):
    """Redirects stay on the web and don't lose encryption, and no other host gets to see a token."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        # Other schemes than these and FTP's are refused by urllib itself.
        before, after = urlsplit(req.full_url), urlsplit(newurl)
        if after.scheme not in _SCHEMES or (before.scheme, after.scheme) == ("https", "http"):
            fp.close()
            raise DownloadError(f"{req.full_url}: leads to {newurl}, which isn't followed from {before.scheme}")
        request = super().redirect_request(req, fp, code, msg, headers, newurl)
        if request is not None and before.netloc != after.netloc:
            request.remove_header("Authorization")
        return request


def _refusal(address: str, code: int, reason: Any) -> DownloadError:
    sentence = f"{address}: the server answers {code} {reason}".rstrip()
    if code in _DENIED:
        return DownloadError(f"{sentence}; the file isn't public")
    if code == _NO_SUCH_RANGE:
        return RangeRefusedError(sentence)
    if code in _GONE:
        return MissingFileError(sentence)
    return (InterruptedTransferError if code in _LATER else DownloadError)(sentence)


def _unreachable(address: str, reason: Any) -> DownloadError:
    host = urlsplit(address).hostname
    if isinstance(reason, ssl.SSLCertVerificationError):
        return UnreachableError(f"{address}: the certificate of {host} isn't trusted: {reason.verify_message}")
    if isinstance(reason, TimeoutError):
        return InterruptedTransferError(f"{address}: {host} doesn't answer")
    if isinstance(reason, (ConnectionError, ssl.SSLError)):
        return InterruptedTransferError(f"{address}: {host} can't be reached: {_words(reason)}")
    return UnreachableError(f"{address}: {host} can't be reached: {_words(reason)}")


def _words(reason: Any) -> str:
    return getattr(reason, "strerror", None) or str(reason)
