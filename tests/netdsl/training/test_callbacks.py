"""The history of a training, as notebooks show it."""

from __future__ import annotations

from netdsl.distributed.run_log import Moment
from netdsl.training.callbacks import History


def test_a_notebook_shows_curves_and_a_table_of_a_history() -> None:
    tests = ({"<b>": 0.1, "loss": 2.0}, {"<b>": 0.75, "loss": 0.5})
    html = History((Moment(0, 2.5, tests[0]), Moment(10, 1.25), Moment(20, None, tests[1])))._repr_html_()
    assert html.count("<svg") == 2  # losses, and scores
    assert "<b>" not in html.replace('font-weight="bold"', "") and "test &lt;b&gt; 0.75" in html
    assert "<td>20</td><td></td><td>0.75</td><td>0.5</td>" in html


def test_a_notebook_shows_an_empty_history_as_an_empty_table() -> None:
    html = History()._repr_html_()
    assert "<svg" not in html and "0 moments" in html
