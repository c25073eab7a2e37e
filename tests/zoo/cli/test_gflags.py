"""Flags in all forms that gflags supports, and the errors for wrong ones."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from zoo.cli.gflags import FlagError, parse


@dataclass(frozen=True)
class Some:
    model: str = ""
    iterations: int = 50
    sigint_effect: str = "stop"
    help: bool = False
    loud: bool = True


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        ("", Some()),
        ("-model a", Some(model="a")),
        ("--model a", Some(model="a")),
        ("-model=a", Some(model="a")),
        ("--model=a=b", Some(model="a=b")),
        ("--model=", Some()),
        ("--model=-a", Some(model="-a")),
        ("-iterations -7", Some(iterations=-7)),
        ("-model a -model b", Some(model="b")),
        ("--sigint-effect none", Some(sigint_effect="none")),
        ("-help", Some(help=True)),
        ("-help=TRUE", Some(help=True)),
        ("-help -noloud", Some(help=True, loud=False)),
        ("-loud=0", Some(loud=False)),
    ],
)
def test_every_form_is_read(words: str, flags: Some) -> None:
    assert parse(words.split(), Some) == (flags, [])


def test_other_words_may_be_anywhere() -> None:
    flags, others = parse(["one", "-help", "two", "-model", "m", "three", "-", "--", "-four"], Some)
    assert flags == Some(model="m", help=True)
    assert others == ["one", "two", "three", "-", "-four"]


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ("-modle a", "there is no flag -modle; did you mean -model?"),
        ("--zyx", "there is no flag -zyx; the flags are -model, -iterations, -sigint_effect, -help, -loud"),
        ("-nomodel", "there is no flag -nomodel; did you mean -model?"),
        ("-model", "-model needs a value; write -model=VALUE"),
        ("-model -help", "-model needs a value; write -model=VALUE"),
        ("-iterations ten", "-iterations is 'ten'; set it to a whole number"),
        ("-help=maybe", "-help is 'maybe'; set it to true or false"),
    ],
)
def test_a_wrong_flag_is_reported(words: str, what: str) -> None:
    with pytest.raises(FlagError) as told:
        parse(words.split(), Some)
    assert str(told.value) == what
