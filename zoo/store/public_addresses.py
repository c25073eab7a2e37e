"""The addresses that a pull may connect to: public ones, and hosts that the user typed."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Iterable
from urllib.parse import unquote, urlsplit

from zoo.store.errors import PrivateAddressError

_PORTS = {"http": 80, "https": 443}
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def is_public(number: str) -> bool:
    """Return whether an IP address belongs to the public internet. IPv6 addresses that stand for an IPv4 address count
    as that one."""
    address = ipaddress.ip_address(number.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        translated = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF) if address in _NAT64 else None
        inner = address.ipv4_mapped or address.sixtofour or translated
        if inner is not None or address.is_site_local:
            return inner is not None and is_public(str(inner))
    return address.is_global and not (address.is_multicast or address.is_reserved)


class AddressGuard:
    """Decides which hosts a pull may connect to.

    It checks the number that a socket connects to, so a name can't change its meaning between the check and the
    connection. A host that the user typed may be private, unless it was public before.
    """

    def __init__(self, typed: Iterable[str] = (), *, any_address: bool = False) -> None:
        self._any_address = any_address
        self._typed = {_origin(address) for address in typed if "://" in address}

    def allow(self, addresses: Iterable[str]) -> AddressGuard:
        """Return a guard that also allows the hosts of addresses that the user typed."""
        allowed = AddressGuard(addresses, any_address=self._any_address)
        allowed._typed |= self._typed
        return allowed

    def connect(self, address: str, host: str, port: int, seconds_left: Callable[[], float]) -> socket.socket:
        """Return a connection to the host of an address. All attempts together take no longer than the seconds that are
        left."""
        problem = OSError(f"{host} has no address")
        for family, kind, protocol, _, place in _resolved(host, port):
            self._check_number(address, (host.lower(), port), str(place[0]))
            connection = socket.socket(family, kind, protocol)
            try:
                connection.settimeout(seconds_left())
                connection.connect(place)
            except OSError as error:
                connection.close()
                problem = error
            else:
                return connection
        raise problem

    def check_before_proxy(self, address: str) -> None:
        """Raise an error if an address names a private host as a number or as localhost. A proxy looks up all other
        names itself, so nothing else can be checked."""
        host, port = _origin(address)
        if host == "localhost" or host.endswith(".localhost"):
            self._check_number(address, (host, port), "127.0.0.1")
        for number in _numbers_of(host):
            self._check_number(address, (host, port), number)

    def _check_number(self, address: str, origin: tuple[str, int], number: str) -> None:
        if is_public(number):
            self._typed.discard(origin)
        elif origin not in self._typed and not self._any_address:
            raise PrivateAddressError(
                f"{address}: the host's address {number} isn't public, and a card, a redirect or a lock file named it; "
                "if you trust them, run the same command again with --any-address"
            )


def _origin(address: str) -> tuple[str, int]:
    """Return the host and the port of an address."""
    parts = urlsplit(address)
    return unquote(parts.hostname or "").lower(), parts.port or _PORTS.get(parts.scheme, 0)


def _resolved(host: str, port: int) -> Iterable[tuple[int, int, int, str, tuple[object, ...]]]:
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError:
        raise OSError("a host can't have this name") from None


def _numbers_of(host: str) -> list[str]:
    """Return the IP address that a host is written as, in any of the forms that systems accept."""
    try:
        return [socket.inet_ntoa(socket.inet_aton(host))]
    except OSError:
        pass
    try:
        return [str(ipaddress.ip_address(host))]
    except ValueError:
        return []
