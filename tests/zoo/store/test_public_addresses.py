"""Which addresses are public, and which hosts a pull may connect to."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from zoo.store import public_addresses
from zoo.store.errors import PrivateAddressError
from zoo.store.public_addresses import AddressGuard, is_public


@pytest.mark.parametrize(
    "number", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"]
)
def test_public_addresses(number: str) -> None:
    assert is_public(number)


@pytest.mark.parametrize(
    "number",
    [
        "0.0.0.0", "127.0.0.1", "127.9.9.9", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
        "224.0.0.1", "240.0.0.1", "255.255.255.255", "192.0.2.1", "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1",
        "fec0::1", "ff02::1", "2001:db8::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1",
        "2002:7f00:1::1", "2001:0:4136:e378::1",
    ],
)  # fmt: skip
def test_addresses_that_are_not_public(number: str) -> None:
    assert not is_public(number)


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def test_only_the_host_and_port_that_the_user_typed_may_be_private(port: int) -> None:
    typed, other = f"http://127.0.0.1:{port}/net.prototxt", f"http://localhost:{port}/net.prototxt"
    AddressGuard([typed]).connect(typed, "127.0.0.1", port, lambda: 10).close()
    AddressGuard(any_address=True).connect(other, "localhost", port, lambda: 10).close()
    with pytest.raises(PrivateAddressError) as raised:
        AddressGuard([typed]).connect(other, "localhost", port, lambda: 10)
    assert str(raised.value).startswith(f"{other}: the host's address ")
    with pytest.raises(PrivateAddressError):
        AddressGuard([typed]).connect(other, "127.0.0.1", port + 1, lambda: 10)
    AddressGuard([typed]).allow([other]).connect(other, "localhost", port, lambda: 10).close()


def test_a_typed_name_that_was_public_may_not_become_private(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = f"http://localhost:{port}/net.prototxt"
    guard = AddressGuard([typed])
    monkeypatch.setattr(public_addresses, "is_public", lambda number: True)
    guard.connect(typed, "localhost", port, lambda: 10).close()
    monkeypatch.undo()
    with pytest.raises(PrivateAddressError):
        guard.connect(typed, "localhost", port, lambda: 10)
