"""The settings of a server."""

from __future__ import annotations

import pytest

from caffe_proto.errors import CaffeError
from zoo.serving.settings import TOKEN_VARIABLE, ServerSettings, read_token


def test_a_token_is_in_a_file_or_in_the_environment(tmp_path, monkeypatch) -> None:
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)
    assert read_token(None) is None
    monkeypatch.setenv(TOKEN_VARIABLE, "sixteen letters.")
    assert read_token(None) == "sixteen letters."
    (tmp_path / "token").write_text("another one of many letters\n")
    assert read_token(tmp_path / "token") == "another one of many letters"


@pytest.mark.parametrize("text", ["", "short", "x" * 5000, "sixteen letters\nand more", "sechzehn Zeichen ü"])
def test_a_weak_or_unsendable_token_is_refused(text, tmp_path) -> None:
    (tmp_path / "token").write_text(text)
    with pytest.raises(CaffeError, match="16 to 4,096 ASCII letters"):
        read_token(tmp_path / "token")
    with pytest.raises(CaffeError, match="missing: can't be"):
        read_token(tmp_path / "missing")


def test_addresses_are_local_or_not() -> None:
    for host in ("127.0.0.1", "127.8.0.1", "::1", "localhost"):
        assert ServerSettings(host).is_local
    assert ServerSettings("::1").address == "[::1]"
