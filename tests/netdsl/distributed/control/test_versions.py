"""Machines with different versions of the programs that they all need."""

from __future__ import annotations

import pytest

from netdsl.distributed.control.versions import Differences, Versions, differences

HERE = Versions("3.11.7", "0.1.0", "2.13.0+cu130")


def test_builds_for_other_devices_go_together() -> None:
    assert differences({"node0": HERE, "node1": Versions("3.11.2", "0.1.0", "2.13.0+cpu")}) == Differences()


@pytest.mark.parametrize(
    ("other", "serious", "minor"),
    [
        (
            Versions("3.11.7", "0.1.0", "2.12.1"),
            "torch is 2.13.0 on node0, and 2.12.1 on node1, node2; install the same versions everywhere",
            "",
        ),
        (
            Versions("3.11.7", "0.2.0", "2.13.0"),
            "netdsl is 0.1.0 on node0, and 0.2.0 on node1, node2; install the same versions everywhere",
            "",
        ),
        (
            Versions("3.12.1", "0.1.0", "2.13.0"),
            "",
            "python is 3.11 on node0, and 3.12 on node1, node2; Python layers and plug-ins can behave differently, so "
            "install the same versions everywhere",
        ),
    ],
)
def test_machines_with_other_versions_are_named(other: Versions, serious: str, minor: str) -> None:
    assert differences({"node0": HERE, "node1": other, "node2": other}) == Differences(serious, minor)
