"""Requests: fields with types, defaults, ranges and help, which become options, settings in files and keywords."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import MISSING, dataclass, field, fields, replace
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
    Self,
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

from caffe_proto.addresses import address_in, address_problem, shown_address
from caffe_proto.errors import CaffeError
from zoo.requests.events import Listen, ignore

P = ParamSpec("P")
R = TypeVar("R", bound="Request")
T = TypeVar("T")

_SAID = "said"


class RequestError(CaffeError):
    """A request is wrong, either in one field or in the combination of several."""

    def __init__(self, problem: str, field: str | None = None) -> None:
        super().__init__(problem)
        self.field = field


class Said(TypedDict, total=False):
    """The settings of a field's declaration, besides its type and default."""

    help: str
    name: str  # the name on the command line and in files, if it differs from the field's
    short: str
    metavar: str
    least: float
    above: float
    most: float
    parse: Callable[[Any], Any]  # parses the field's text, or the list of all its texts if `repeatedly` is set
    repeatedly: bool
    text: str  # the default as users write it
    aliases: tuple[str, ...]
    names: Callable[[], tuple[tuple[str, ...], Mapping[str, object]]]  # the built-in names, and those of plug-ins
    ignore_case: bool
    environment: str
    is_argument: bool
    is_file: bool  # the path of an existing local file
    # The use of addresses: their files are read or written, or another program uses them. If Spark is the backend, it
    # uses those of tables and results. A new file or folder is written only where there is none, and a kind may precede
    # its address. Runs are written at addresses, or their records are read. Training itself reads snapshots and
    # publishes logs.
    address: Literal["read", "write", "table", "result", "new", "run", "recorded run", "training", "other"]
    unprocessed: bool  # whether the field also accepts words that look like options


def option(help_text: str, /, *, default: Any = MISSING, default_factory: Any = MISSING, **said: Unpack[Said]) -> Any:
    """Return a field that is an option. `Said` lists the keywords."""
    metadata: Said = {**said, "help": help_text}
    return field(default=default, default_factory=default_factory, metadata={_SAID: metadata})


def argument(metavar: str, /, *, default: Any = MISSING, **said: Unpack[Said]) -> Any:
    """Return a field that is a positional argument."""
    metadata: Said = {**said, "metavar": metavar, "is_argument": True}
    return field(default=default, metadata={_SAID: metadata})


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(option, argument))
def request(kind: type[T]) -> type[T]:
    """Make a class a request: a frozen dataclass with keyword-only fields."""
    return dataclass(frozen=True, kw_only=True)(kind)


@request
class Request:
    """A request to the zoo. Its docstring and its epilog are the help text of a command."""

    epilog: ClassVar[str] = ""

    @property
    def prints_answers(self) -> bool:
        """Whether standard output is reserved for answers, so that progress goes to standard error."""
        return False

    def __post_init__(self) -> None:
        for each in fields_of(type(self)):
            each.check(getattr(self, each.name))
            if not each.said.get("address"):
                each.check_paths(getattr(self, each.name))
        self.check()

    def check(self) -> None:
        """Raise a RequestError if the fields contradict each other."""

    def passes_addresses(self, field: RequestField) -> bool:
        """Return whether another program uses the addresses in a field."""
        return field.said.get("address") == "other"

    @contextmanager
    def with_local_files(self) -> Iterator[Self]:
        """Provide the request with paths in place of addresses: those of local copies, and of files that are published
        at the end unless there is an error."""
        changes: dict[str, Any] = {}
        with ExitStack() as stack:
            for each in fields_of(type(self)):
                value = getattr(self, each.name)
                if each.writes_addresses and not self.passes_addresses(each) and _has_address(value):
                    from netdsl.storage.outgoing import outgoing_data, outgoing_path

                    outgoing = outgoing_data if each.said.get("address") == "new" else outgoing_path
                    changes[each.name] = str(stack.enter_context(outgoing(value)))
            copied = self._with_local_copies()._with_run_folders()
            yield replace(copied, **changes) if changes else copied

    def _with_local_copies(self) -> Self:
        """Return the request with the paths of local copies in place of the addresses that it reads."""
        changes = {}
        for each in fields_of(type(self)):
            value = getattr(self, each.name)
            if each.reads_addresses and not self.passes_addresses(each) and _has_address(value):
                from netdsl.storage.local_copies import with_local_paths

                is_list = isinstance(value, tuple)
                changes[each.name] = tuple(map(with_local_paths, value)) if is_list else with_local_paths(value)
        return replace(self, **changes) if changes else self

    def _with_run_folders(self) -> Self:
        """Return the request with folders of this machine in place of runs at addresses: one in which a run is trained
        and from which it is published, or one with the records of a run."""
        changes = {}
        for each in fields_of(type(self)):
            value, use = getattr(self, each.name), each.said.get("address")
            if use in ("run", "recorded run") and _has_address(value):
                from netdsl.distributed.run_storage import recorded_folder, run_folder

                folder = run_folder if use == "run" else recorded_folder
                is_list = isinstance(value, tuple)
                changes[each.name] = tuple(str(folder(one)) for one in value) if is_list else str(folder(value))
        return replace(self, **changes) if changes else self

    def meanwhile(self) -> AbstractContextManager[object]:
        """Return a context for the time until the request is answered. It grants permissions such as running Python
        layers."""
        return nullcontext()


