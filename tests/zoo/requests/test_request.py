"""Requests: one declaration for the command line, settings files, Python and JSON Schema."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import pytest

from zoo.requests.events import Listen
from zoo.requests.groups import shapes_of
from zoo.requests.request import Request, RequestError, answers, argument, option, request, typed_request
from zoo.requests.schema import request_schema


@request
class Colors(Request):
    """A group."""

    hue: Literal["red", "blue"] = option("The hue.", default="red")


@request
class Paint(Colors):
    """Paint a thing."""

    thing: Path = argument("THING")
    coats: int = option("How often.", default=2, least=1, most=9)
    shapes: Mapping[str, tuple[int, ...]] = option("Of parts.", default_factory=dict, parse=shapes_of, repeatedly=True)
    quickly: bool = False  # no command-line option sets this

    def check(self) -> None:
        """Blue needs two coats."""
        if self.hue == "blue" and self.coats < 2:
            raise RequestError("--hue blue needs --coats 2")


@answers(Paint)
def paint(request: Paint, listen: Listen) -> str:
    """Paint it."""
    listen("begun")
    return f"{request.thing} {request.hue} {request.coats}"


def test_a_function_has_the_fields_as_its_keywords() -> None:
    signature = inspect.signature(paint)
    assert list(signature.parameters) == ["thing", "coats", "shapes", "hue", "quickly"]
    assert all(each.kind is each.KEYWORD_ONLY for each in signature.parameters.values())
    assert (signature.return_annotation, paint.__doc__) == ("str", "Paint it.")
    assert paint(thing=Path("door"), coats=3) == "door red 3"
    heard = list[object]()
    assert paint.ask(Paint(thing=Path("door")), heard.append) == "door red 2"
    assert heard == ["begun"]


@pytest.mark.parametrize(
    ("wrong", "problem", "field"),
    [
        ({"coats": 0}, "coats is 0; set it to 1 or more", "coats"),
        ({"coats": 10}, "coats is 10; set it to 9 or less", "coats"),
        ({"hue": "green"}, "hue is 'green'; set it to one of red, blue", "hue"),
        ({"hue": "blue", "coats": 1}, "--hue blue needs --coats 2", None),
    ],
)
def test_a_wrong_request_is_refused_in_python_too(wrong: dict[str, object], problem: str, field: str | None) -> None:
    with pytest.raises(RequestError) as caught:
        paint(thing=Path("door"), **wrong)
    assert (str(caught.value), caught.value.field) == (problem, field)


def test_plain_values_become_typed_ones() -> None:
    made = typed_request(Paint, {"thing": "door", "shapes": ["x=2x3"], "coats": None})
    assert made == Paint(thing=Path("door"), shapes={"x": (2, 3)})
    with pytest.raises(RequestError, match=r"'x=y' isn't a blob and its shape"):
        typed_request(Paint, {"thing": "door", "shapes": ["x=y"]})


def test_the_schema_matches_the_declaration() -> None:
    schema = request_schema(Paint)
    assert schema["required"] == ["thing"]
    assert schema["properties"] == {
        "thing": {"type": "string"},
        "coats": {"type": "integer", "minimum": 1, "maximum": 9, "description": "How often.", "default": 2},
        "shapes": {"type": "array", "items": {"type": "string"}, "description": "Of parts."},
        "hue": {"enum": ["red", "blue"], "description": "The hue.", "default": "red"},
    }
