"""Options with numbers of thousands of digits are refused as other wrong values are."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from zoo.devices import gpus_of
from zoo.requests.data import height_and_width
from zoo.requests.groups import numbers_of, shapes_of
from zoo.requests.planning import batches_of
from zoo.requests.request import RequestError
from zoo.requests.training import replaced_layers

ENDLESS = "9" * 5000


@pytest.mark.parametrize(
    ("parse", "text", "value", "wrong"),
    [
        (height_and_width, "{}x3", (2, 3), "2x3x4"),
        (batches_of, "{}:3", (2, 3), "3:2"),
        (batches_of, "{}", (2, 2), "1:2:3"),
        (numbers_of, "1,{},1", (1, 2), "1,0"),
        (lambda text: shapes_of([text]), "data=3x{}", {"data": (3, 2)}, "=3"),
        (lambda text: gpus_of(text, 4)[0].index, "{}", 2, "²"),
    ],
)
def test_an_endless_number_in_an_option_is_refused(
    parse: Callable[[str], object], text: str, value: object, wrong: str
) -> None:
    assert parse(text.format(2)) == value
    for refused in (text.format(ENDLESS), text.format("²"), wrong):
        with pytest.raises((ValueError, RequestError), match=r"; (write|choose)"):
            parse(refused)


def test_an_endless_number_of_outputs_is_part_of_a_layers_name() -> None:
    assert replaced_layers(["fc8:3", f"fc8:{ENDLESS}", ":3"]) == {"fc8": 3, f"fc8:{ENDLESS}": None, ":3": None}
