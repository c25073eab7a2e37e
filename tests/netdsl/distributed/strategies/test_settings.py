from __future__ import annotations

import pytest

from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.distributed.strategies.outer import OuterMomentum
from netdsl.distributed.strategies.settings import STRATEGIES, parse, text_of
from netdsl.errors import DistributedError


def test_settings_are_read_by_their_types() -> None:
    assert parse("averaging:tau=20,warmup=3,weighted=false") == ModelAveraging(20, warmup=3, weighted=False)
    assert parse("averaging:tau=auto") == ModelAveraging("auto")
    assert parse("averaging:seconds=1.5,tau=7") == ModelAveraging(7, 1.5)
    assert parse("outer") == OuterMomentum()


@pytest.mark.parametrize("name", STRATEGIES)
def test_there_and_back(name: str) -> None:
    assert parse(text_of(parse(name))) == parse(name)


@pytest.mark.parametrize(
    "text, message",
    [
        ("averagin", r"unknown strategy 'averagin'; did you mean averaging\?"),
        ("averaging:tua=3", r"'tua=3' isn't a setting; did you mean tau\?"),
        ("averaging:tau", "'tau' isn't a setting"),
        ("averaging:tau=much", "tau can't be 'much'"),
        ("averaging:tau=1.5", r"tau can't be '1\.5'"),
        ("averaging:weighted=2", "weighted can't be '2'"),
        ("averaging:tau=0", "tau is 0; a round has one iteration at least"),
        ("averaging:seconds=-1", "can't be negative"),
        ("allreduce:bucket=0", "bucket above 0"),
    ],
)
def test_wrong_settings(text: str, message: str) -> None:
    with pytest.raises(DistributedError, match=message):
        parse(text)