_FIELDS: dict[type, tuple[RequestField, ...]] = {}  # a cache, by request class


@request
class NotesCommand(Request):
    """A request whose run records the command that started it."""

    command: tuple[str, ...] = ()


@dataclass(frozen=True)
class RequestField:
    """A field of a request."""

    name: str
    kind: Any  # the type of the value, or of each value in a list
    is_optional: bool
    is_repeated: bool
    default: Any  # MISSING for a required field
    said: Said

    @property
    def option_name(self) -> str:
        """The field's name as an option and in files."""
        return self.said.get("name") or self.name.replace("_", "-")

    @property
    def reads_addresses(self) -> bool:
        """Whether the files of addresses are read."""
        return self.said.get("address") in ("read", "table")

    @property
    def writes_addresses(self) -> bool:
        """Whether files are written under an address."""
        return self.said.get("address") in ("write", "result", "new")

    @property
    def is_needed(self) -> bool:
        """Whether the field is required."""
        return self.default is MISSING

    @property
    def choices(self) -> tuple[Any, ...]:
        """All allowed values as users write them, or nothing if there is no short list."""
        if get_origin(self.kind) is Literal:
            return get_args(self.kind)
        if isinstance(self.kind, type) and issubclass(self.kind, Enum) and not self.said.get("parse"):
            return tuple(each.value for each in self.kind)
        return ()

    @property
    def plain_default(self) -> Any:
        """The default as users write it, or `None` if it can't be written."""
        if self.said.get("text") is not None:
            return self.said.get("text")
        default = None if self.default is MISSING else self.default
        if isinstance(default, Enum):
            return default.value
        return default if isinstance(default, (bool, int, float, str)) else None

    def check(self, value: Any) -> None:
        """Raise a RequestError if a number is out of range or a word isn't one of the choices."""
        said = self.said
        if value is None or said.get("parse"):
            return
        for each in value if self.is_repeated else (value,):
            if isinstance(each, (int, float)) and not isinstance(each, bool):
                self._check_number(each)
            if self.choices and not isinstance(each, Enum) and each not in self.choices:
                known = ", ".join(map(str, self.choices))
                raise RequestError(f"{self.name} is '{each}'; set it to one of {known}", self.name)

    def check_paths(self, value: Any) -> None:
        """Raise a RequestError if a text or a path is an address, which would become a path on this machine."""
        for each in value if isinstance(value, tuple) else (value,):
            address = address_in(each) if isinstance(each, (str, Path)) else None
            if address is not None:
                needed = "a folder" if self.said.get("metavar") == "FOLDER" else "a path"
                raise RequestError(f"{shown_address(address)}: {address_problem(address, needed)}", self.name)

    def _check_number(self, value: float) -> None:
        said = self.said
        if "least" in said and value < said["least"]:
            raise RequestError(f"{self.name} is {value}; set it to {said['least']} or more", self.name)
        if "above" in said and value <= said["above"]:
            raise RequestError(f"{self.name} is {value}; set it to more than {said['above']}", self.name)
        if "most" in said and value > said["most"]:
            raise RequestError(f"{self.name} is {value}; set it to {said['most']} or less", self.name)

    def typed(self, plain: Any) -> Any:
        """Return a value that consists of text, numbers and lists, converted to the field's type."""
        if self.said.get("parse") is not None:
            return self._parsed(plain)
        return tuple(map(self._one, plain)) if self.is_repeated else self._one(plain)

    def _one(self, plain: Any) -> Any:
        if self.kind is Path:
            self.check_paths(plain)
        is_class = isinstance(self.kind, type) and issubclass(self.kind, (Path, Enum))
        return self.kind(plain) if is_class else plain

    def _parsed(self, plain: Any) -> Any:
        parse = self.said["parse"]
        try:
            return parse(plain)
        except ValueError as problem:
            raise RequestError(str(problem), self.name) from None


