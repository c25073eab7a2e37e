"""Clients: which requests count as one client's, how many places it may take, and how often it may ask."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Any

_MOST_CLIENTS = 4096  # maximum number of remembered clients; those that have been silent longest are forgotten
_HOST_BITS = 64  # a household or a machine usually owns all IPv6 addresses with the same first half


def client_of(address: str) -> str:
    """Return the client that uses an address: an IPv4 address, or a /64 network of IPv6. Other texts, which only a
    proxy could have written, count as one client."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(parsed, IPv6Address):
        network = IPv6Address(int(parsed) >> _HOST_BITS << _HOST_BITS)
        return str(parsed.ipv4_mapped or f"{network}/{_HOST_BITS}")
    return str(parsed)


def requesting_client(scope: Mapping[str, Any]) -> str:
    """Return the client of a request, as a trusted proxy forwarded it or as it connected."""
    address = scope.get("client")
    return client_of(address[0] if address else "")


@dataclass(eq=False)
class Place:
    """A place that a client holds. `give_way` ends the work of a holder that lost its place."""

    client: str
    give_way: Callable[[], object]
    is_lost: bool = False


class Places:
    """A limited number of places, of which one client may hold a share.

    A holder that waits for its own client, such as an idle connection or half a request, gives way to a newcomer. The
    client with the most places loses the one that has waited longest. A holder that the server works for keeps its
    place. So clients that wait can fill the places, but never keep others out.
    """

    def __init__(self, most: int, share: float) -> None:
        self._most, self._most_of_one = most, max(1, int(most * share))
        # Each client's places, and whether they wait for the client. Those that have waited longest come first.
        self._clients: dict[str, dict[Place, bool]] = {}
        self.taken = 0

    @property
    def is_full(self) -> bool:
        """Whether a new client wouldn't get a place."""
        return self.taken >= self._most and not any(any(places.values()) for places in self._clients.values())

    def take(self, client: str, give_way: Callable[[], object], *, has_share: bool = True) -> Place | None:
        """Return a place, which waits for its client at first. Returns `None` if no place is free or gives way.

        Without `has_share`, the client may take all places.
        """
        own = self._clients.get(client, {})
        if has_share and len(own) >= self._most_of_one:
            if not self._displace_oldest(own):
                return None
        elif self.taken >= self._most:
            waiting = [places for places in self._clients.values() if any(places.values())]
            if not self._displace_oldest(max(waiting, key=len, default={})):
                return None
        place = Place(client, give_way)
        self._clients.setdefault(client, {})[place] = True
        self.taken += 1
        return place

    def mark(self, place: Place, *, waits: bool) -> None:
        """Record whether a place waits for its client, from now on."""
        places = self._clients.get(place.client, {})
        if places.pop(place, None) is not None:
            places[place] = waits

    def release(self, place: Place) -> None:
        """Free a place, unless it was lost."""
        places = self._clients.get(place.client, {})
        if places.pop(place, None) is not None:
            self.taken -= 1
            if not places:
                del self._clients[place.client]

    def _displace_oldest(self, places: Mapping[Place, bool]) -> bool:
        oldest = next((place for place, waits in places.items() if waits), None)
        if oldest is None:
            return False
        self.release(oldest)
        oldest.is_lost = True
        oldest.give_way()
        return True


class RateLimit:
    """A limit of requests per second for each client. Requests for one second may arrive at once."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._most, self._clock = rate, max(rate, 1.0), clock
        # Remaining requests, and the time of the last one.
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_of(self, client: str) -> float:
        """Return the seconds until a client may send a request. Returns 0 if it may now, and counts the request."""
        if not self._rate:
            return 0.0
        now = self._clock()
        left, then = self._clients.pop(client, (self._most, now))
        left = min(self._most, left + (now - then) * self._rate)
        allowed = left >= 1
        self._clients[client] = left - allowed, now
        if len(self._clients) > _MOST_CLIENTS:
            self._clients.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self._rate
