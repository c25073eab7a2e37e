"""Settings of a server: where it listens, who may ask, and how much."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from netdsl.data.sources.files import file_errors, regular_file
from netdsl.errors import NetError
from zoo.answers.answer import AnswerSettings

TOKEN_VARIABLE = "ZOO_TOKEN"

_SHORTEST_TOKEN = 16  # letters; shorter ones can be guessed
_LONGEST_TOKEN = 4096
_LOCAL = "localhost"


@dataclass(frozen=True)
class ServerSettings:
    """Settings of a server. `rate` is in requests a second for each client, 0 for no limit."""

    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    wait: float = 0.01  # seconds that a request waits for others, with which it is answered at once
    largest: int = 16 << 20  # bytes of a request's body
    queue: int = 64  # requests that are read, decoded or answered at once
    rate: float = 100
    seconds: float = 30  # for a request, from its head to its answer
    answers: AnswerSettings = field(default_factory=AnswerSettings)

    def __post_init__(self) -> None:
        if not self.is_local and self.token is None:
            raise NetError(
                f"{self.host}: others can reach this address, so clients must show a token; write one of "
                f"{_SHORTEST_TOKEN} letters or more into a file for --token, or into the variable {TOKEN_VARIABLE}, "
                "or listen at 127.0.0.1"
            )

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the address."""
        try:
            return self.host == _LOCAL or ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def names(self) -> frozenset[str]:
        """What a request may call a server that only this machine can reach. A page of somebody else's whose name was
        made to mean this machine calls it otherwise.
        """
        return frozenset({_LOCAL, "127.0.0.1", "[::1]", self.address})

    @property
    def address(self) -> str:
        """The host as it is in an address of the web."""
        return f"[{self.host}]" if ":" in self.host else self.host.lower()


def read_token(path: Path | None) -> str | None:
    """Return the token in a file or, without one, in the environment; None if there is none."""
    if path is None:
        text, where = os.environ.get(TOKEN_VARIABLE, ""), f"the variable {TOKEN_VARIABLE}"
        if not text:
            return None
    else:
        with file_errors(path), regular_file(path).open("rb") as file:
            text, where = file.read(_LONGEST_TOKEN + 1).decode("utf-8", "replace"), str(path)
    token = text.strip()
    if not (_SHORTEST_TOKEN <= len(token) <= _LONGEST_TOKEN) or not token.isascii() or not token.isprintable():
        raise NetError(f"{where}: a token has {_SHORTEST_TOKEN} to {_LONGEST_TOKEN:,} ASCII letters, in one line")
    return token
