"""Requests: fields with types, defaults, ranges and help, which become options, settings in files and keywords."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import MISSING, dataclass, field, fields
from enum import Enum
from functools import update_wrapper
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Any,
    ClassVar,
    Generic,
    Literal,
    ParamSpec,
    TypedDict,
    TypeVar,
    Union,
    Unpack,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from caffe_proto.errors import CaffeError
from zoo.requests.events import Listen, ignore

P = ParamSpec("P")
R = TypeVar("R", bound="Request")
T = TypeVar("T")

_SAID = "said"


class RequestError(CaffeError):
    """A request is wrong: one field of it, or fields that don't go together."""

    def __init__(self, problem: str, field: str | None = None) -> None:
        super().__init__(problem)
        self.field = field


class Said(TypedDict, total=False):
    """What a field's declaration says of it, besides its type and default."""

    help: str
    name: str  # on the command line and in files, if not the field's own
    short: str
    metavar: str
    least: float
    above: float
    most: float
    parse: Callable[[Any], Any]  # of its text, or of all of its texts if it is given `repeatedly`
    repeatedly: bool
    text: str  # its default, as users write it
    aliases: tuple[str, ...]
    names: Callable[[], tuple[tuple[str, ...], Mapping[str, object]]]  # that are known, and of plug-ins
    ignore_case: bool
    environment: str
    is_argument: bool
    is_file: bool  # of this machine, which is there
    unprocessed: bool  # whether it takes what looks like options, too


def option(help_text: str, /, *, default: Any = MISSING, default_factory: Any = MISSING, **said: Unpack[Said]) -> Any:
    """Return a field that is an option; see `Said` for what can be said of it."""
    metadata: Said = {**said, "help": help_text}
    return field(default=default, default_factory=default_factory, metadata={_SAID: metadata})


def argument(metavar: str, /, *, default: Any = MISSING, **said: Unpack[Said]) -> Any:
    """Return a field that is an argument: a word of the command line that belongs to no option."""
    metadata: Said = {**said, "metavar": metavar, "is_argument": True}
    return field(default=default, metadata={_SAID: metadata})


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(option, argument))
def request(kind: type[T]) -> type[T]:
    """Make a class a request: a frozen dataclass whose fields have names only."""
    return dataclass(frozen=True, kw_only=True)(kind)


@request
class Request:
    """What somebody asks for. Its documentation is the help of a command, which ends with the epilog."""

    epilog: ClassVar[str] = ""

    @property
    def prints_answers(self) -> bool:
        """Whether standard output is for answers alone, and what is told on the way goes elsewhere."""
        return False

    def __post_init__(self) -> None:
        for each in fields_of(type(self)):
            each.check(getattr(self, each.name))
        self.check()

    def check(self) -> None:
        """Raise a RequestError for fields that don't go together."""

    def meanwhile(self) -> AbstractContextManager[object]:
        """Return what the request lets others do until it is answered."""
        return nullcontext()


_FIELDS: dict[type, tuple[RequestField, ...]] = {}  # of the requests that were asked for theirs


@request
class NotesCommand(Request):
    """A request whose run notes the command that it is the work of."""

    command: tuple[str, ...] = ()


@dataclass(frozen=True)
class RequestField:
    """A field of a request."""

    name: str
    kind: Any  # the type of a value, or of one of several
    is_optional: bool
    is_repeated: bool
    default: Any  # MISSING for one that is needed
    said: Said

    @property
    def option_name(self) -> str:
        """Its name as an option and in files."""
        return self.said.get("name") or self.name.replace("_", "-")

    @property
    def is_needed(self) -> bool:
        """Whether there is no request without it."""
        return self.default is MISSING

    @property
    def choices(self) -> tuple[Any, ...]:
        """All values as users write them, if these are few."""
        if get_origin(self.kind) is Literal:
            return get_args(self.kind)
        if isinstance(self.kind, type) and issubclass(self.kind, Enum) and not self.said.get("parse"):
            return tuple(each.value for each in self.kind)
        return ()

    @property
    def plain_default(self) -> Any:
        """The default as users write it; None if there is none to be written."""
        if self.said.get("text") is not None:
            return self.said.get("text")
        default = None if self.default is MISSING else self.default
        if isinstance(default, Enum):
            return default.value
        return default if isinstance(default, (bool, int, float, str)) else None

    def check(self, value: Any) -> None:
        """Raise a RequestError for a number that is out of range, or a word that isn't among the choices."""
        said = self.said
        if value is None or said.get("parse"):
            return
        for each in value if self.is_repeated else (value,):
            if isinstance(each, (int, float)) and not isinstance(each, bool):
                self._check_number(each)
            if self.choices and not isinstance(each, Enum) and each not in self.choices:
                known = ", ".join(map(str, self.choices))
                raise RequestError(f"{self.name} is '{each}', which is not one of {known}", self.name)

    def _check_number(self, value: float) -> None:
        said = self.said
        if "least" in said and value < said["least"]:
            raise RequestError(f"{self.name} is {value}; the least is {said['least']}", self.name)
        if "above" in said and value <= said["above"]:
            raise RequestError(f"{self.name} is {value}; it must be more than {said['above']}", self.name)
        if "most" in said and value > said["most"]:
            raise RequestError(f"{self.name} is {value}; the most is {said['most']}", self.name)

    def typed(self, plain: Any) -> Any:
        """Return a value of text, numbers and lists of them in the type that the field has."""
        if self.said.get("parse") is not None:
            return self._parsed(plain)
        return tuple(map(self._one, plain)) if self.is_repeated else self._one(plain)

    def _one(self, plain: Any) -> Any:
        is_class = isinstance(self.kind, type) and issubclass(self.kind, (Path, Enum))
        return self.kind(plain) if is_class else plain

    def _parsed(self, plain: Any) -> Any:
        parse = self.said["parse"]
        try:
            return parse(plain)
        except ValueError as problem:
            raise RequestError(str(problem), self.name) from None


