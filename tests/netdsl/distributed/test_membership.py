from __future__ import annotations

from pathlib import Path

import pytest

from netdsl.distributed.membership import Membership, members_after, note_membership, read_memberships
from netdsl.errors import DistributedError


def test_what_was_done_again_by_others_is_forgotten(tmp_path: Path) -> None:
    for after, members in [(0, (0, 1, 2)), (5, (0, 2)), (9, (0, 1, 2)), (7, (0, 2)), (7, (2,))]:
        note_membership(tmp_path, Membership(after, members))
    memberships = read_memberships(tmp_path)
    assert [(each.after, each.members) for each in memberships] == [(0, (0, 1, 2)), (5, (0, 2)), (7, (2,))]
    assert [members_after(memberships, number) for number in (0, 4, 5, 6, 7, 100)] == [
        (0, 1, 2),
        (0, 1, 2),
        (0, 2),
        (0, 2),
        (2,),
        (2,),
    ]
    assert members_after(memberships[1:], 4) == ()


@pytest.mark.parametrize("text", ["", "{}", '[{"after": 1, "members": [2, 1]}]', '[{"after": -1, "members": [1]}]'])
def test_a_damaged_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "memberships.json").write_text(text)
    with pytest.raises(DistributedError, match=r"memberships.json: is damaged|no membership"):
        read_memberships(tmp_path)
