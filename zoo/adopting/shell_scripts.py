"""Calls of Caffe's programs in shell scripts. The scripts are read and never run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from zoo.adopting.caffe_folder import PROGRAMS

_ASSIGNMENT = re.compile(r"(?:export\s+|readonly\s+)?([A-Za-z_]\w*)=(.*)", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)(?::?[-=][^}]*)?\})")
_PREFIXES = {"time", "sudo", "nohup", "exec", "nice", "env", "stdbuf", "command"}
_ENDS = {";", "&&", "||", "|", "&", "|&", "then", "do", "else"}
_OPAQUE = re.compile(r"[$`*?]")  # a word that only the running shell knows
_FLAGS = {"solver": "solver", "model": "net", "weights": "weights", "snapshot": "state"}
# The roles of the words of programs that take no flags for files.
_WORDS = {
    "convert_imageset": ("images", "list", "new database"),
    "compute_image_mean": ("database", "new mean"),
    "extract_features": ("weights", "net"),
    "train_net": ("solver", "state"),
    "finetune_net": ("solver", "weights"),
    "test_net": ("net", "weights"),
}


@dataclass(frozen=True)
class ProgramCall:
    """A call of a Caffe program: its place, the program's path as the script writes it, with the values of the script's
    variables, the files that it names by role, and the environment variables that its path needs."""

    line: int
    program: str
    action: str  # the first word of `caffe`, such as train
    path: str
    folder: str  # the folder that an earlier `cd` entered, relative to the script's start
    files: Mapping[str, str]
    variables: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The program with its action."""
        return f"{self.program} {self.action}".rstrip()


def calls_in(text: str) -> Iterator[ProgramCall]:
    """Yield the calls of Caffe's programs in a script."""
    variables: dict[str, str] = {}
    folder = ""
    for number, line in _whole_lines(text):
        for words in _commands(line):
            assigned = _ASSIGNMENT.fullmatch(words[0]) if len(words) == 1 or words[0] != "export" else None
            if words[0] == "export" and len(words) > 1:
                assigned = _ASSIGNMENT.fullmatch(words[1])
            if assigned and len(words) <= 2 and not _program(words[-1], variables):
                variables[assigned[1]] = _expanded(assigned[2], variables)
                continue
            while words and (words[0] in _PREFIXES or _ASSIGNMENT.fullmatch(words[0])):
                words = words[1:]
            if words[:1] == ["cd"] and len(words) > 1 and not _OPAQUE.search(_expanded(words[1], variables)):
                folder = "/".join(filter(None, [folder, _expanded(words[1], variables)]))
            program = _program(words[0], variables) if words else ""
            if program:
                yield _call(number, program, words, variables, folder)


def _whole_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines with their numbers. Lines that end with a backslash are joined with the next one."""
    start, parts = 0, list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        start = start or number
        parts.append(line.removesuffix("\\"))
        if not line.endswith("\\"):
            yield start, " ".join(parts)
            start, parts = 0, []
    if parts:
        yield start, " ".join(parts)


def _commands(line: str) -> Iterator[list[str]]:
    """Yield the words of each command in a line, without redirections."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split, lexer.commenters = True, "#"
    words = list[str]()
    try:
        for word in [*lexer, ";"]:
            if word in _ENDS:
                if words:
                    yield words
                words = []
            elif not set(word) <= set("();<>|&"):
                words.append(word)
    except ValueError:  # quotes over several lines
        return


def _program(word: str, variables: Mapping[str, str]) -> str:
    """Return the name of the Caffe program that a command runs, or an empty text."""
    name = _expanded(word, variables).rpartition("/")[2].removesuffix(".bin")
    return name if name in PROGRAMS else ""


def _expanded(word: str, variables: Mapping[str, str]) -> str:
    """Return a word with the values of the script's own variables. Others stay as they are."""
    return _VARIABLE.sub(lambda match: variables.get(match[1] or match[2], match[0]), word)


def _call(line: int, program: str, words: list[str], variables: Mapping[str, str], folder: str) -> ProgramCall:
    path, values = _expanded(words[0], variables), [_expanded(word, variables) for word in words[1:]]
    named, plain = dict[str, str](), list[str]()
    while values:
        flag, equals, value = values.pop(0).partition("=")
        name = flag.lstrip("-")
        if not flag.startswith("-"):
            plain.append(flag + equals + value)
        elif name in _FLAGS:
            named[_FLAGS[name]] = value if equals or not values else values.pop(0)
        elif not equals and name in ("gpu", "iterations", "phase") and values:
            values.pop(0)
    action = plain[0] if program == "caffe" and plain else ""
    files = named | dict(zip(_WORDS.get(program, ()), plain, strict=False))
    known = {role: file for role, file in files.items() if file.strip() and not _OPAQUE.search(file)}
    needed = tuple(match[1] or match[2] for match in _VARIABLE.finditer(path))
    return ProgramCall(line, program, action, path, folder, known, needed)