def _has_address(value: Any) -> bool:
    return any(isinstance(each, str) and "://" in each for each in (value if isinstance(value, tuple) else (value,)))


def fields_of(kind: type[Request]) -> tuple[RequestField, ...]:
    """Return the fields of a request class: its own in their order, and then the fields of the groups that it
    inherits."""
    if kind not in _FIELDS:
        hints, known = get_type_hints(kind), {each.name: each for each in fields(kind)}
        names = dict.fromkeys(name for base in kind.__mro__ for name in inspect.get_annotations(base))
        # The others are available only from Python.
        said = (name for name in names if name in known and _SAID in known[name].metadata)
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
    """Return the request with these values, which consist of text, numbers and lists as in a command line or a file.

    Values that are `None` or empty lists count as not given.
    """
    given = {name: value for name, value in plain.items() if value is not None and value != () and value != []}
    return kind(**{each.name: each.typed(given[each.name]) for each in fields_of(kind) if each.name in given})


class Answering(Generic[P, R, T]):
    """A function that answers a request. Call it with the request's fields, or call `ask` with a whole request."""

    def __init__(self, kind: Callable[P, R], function: Callable[[R, Listen], T]) -> None:
        self.kind, self.function = kind, function
        update_wrapper(self, function)

    @property
    def __signature__(self) -> inspect.Signature:
        """The request's fields as keywords, in the order of the command's help, and the function's return type."""
        known = inspect.signature(self.kind).parameters
        described = [each.name for each in fields_of(cast(type[Request], self.kind))]
        names = dict.fromkeys([*described, *known])  # then the fields that are available only from Python
        answer = inspect.signature(self.function).return_annotation
        return inspect.Signature([known[name] for name in names], return_annotation=answer)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the answer to a request with these fields."""
        return self.ask(self.kind(*args, **kwargs))

    def ask(self, request: R, listen: Listen = ignore) -> T:
        """Return the answer to a request. `listen` receives events while the work continues."""
        if inspect.isgeneratorfunction(self.function):
            answers: Any = self._one_by_one(request, listen)
            return answers  # type: ignore[no-any-return]
        with request.meanwhile(), request.with_local_files() as local:
            return self.function(local, listen)

    def _one_by_one(self, request: R, listen: Listen) -> Iterator[Any]:
        with request.meanwhile(), request.with_local_files() as local:
            yield from self.function(local, listen)  # type: ignore[misc]


def answers(kind: Callable[P, R]) -> Callable[[Callable[[R, Listen], T]], Answering[P, R, T]]:
    """Turn a function of a request and a listener into one that is called with the request's fields. Its signature
    shows the fields."""

    def answering(function: Callable[[R, Listen], T]) -> Answering[P, R, T]:
        return Answering(kind, function)

    return answering
