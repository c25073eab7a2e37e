"""Opens addresses on the web. No server can make a transfer wait, or lead it to a private network, beyond the
settings."""

from __future__ import annotations

import io
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPResponse, HTTPSConnection
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from caffe_proto.whole_numbers import whole_number
from zoo.store.errors import (
    DownloadError,
    InterruptedTransferError,
    MissingFileError,
    RangeRefusedError,
    UnreachableError,
)
from zoo.store.patience import Patience
from zoo.store.transfers import TransferSettings

_SCHEMES = ("http", "https")
_LATER = (408, 425, 429, 500, 502, 503, 504)  # codes of temporary problems
_NO_SUCH_RANGE = 416  # the local part isn't part of this file
_DENIED = (401, 403)
_GONE = (404, 410)
_PIECE = 1 << 18


class WebFile:
    """A file that a server is sending."""

    def __init__(self, address: str, response: HTTPResponse, patience: Patience) -> None:
        self._address, self._response, self._patience = address, response, patience
        self.status = response.status

    def header(self, name: str) -> str:
        """Return a header, or an empty text."""
        return self._response.headers.get(name, "")

    @property
    def length(self) -> int | None:
        """The number of bytes that follow, or `None` if the server doesn't send it."""
        texts = sorted(set(self._response.headers.get_all("Content-Length", ())))
        if not texts:
            return None
        if len(texts) > 1:
            problem = "several lengths"
        elif self.header("Transfer-Encoding"):
            problem = "a length, and an encoding that has its own"
        elif (length := whole_number(texts[0])) is None:
            problem = "a length that isn't a number of bytes"
        else:
            return length
        raise DownloadError(
            f"{self._address}: the server states {problem}, so the end of the file is unclear; pull the model from "
            "another address, or download the file yourself"
        )

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes as they arrive."""
        while True:
            self._patience.begin_wait()
            piece = self._response.read1(_PIECE)
            if not piece:
                return
            self._patience.end_wait(len(piece))
            yield piece


@contextmanager
def open_address(address: str, headers: Mapping[str, str], settings: TransferSettings) -> Iterator[WebFile]:
    """Yield the file of an address, through the proxies that the environment names.

    Errors while it is read also name the address. Temporary ones are interruptions.
    """
    check_address(address)
    patience = Patience(address, settings)
    # Disable compression, so that lengths and ranges refer to the file itself.
    request = Request(address, headers={"User-Agent": "netdsl", "Accept-Encoding": "identity", **headers})
    opener = build_opener(_Redirects, _Plain(settings, patience), _Secure(settings, patience))
    try:
        with opener.open(request, timeout=patience.seconds_left()) as response:
            yield WebFile(address, response, patience)
    except HTTPError as problem:
        problem.close()
        raise _refusal(address, problem.code, problem.reason) from None
    except TimeoutError:
        raise patience.problem() from None
    except URLError as problem:
        raise _unreachable(address, problem.reason, patience) from None
    except (OSError, HTTPException) as problem:
        reason = getattr(problem, "strerror", None) or type(problem).__name__
        raise InterruptedTransferError(f"{address}: the transfer was interrupted: {reason}") from None


def check_address(address: str) -> None:
    """Raise an error if the text isn't the address of a file on the web, or if it contains a password, which would be
    stored."""
    try:
        parts = urlsplit(address)
        is_address = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address or not address.isascii() or any(letter <= " " for letter in address):
        raise DownloadError(f"{address}: not the address of a file; write it as in https://example.org/net.caffemodel")
    if "@" in parts.netloc:
        raise DownloadError(f"{parts.hostname}: the address contains a password, which would be stored; remove it")


class _PatientReader(io.RawIOBase):
    """Reads from a socket. Each call waits only as long as the patience lasts."""

    def __init__(self, connection: socket.socket, patience: Patience) -> None:
        self._connection, self._patience = connection, patience
        self._file = connection.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._connection.settimeout(self._patience.seconds_left())
        return self._file.readinto(buffer)

    def close(self) -> None:
        self._file.close()
        super().close()


class _PatientSocket:
    """The part of a socket that a response uses."""

    def __init__(self, connection: socket.socket, patience: Patience) -> None:
        self._reader = _PatientReader(connection, patience)

    def makefile(self, mode: str) -> IO[bytes]:
        """Return the reader of the socket."""
        return io.BufferedReader(self._reader)


class _PatientConnection(HTTPConnection):
    """A connection whose socket comes from a function, and whose responses are read with patience."""

    def __init__(
        self, host: str, *, connect: Callable[[str, int], socket.socket], patience: Patience, **settings: Any
    ) -> None:
        super().__init__(host, **settings)
        self._create_connection = lambda place, *_: connect(*place)
        self.response_class = partial(self._response_of, patience)  # type: ignore[assignment]

    @staticmethod
    def _response_of(patience: Patience, connection: socket.socket, *args: Any, **settings: Any) -> HTTPResponse:
        return HTTPResponse(_PatientSocket(connection, patience), *args, **settings)  # type: ignore[arg-type]


class _PatientSecureConnection(_PatientConnection, HTTPSConnection):
    """The same over TLS."""


def _connector(request: Request, settings: TransferSettings, patience: Patience) -> Callable[[str, int], socket.socket]:
    """Return the function that connects to the host of a request, or to the proxy that the environment names."""
    address = request.full_url
    if not request.has_proxy() and not getattr(request, "_tunnel_host", None):
        return lambda host, port: settings.guard.connect(address, host, port, patience.seconds_left)
    settings.guard.check_before_proxy(address)
    return lambda host, port: socket.create_connection((host, port), patience.seconds_left())


class _Plain(HTTPHandler):
    """Opens http addresses."""

    def __init__(self, settings: TransferSettings, patience: Patience) -> None:
        super().__init__()
        self._settings, self._patience = settings, patience

    def http_open(self, req: Request) -> HTTPResponse:
        connect = _connector(req, self._settings, self._patience)
        return self.do_open(partial(_PatientConnection, connect=connect, patience=self._patience), req)


class _Secure(HTTPSHandler):
    """Opens https addresses."""

    def __init__(self, settings: TransferSettings, patience: Patience) -> None:
        super().__init__()
        self._settings, self._patience = settings, patience

    def https_open(self, req: Request) -> HTTPResponse:
        connect = _connector(req, self._settings, self._patience)
        return self.do_open(partial(_PatientSecureConnection, connect=connect, patience=self._patience), req)


class _Redirects(HTTPRedirectHandler):
    """Follows redirects only on the web and never from HTTPS to HTTP. Tokens aren't sent to other hosts."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        fp.close()  # urllib would read all of its body
        # urllib itself only allows these schemes and FTP.
        before, after = urlsplit(req.full_url), urlsplit(newurl)
        if after.scheme not in _SCHEMES or (before.scheme, after.scheme) == ("https", "http"):
            raise DownloadError(
                f"{req.full_url}: the server redirects to {newurl}, which isn't allowed from {before.scheme}; "
                "pull the new address itself, if you trust it"
            )
        request = super().redirect_request(req, fp, code, msg, headers, newurl)
        if request is not None and before.netloc != after.netloc:
            request.remove_header("Authorization")
        return request


def _refusal(address: str, code: int, reason: Any) -> DownloadError:
    sentence = f"{address}: the server answers {code} {reason}".rstrip()
    if code in _DENIED:
        return DownloadError(
            f"{sentence}; run `hf auth login` if it is on the Hugging Face hub, or download the file yourself"
        )
    if code == _NO_SUCH_RANGE:
        return RangeRefusedError(sentence)
    if code in _GONE:
        return MissingFileError(sentence)
    return (InterruptedTransferError if code in _LATER else DownloadError)(sentence)


def _unreachable(address: str, reason: Any, patience: Patience) -> DownloadError:
    host = urlsplit(address).hostname
    if isinstance(reason, ssl.SSLCertVerificationError):
        return UnreachableError(f"{address}: the certificate of {host} isn't trusted: {reason.verify_message}")
    if isinstance(reason, TimeoutError):
        return patience.problem()
    if isinstance(reason, (ConnectionError, ssl.SSLError)):
        return InterruptedTransferError(f"{address}: {host} can't be reached: {_reason_text(reason)}")
    return UnreachableError(f"{address}: {host} can't be reached: {_reason_text(reason)}")


def _reason_text(reason: Any) -> str:
    return getattr(reason, "strerror", None) or str(reason)
