from __future__ import annotations

import pytest

from netdsl.errors import DistributedError
from netdsl.planner.units import bandwidth, format_bytes, format_seconds, seconds


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("1Gbit", 125e6), ("2.5Gbit/s", 312.5e6), ("100MB", 100e6), ("8 kbit", 1e3), ("7B/s", 7.0), ("100Mbps", None)],
)
def test_bandwidths_are_parsed(text: str, wanted: float | None) -> None:
    if wanted is None:
        with pytest.raises(DistributedError, match="'100Mbps' isn't a bandwidth; write it per second, as in 1Gbit"):
            bandwidth(text)
    else:
        assert bandwidth(text) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("text", "wanted"), [("0.3s", 0.3), ("20ms", 0.02), ("50 us", 5e-5), ("2min", 120), ("20h", 72_000), ("0s", 0)]
)
def test_times_are_parsed(text: str, wanted: float) -> None:
    assert seconds(text) == pytest.approx(wanted)


@pytest.mark.parametrize("text", ["", "3", "-1s", "1hour", "s", "1.s"])
def test_invalid_times_are_refused(text: str) -> None:
    with pytest.raises(DistributedError, match=r"isn't a time; write it as in 50us, 0\.3s or 20h"):
        seconds(text)


@pytest.mark.parametrize("text", ["0Gbit", "Gbit", "1", "1gigabit", "-1MB"])
def test_invalid_bandwidths_are_refused(text: str) -> None:
    with pytest.raises(DistributedError, match="isn't a bandwidth"):
        bandwidth(text)


def test_quantities_are_printed_readably() -> None:
    times = [format_seconds(each) for each in (0, 2.5e-5, 0.0031, 0.25, 75.2, 1234, 50_000)]
    assert times == ["0 us", "25 us", "3.1 ms", "250 ms", "75.2 s", "20.6 min", "13.9 h"]
    assert [format_bytes(each) for each in (0, 999, 1720, 5.16e6, 2.1e9)] == [
        "0 B",
        "999 B",
        "1.72 kB",
        "5.16 MB",
        "2.1 GB",
    ]
