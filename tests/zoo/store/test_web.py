"""Servers that never end, or that state something else than they send: each ends with a sentence in bounded time."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, repeat
from pathlib import Path

import pytest

from tests.zoo.store.conftest import Told
from tests.zoo.store.file_server import FileServer, answering
from zoo.store.download import download
from zoo.store.errors import DeadlineError, DownloadError, InterruptedTransferError, PrivateAddressError
from zoo.store.public_addresses import AddressGuard
from zoo.store.transfers import ANY_FILE

FOUND = b"HTTP/1.1 200 OK\r\n"
CHUNKED = FOUND + b"Transfer-Encoding: chunked\r\n\r\n"


class Clock:
    """A clock that advances whenever it is read."""

    def __init__(self, step: float) -> None:
        self.now, self._step = 0.0, step

    def __call__(self) -> float:
        self.now += self._step
        return self.now


def endless(start: bytes, rest: bytes) -> Iterable[bytes]:
    return chain([start], repeat(rest))


@pytest.mark.parametrize(
    ("start", "rest"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"", b"HTTP/1.1 100 Continue\r\nX-Wait: yes\r\n\r\n"),
        (FOUND + b"X-Slow: ", b"a"),
        (CHUNKED, b""),
        (CHUNKED + b"1\r\nx\r\n1;", b"a"),
        (CHUNKED + b"1\r\nx\r\n0\r\n", b"X-Trailer: yes\r\n"),
    ],
    ids=["100 Continue", "100 Continue with headers", "a header", "no chunk", "an extension", "trailers"],
)
def test_an_answer_without_an_end_is_abandoned(tmp_path: Path, told: Told, start: bytes, rest: bytes) -> None:
    pieces = endless(start, rest) if rest else [start]
    with answering(lambda _: pieces) as server, pytest.raises(InterruptedTransferError) as raised:
        download(
            tmp_path / "net.caffemodel",
            [f"{server}/net.caffemodel"],
            ANY_FILE,
            told.settings(silence=10, attempts=2, clock=Clock(1), began=0),
        )
    assert str(raised.value).startswith(f"{server}/net.caffemodel: the ")
    assert len(told.notices) == 1 and not (tmp_path / "net.caffemodel").exists()


def test_the_body_of_a_redirect_is_not_read(tmp_path: Path, told: Told) -> None:
    def answer(number: int) -> Iterable[bytes]:
        if number == 0:
            return endless(b"HTTP/1.1 302 Found\r\nLocation: /other\r\n\r\n", bytes(1 << 16))
        return [FOUND + b"Content-Length: 5\r\n\r\nlabel"]

    with answering(answer) as server:
        download(tmp_path / "labels.txt", [f"{server}/labels.txt"], ANY_FILE, told.settings(attempts=1))
    assert (tmp_path / "labels.txt").read_bytes() == b"label"


def test_redirects_without_an_end_are_refused(tmp_path: Path, told: Told) -> None:
    def answer(number: int) -> Iterable[bytes]:
        return [b"HTTP/1.1 302 Found\r\nLocation: /%d\r\nContent-Length: 0\r\n\r\n" % number]

    with answering(answer) as server, pytest.raises(DownloadError, match="redirect"):
        download(tmp_path / "net.caffemodel", [f"{server}/x"], ANY_FILE, told.settings())


def test_a_slow_body_is_abandoned_and_continued(tmp_path: Path, told: Told) -> None:
    def answer(number: int) -> Iterable[bytes]:
        return endless(FOUND + b'ETag: "one"\r\nContent-Length: 1000000000\r\n\r\n', b"a")

    slow = (
        r"has sent [\d,]+ bytes in [\d.]+ seconds, which is slower than 1,048,576 bytes per second; allow less with --m"
    )
    with answering(answer) as server, pytest.raises(InterruptedTransferError, match=slow):
        download(
            tmp_path / "labels.txt",
            [f"{server}/labels.txt"],
            ANY_FILE,
            told.settings(silence=10, least_speed=1 << 20, attempts=1, clock=Clock(3), began=0),
        )
    assert (tmp_path / "labels.txt.part").stat().st_size > 0


def test_a_deadline_ends_the_whole_pull(tmp_path: Path, told: Told) -> None:
    connections = []

    def answer(number: int) -> Iterable[bytes]:
        connections.append(number)
        return endless(FOUND + b"\r\n", b"a")

    with answering(answer) as server, pytest.raises(DeadlineError) as raised:
        download(
            tmp_path / "labels.txt",
            [f"{server}/labels.txt", f"{server}/mirror"],
            ANY_FILE,
            told.settings(silence=1000, deadline=20, clock=Clock(1), began=0),
        )
    assert str(raised.value) == (
        f"{server}/labels.txt: the pull has taken 20 seconds; run the same command again, which continues the "
        "transfer, or allow more time with --deadline"
    )
    assert connections == [0] and (tmp_path / "labels.txt.part").exists()


@pytest.mark.parametrize(
    ("headers", "problem"),
    [
        (b"Content-Length: -5\r\n", "a length that isn't a number of bytes"),
        (b"Content-Length: " + b"9" * 5000 + b"\r\n", "a length that isn't a number of bytes"),
        (b"Content-Length: 0x5\r\n", "a length that isn't a number of bytes"),
        (b"Content-Length: \xb2\r\n", "a length that isn't a number of bytes"),
        (b"Content-Length: 5\r\nContent-Length: 6\r\n", "several lengths"),
        (b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "a length, and an encoding that has its own"),
    ],
)
def test_an_unclear_length_is_refused(tmp_path: Path, told: Told, headers: bytes, problem: str) -> None:
    with answering(lambda _: [FOUND + headers + b"\r\nlabel"]) as server, pytest.raises(DownloadError) as raised:
        download(tmp_path / "labels.txt", [f"{server}/labels.txt"], ANY_FILE, told.settings())
    assert f"/labels.txt: the server states {problem}, so the end of the file is unclear; pull" in str(raised.value)


def test_a_length_that_is_stated_twice_is_accepted(tmp_path: Path, told: Told) -> None:
    answer = FOUND + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nlabel"
    with answering(lambda _: [answer]) as server:
        download(tmp_path / "labels.txt", [f"{server}/labels.txt"], ANY_FILE, told.settings())


def test_a_range_with_thousands_of_digits_is_not_a_range(tmp_path: Path, told: Told) -> None:
    def answer(number: int) -> Iterable[bytes]:
        if number == 0:
            return [FOUND + b'ETag: "one"\r\nContent-Length: 5\r\n\r\nla']
        if number == 1:
            return [b"HTTP/1.1 206 Partial\r\nContent-Range: bytes 2-4/" + b"5" * 5000 + b"\r\n\r\nbel"]
        return [FOUND + b'ETag: "one"\r\nContent-Length: 5\r\n\r\nlabel']

    with answering(answer) as server:
        download(tmp_path / "labels.txt", [f"{server}/labels.txt"], ANY_FILE, told.settings())
    assert (tmp_path / "labels.txt").read_bytes() == b"label"


@pytest.mark.parametrize(
    "form", ["http://localhost", "http://2130706433", "http://0177.0.0.1", "http://[::ffff:7f00:1]"]
)
def test_a_redirect_to_a_private_address_is_refused(server: FileServer, tmp_path: Path, told: Told, form: str) -> None:
    server.put("/secret", b"secret")
    server.put("/open", redirect=f"{form}:{server.port}/secret")
    guard = AddressGuard([server.url("/open")])
    with pytest.raises(PrivateAddressError, match=r"the host's address (127\.0\.0\.1|::1|::ffff:127\.0\.0\.1) isn't"):
        download(tmp_path / "labels.txt", [server.url("/open")], ANY_FILE, told.settings(guard=guard))
    assert server.asked_for("/secret") == []
    server.put("/same", redirect=server.url("/secret"))
    download(tmp_path / "labels.txt", [server.url("/same")], ANY_FILE, told.settings(guard=guard))
    assert (tmp_path / "labels.txt").read_bytes() == b"secret"


def test_a_proxy_may_be_private_but_the_addresses_behind_it_may_not(
    server: FileServer, tmp_path: Path, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", server.url(""))
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    server.put("http://models.invalid/labels.txt", b"label")
    settings = told.settings(guard=AddressGuard())
    download(tmp_path / "labels.txt", ["http://models.invalid/labels.txt"], ANY_FILE, settings)
    for host in ("127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::1]", "169.254.169.254", "a.localhost"):
        server.put(f"http://{host}/labels.txt", b"label")
        with pytest.raises(PrivateAddressError):
            download(tmp_path / "labels.txt", [f"http://{host}/labels.txt"], ANY_FILE, settings)
    assert len(server.asked) == 1
