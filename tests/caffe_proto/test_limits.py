"""Limits on the work that a file may ask for, their setting, and the sentence about a file that asks for more."""

from __future__ import annotations

import pytest

from caffe_proto.errors import LimitError, SettingError
from caffe_proto.limits import VARIABLE, Ledger, Limit, check_limits, number_of


def test_work_above_a_limit_names_the_file_the_limit_and_the_setting_that_allows_it() -> None:
    Limit.NODES.check(5_000, "x.onnx: the graph")
    with pytest.raises(LimitError) as error:
        Limit.NODES.check(5_001, "x.onnx: the graph")
    assert str(error.value) == (
        "x.onnx: the graph needs 5,001 nodes or more, but the limit 'nodes' allows 5,000; if you trust the file, set "
        "NETDSL_LIMITS=nodes=10000"
    )


def test_the_suggested_setting_allows_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LimitError, match=r"NETDSL_LIMITS=archive-bytes=65G$") as error:
        Limit.ARCHIVE_BYTES.check((64 << 30) + 1, "x.zip: the archive")
    monkeypatch.setenv(VARIABLE, str(error.value).rpartition(f"{VARIABLE}=")[2])
    Limit.ARCHIVE_BYTES.check((64 << 30) + 1, "x.zip: the archive")


def test_the_variable_sets_several_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "nodes=50000, archive-bytes=64G,")
    assert (Limit.NODES.most, Limit.ARCHIVE_BYTES.most, Limit.VALUES.most) == (50_000, 64 << 30, Limit.VALUES.default)


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("node=5", "NETDSL_LIMITS: there is no limit 'node'; did you mean nodes?"),
        ("nodes", "NETDSL_LIMITS: 'nodes' isn't a limit; write a number, as in nodes=50000 or 64G"),
        ("nodes=0", "NETDSL_LIMITS: 'nodes=0' isn't a limit; write a number, as in nodes=50000 or 64G"),
        ("nodes=-1", "NETDSL_LIMITS: 'nodes=-1' isn't a limit; write a number, as in nodes=50000 or 64G"),
    ],
)
def test_a_setting_that_is_not_understood_is_refused(
    setting: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, setting)
    with pytest.raises(SettingError) as error:
        check_limits()
    assert str(error.value) == sentence


def test_a_ledger_adds_up_the_work_of_a_file() -> None:
    ledger = Ledger()
    for _ in range(5_000):
        ledger.charge(Limit.NODES, 1, "x.onnx: the graph")
    ledger.charge(Limit.VALUES, 1, "'y'")
    with pytest.raises(LimitError, match=r"^x\.onnx: the graph needs 5,001 nodes"):
        ledger.charge(Limit.NODES, 1, "x.onnx: the graph")


@pytest.mark.parametrize(
    ("text", "number"), [("7", 7), ("500M", 500 << 20), ("2 GiB", 2 << 30), ("1k", 1024), ("0", None), ("٣", None)]
)
def test_numbers_may_have_a_suffix(text: str, number: int | None) -> None:
    assert number_of(text) == number
