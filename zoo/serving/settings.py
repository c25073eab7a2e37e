"""Settings of a server: its address, its clients' permissions, and limits."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address
from pathlib import Path

from netdsl.data.sources.files import file_errors, regular_file
from netdsl.errors import NetError
from zoo.answers.answer import AnswerSettings

Network = IPv4Network | IPv6Network

PREDICT = "/predict"  # the path of predictions
TOKEN_VARIABLE = "ZOO_TOKEN"

_SHORTEST_TOKEN = 16  # number of characters; shorter tokens can be guessed
_LONGEST_TOKEN = 4096
_LOCAL = "localhost"


@dataclass(frozen=True)
class ServerSettings:
    """Settings of a server.

    `rate` is the number of requests per second for each client, or 0 for no limit. `share` is the part of the queue and
    of the connections that one client may use. By default, it is a half, or everything if all clients use this machine.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    wait: float = 0.01  # seconds for which a request waits for others to share its batch
    largest: int = 16 << 20  # maximum number of bytes in a request's body
    queue: int = 64  # maximum number of predictions whose requests are read, decoded or answered at the same time
    connections: int = 1024  # maximum number of open connections
    share: float | None = None
    proxies: tuple[Network, ...] = ()  # networks of trusted proxies, which state the address of their clients
    rate: float = 100
    seconds: float = 30  # time limit for a request, from its head to its answer
    idle: float = 5  # time limit for the head of a request, and for silence
    answers: AnswerSettings = field(default_factory=AnswerSettings)

    def __post_init__(self) -> None:
        if not self.is_local and self.token is None:
            raise NetError(
                f"{self.host}: other machines can reach this address, so clients need a token; write one of "
                f"{_SHORTEST_TOKEN} letters or more into a file for --token, or into the variable "
                f"{TOKEN_VARIABLE}, or listen on 127.0.0.1"
            )

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the address."""
        try:
            return self.host == _LOCAL or ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def share_of_one(self) -> float:
        """The part of the places that one client may use."""
        return self.share or (1.0 if self.is_local else 0.5)

    def is_proxy(self, address: str) -> bool:
        """Whether an address belongs to a trusted proxy."""
        return any(ip_address(address) in network for network in self.proxies)

    @property
    def names(self) -> frozenset[str]:
        """The host names that requests to a local server may use. A foreign page whose domain was redirected to this
        machine uses another name."""
        return frozenset({_LOCAL, "127.0.0.1", "[::1]", self.address})

    @property
    def address(self) -> str:
        """The host as it is written in a URL."""
        return f"[{self.host}]" if ":" in self.host else self.host.lower()


def read_token(path: Path | None) -> str | None:
    """Return the token in a file or, without a file, in the environment. Returns `None` if there is no token."""
    if path is None:
        text, where = os.environ.get(TOKEN_VARIABLE, ""), f"the variable {TOKEN_VARIABLE}"
        if not text:
            return None
    else:
        with file_errors(path), regular_file(path).open("rb") as file:
            text, where = file.read(_LONGEST_TOKEN + 1).decode("utf-8", "replace"), str(path)
    token = text.strip()
    if not (_SHORTEST_TOKEN <= len(token) <= _LONGEST_TOKEN) or not token.isascii() or not token.isprintable():
        raise NetError(
            f"{where}: the token isn't valid; use {_SHORTEST_TOKEN} to {_LONGEST_TOKEN:,} ASCII letters on one line"
        )
    return token
