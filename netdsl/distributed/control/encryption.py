"""TLS over a socket. One thread may receive while another one sends, which Python's own TLS sockets don't allow."""

from __future__ import annotations

import hashlib
import secrets
import socket
import ssl
import threading
import time
from typing import Any

_FETCHED = 1 << 20  # bytes that are received from the network at once
_SENT = 1 << 20  # bytes that are encrypted at once; on a busy machine, smaller parts wait for the other end more often


def new_context(protocol: int) -> ssl.SSLContext:
    """Return settings that allow only TLS 1.3."""
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    if protocol == ssl.PROTOCOL_TLS_SERVER:
        context.num_tickets = 0  # no connection is resumed
    else:  # the fingerprint replaces names and authorities
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def fingerprint_of(certificate: bytes) -> str:
    """Return the SHA-256 of a certificate, in hexadecimal digits."""
    return hashlib.sha256(certificate).hexdigest()


class EncryptedSocket:
    """A socket whose bytes are encrypted. The handshake must come first."""

    def __init__(self, connection: socket.socket, context: ssl.SSLContext, *, server: bool) -> None:
        self._socket = connection
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=server)
        self._using, self._sending = threading.Lock(), threading.Lock()
        self._fetched = memoryview(bytearray(_FETCHED))

    def shake_hands(self, deadline: float, fingerprint: str | None = None) -> None:
        """Agree on keys with the other end before the deadline, and check its certificate if a fingerprint is given.

        Raises a `ConnectionResetError` if the other end closes the connection before that.
        """
        while not self._is_agreed():
            self._socket.settimeout(_remaining(deadline))
            if not self._fetch():
                raise ConnectionResetError("the other end closed the connection")
        if fingerprint is not None:
            certificate = self._tls.getpeercert(binary_form=True) or b""
            if not secrets.compare_digest(fingerprint_of(certificate), fingerprint):
                raise ConnectionError("another program answers there, with another certificate")

    def _is_agreed(self) -> bool:
        """Return whether the handshake is complete at this end. Sends what belongs to it."""
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        finally:  # an error is sent to the other end too
            self._socket.sendall(self._outgoing.read())
        return True

    def sendall(self, data: bytes | bytearray | memoryview) -> None:
        """Send all bytes."""
        view = memoryview(data)
        with self._sending:
            for start in range(0, len(view), _SENT):
                with self._using:
                    self._tls.write(view[start : start + _SENT])
                    encrypted = self._outgoing.read()
                self._socket.sendall(encrypted)

    def recv(self, length: int) -> bytes:
        """Return at most this many bytes, or none at the end."""
        data = bytearray(length)
        return bytes(data[: self.recv_into(data)])

    def recv_into(self, buffer: bytearray | memoryview) -> int:
        """Fill the beginning of a buffer, and return the number of bytes, which is 0 at the end."""
        view = memoryview(buffer)
        while not (count := self._decrypt(view)):
            if not self._fetch():
                return 0
        return count

    def _decrypt(self, view: memoryview) -> int:
        """Fill the beginning of a buffer with bytes that have arrived, and return their number."""
        count = 0
        with self._using:
            while count < len(view):
                try:
                    more = self._tls.read(len(view) - count, view[count:])
                except ssl.SSLWantReadError:
                    break
                if not more:
                    break
                count += int(more)
        return count

    def _fetch(self) -> bool:
        """Receive encrypted bytes. Returns whether there were any before the end."""
        count = self._socket.recv_into(self._fetched)
        with self._using:
            self._incoming.write(self._fetched[:count])
        return bool(count)

    def settimeout(self, seconds: float | None) -> None:
        """Limit the time of the following operations."""
        self._socket.settimeout(seconds)

    def gettimeout(self) -> float | None:
        """Return the limit of the time of an operation."""
        return self._socket.gettimeout()

    def fileno(self) -> int:
        """Return the descriptor, for selectors. Bytes that have arrived with earlier ones don't wake them."""
        return self._socket.fileno()

    def getsockname(self) -> Any:
        """Return the address of this end."""
        return self._socket.getsockname()

    def getpeername(self) -> Any:
        """Return the address of the other end."""
        return self._socket.getpeername()

    def shutdown(self, how: int) -> None:
        """End the connection in one direction or both."""
        self._socket.shutdown(how)

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()


Endpoint = socket.socket | EncryptedSocket


def _remaining(deadline: float) -> float:
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError("the other end took too long for the handshake")
    return seconds