def fields_of(kind: type[Request]) -> tuple[RequestField, ...]:
    """Return the fields of a kind of request: its own in their order, and then those of the groups that it takes them
    from."""
    if kind not in _FIELDS:
        hints, known = get_type_hints(kind), {each.name: each for each in fields(kind)}
        names = dict.fromkeys(name for base in kind.__mro__ for name in inspect.get_annotations(base))
        said = (name for name in names if name in known and _SAID in known[name].metadata)  # others are Python's alone
        _FIELDS[kind] = tuple(_field_of(known[name], hints[name]) for name in said)
    return _FIELDS[kind]


def _field_of(each: Any, hint: Any) -> RequestField:
    said, is_optional = each.metadata[_SAID], False
    if get_origin(hint) in (Union, UnionType):
        is_optional = NoneType in get_args(hint)
        (hint,) = (part for part in get_args(hint) if part is not NoneType)
    is_repeated = said.get("repeatedly", False) or (get_origin(hint) is tuple and not said.get("parse"))
    kind = get_args(hint)[0] if is_repeated and not said.get("parse") else hint
    default = each.default if each.default_factory is MISSING else each.default_factory()
    return RequestField(each.name, kind, is_optional, is_repeated, default, said)


def typed_request(kind: type[R], plain: Mapping[str, Any]) -> R:
    """Return the request of text, numbers and lists by the names of fields, as a command line or a file has them.

    What is None or an empty list isn't said.
    """
    given = {name: value for name, value in plain.items() if value is not None and value != () and value != []}
    return kind(**{each.name: each.typed(given[each.name]) for each in fields_of(kind) if each.name in given})


class Answering(Generic[P, R, T]):
    """A function that answers a request; it is called with the request's fields, or asked with a whole request."""

    def __init__(self, kind: Callable[P, R], function: Callable[[R, Listen], T]) -> None:
        self.kind, self.function = kind, function
        update_wrapper(self, function)

    @property
    def __signature__(self) -> inspect.Signature:
        """The request's fields as keywords, in the order of a command's help, and the function's own answer."""
        known = inspect.signature(self.kind).parameters
        described = [each.name for each in fields_of(cast(type[Request], self.kind))]
        names = dict.fromkeys([*described, *known])  # and those that are Python's alone
        answer = inspect.signature(self.function).return_annotation
        return inspect.Signature([known[name] for name in names], return_annotation=answer)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the answer to a request with these fields."""
        return self.ask(self.kind(*args, **kwargs))

    def ask(self, request: R, listen: Listen = ignore) -> T:
        """Return the answer to a request; `listen` hears of what happens on the way."""
        if inspect.isgeneratorfunction(self.function):
            answers: Any = self._one_by_one(request, listen)
            return answers  # type: ignore[no-any-return]
        with request.meanwhile():
            return self.function(request, listen)

    def _one_by_one(self, request: R, listen: Listen) -> Iterator[Any]:
        with request.meanwhile():
            yield from self.function(request, listen)  # type: ignore[misc]


def answers(kind: Callable[P, R]) -> Callable[[Callable[[R, Listen], T]], Answering[P, R, T]]:
    """Let a function of a request and a listener be called with the request's fields, which its signature shows."""

    def answering(function: Callable[[R, Listen], T]) -> Answering[P, R, T]:
        return Answering(kind, function)

    return answering
