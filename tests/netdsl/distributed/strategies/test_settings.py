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
def test_settings_survive_writing_and_reading(name: str) -> None:
    assert parse(text_of(parse(name))) == parse(name)


@pytest.mark.parametrize(
    "text, message",
    [
        ("averagin", r"unknown strategy 'averagin'; did you mean averaging\?"),
        ("averaging:tua=3", r"'tua=3' isn't a setting; did you mean tau\?"),
        ("averaging:tau", "'tau' isn't a setting"),
        ("averaging:tau=much", "'much' isn't a valid value for tau"),
        ("averaging:tau=1.5", r"'1\.5' isn't a valid value for tau"),
        ("averaging:weighted=2", "'2' isn't a valid value for weighted"),
        ("averaging:tau=0", "tau is 0; give 1 or more iterations"),
        ("averaging:seconds=-1", "seconds or warmup is negative"),
        ("allreduce:bucket=0", "bucket above 0"),
    ],
)
def test_wrong_settings_are_refused(text: str, message: str) -> None:
    with pytest.raises(DistributedError, match=message):
        parse(text)
