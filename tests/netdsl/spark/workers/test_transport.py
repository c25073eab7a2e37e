from __future__ import annotations

from netdsl.spark.workers.transport import Transport, remember, remembered


def test_a_run_keeps_its_transport(tmp_path):
    assert remembered(tmp_path) is None
    for transport in Transport:
        remember(tmp_path, transport)
        assert remembered(tmp_path) is transport


def test_what_was_damaged_is_forgotten(tmp_path):
    for text in ("{", "[]", "{}", '{"transport": "pigeon"}'):
        (tmp_path / "spark.json").write_text(text)
        assert remembered(tmp_path) is None
