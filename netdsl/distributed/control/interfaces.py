"""The addresses of this machine: those of its network interfaces, and its names."""

from __future__ import annotations

import array
import fcntl
import ipaddress
import socket
import struct
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_LIST_ADDRESSES = 0x8912  # SIOCGIFCONF, which requests the IPv4 addresses of all interfaces from Linux
_REQUEST = struct.Struct("iP")  # the length of a buffer, and its place in memory
_NAME, _FAMILY = 16, 8  # bytes of an interface's name, and those before the address in the entry behind it
_ENTRY = _NAME + 8 + 2 * struct.calcsize("P")  # bytes of an interface's entry
_MOST = 1024  # entries
_IPV6 = Path("/proc/net/if_inet6")
_LINK = 0x20  # the scope of IPv6 addresses that mean something on one link only
_NAMING = 1.0  # seconds for the name service to tell this machine's full name


class OwnAddress(NamedTuple):
    """An address of this machine, and the network interface that has it."""

    interface: str
    ip: str


def own_addresses() -> list[OwnAddress]:
    """Return the addresses of all network interfaces, IPv4 first. Addresses that need a scope are left out.

    Only Linux lists them. Elsewhere the list is empty.
    """
    if sys.platform != "linux":
        return []
    found = list[OwnAddress]()
    with suppress(OSError):
        found += _ipv4_addresses()
    with suppress(OSError):  # a system without IPv6 has no such file
        found += _ipv6_addresses(_IPV6.read_text())
    return found


def _ipv4_addresses() -> list[OwnAddress]:
    entries = array.array("B", bytes(_MOST * _ENTRY))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        answer = fcntl.ioctl(probe, _LIST_ADDRESSES, _REQUEST.pack(len(entries), entries.buffer_info()[0]))
    length, _ = _REQUEST.unpack(answer)
    found = []
    for start in range(0, length, _ENTRY):
        entry = entries[start : start + _ENTRY].tobytes()
        name = entry[:_NAME].partition(b"\0")[0].decode().partition(":")[0]  # eth0:1 is a label of eth0
        found.append(OwnAddress(name, socket.inet_ntoa(entry[_NAME + 4 : _NAME + _FAMILY])))
    return found


def _ipv6_addresses(table: str) -> list[OwnAddress]:
    """Return the addresses in the system's table, whose columns are address, index, prefix, scope, flags and name."""
    found = []
    for row in map(str.split, table.splitlines()):
        if int(row[3], 16) != _LINK:
            found.append(OwnAddress(row[5], str(ipaddress.IPv6Address(bytes.fromhex(row[0])))))
    return found


def interface_with(ip: str) -> str | None:
    """Return the network interface that has an address, or `None` if no interface has it."""
    return next((name for name, address in own_addresses() if address == ip), None)


def own_names() -> list[str]:
    """Return this machine's name, and its full name if the name service knows another one and answers at once."""
    name, full = socket.gethostname(), list[str]()
    thread = threading.Thread(target=lambda: full.append(socket.getfqdn(name)), name="full name", daemon=True)
    thread.start()
    thread.join(_NAMING)
    return list(dict.fromkeys([name, *full]))


def as_ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the IP address that a text is, or `None` for a name. An IPv4 address inside an IPv6 address counts as
    such."""
    try:
        ip = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(ip, "ipv4_mapped", None) or ip


def is_loopback(host: str) -> bool:
    """Return whether an address or a name always means the machine itself."""
    ip = as_ip(host)
    return host.partition(".")[0] == "localhost" if ip is None else ip.is_loopback


def plain(address: str) -> str:
    """Return an address of a socket as users write it, which leaves out the IPv6 form of an IPv4 address."""
    ip = as_ip(address)
    return address if ip is None else str(ip)
