"""The membership of a run: which workers take part from which round on."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from caffe_proto.storage import write_pieces
from netdsl.errors import DistributedError

_FILE = "memberships.json"


class Membership(msgspec.Struct, frozen=True):
    """The workers that take part in the rounds after one, by their numbers, in the order of their ranks.

    A worker keeps its number as long as it lives, and its rank follows from who else is there.
    """

    after: int
    members: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.after < 0 or not self.members or list(self.members) != sorted({*self.members}) or self.members[0] < 0:
            raise DistributedError(f"workers {self.members} after round {self.after} are no membership")

    def names(self) -> str:
        """The workers as messages call them."""
        numbers = ", ".join(map(str, self.members))
        return f"worker {numbers}" if len(self.members) == 1 else f"workers {numbers}"

    def __str__(self) -> str:
        verb = "takes" if len(self.members) == 1 else "take"
        return f"from round {self.after + 1} on {self.names()} {verb} part"


def read_memberships(folder: Path) -> tuple[Membership, ...]:
    """The memberships of the run in a folder, one after the other."""
    file = folder / _FILE
    try:
        return msgspec.json.decode(file.read_bytes(), type=tuple[Membership, ...])
    except FileNotFoundError:
        return ()
    except OSError as problem:
        raise DistributedError(f"{file}: can't be read: {problem.strerror}") from None
    except (ValueError, RecursionError) as problem:  # msgspec's own errors are ValueErrors
        raise DistributedError(f"{file}: is damaged: {problem}") from None


def note_membership(folder: Path, membership: Membership) -> None:
    """Note who takes part from a round on, in place of those who took part later: what they did is done again."""
    before = tuple(each for each in read_memberships(folder) if each.after < membership.after)
    if not before or before[-1].members != membership.members:
        before = (*before, membership)
    data = msgspec.json.format(msgspec.json.encode(before), indent=1)
    write_pieces(folder / _FILE, [data + b"\n"], durable=True)


def members_after(memberships: Iterable[Membership], number: int) -> tuple[int, ...]:
    """The workers that take part in the round after one; none if that isn't known."""
    return next((each.members for each in reversed(tuple(memberships)) if each.after <= number), ())
