"""Parses and formats scalar values in a prototxt."""

from __future__ import annotations

import math
import re
import sys
from difflib import get_close_matches

import numpy as np
from google.protobuf.descriptor import FieldDescriptor

from caffe_proto.descriptors import enum_of
from caffe_proto.text.document import excerpt

_INTEGER = re.compile(r"([+-]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)")
_FLOAT = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?f?|inf(inity)?f?|nanf?)", re.IGNORECASE | re.ASCII)
_MANY_DIGITS = 40  # digits; more than any number in range has, and fewer than Python refuses to read
_TRUE, _FALSE = ("true", "t", "1"), ("false", "f", "0")
_STRING = re.compile(r""""([^"\\]*(?:\\.[^"\\]*)*)"|'([^'\\]*(?:\\.[^'\\]*)*)'""", re.DOTALL)
_ESCAPE = re.compile(r"\\([xX][0-9a-fA-F]{1,2}|[0-7]{1,3}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPE_CODES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "'": 39, "?": 63, "\\": 92}
_INTEGER_RANGES = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
}

Value = int | float | bool | str | bytes


def parse_value(text: str, quoted: bool, field: FieldDescriptor) -> Value:
    """Return the value of a text as a field. The message of a `ValueError` or a `LookupError` is meant for users."""
    if field.cpp_type in (FieldDescriptor.CPPTYPE_ENUM, FieldDescriptor.CPPTYPE_STRING):
        data = unquote(text) if quoted else text.encode("utf-8", "surrogateescape")
        if field.type == FieldDescriptor.TYPE_BYTES:
            return data
        return _enum(_utf8(data), field) if field.type == FieldDescriptor.TYPE_ENUM else _utf8(data)
    if quoted:
        raise ValueError(f"expected {_expected_value(field)}, found the text {excerpt(text)}")
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return _bool(text)
    if field.cpp_type in _INTEGER_RANGES:
        return _integer(text, field)
    if not _FLOAT.fullmatch(text):
        raise ValueError(_not_a_number(text, field))
    plain = text.lower()
    return float(plain if plain.endswith("inf") else plain.removesuffix("f"))


def _utf8(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"the text {excerpt(repr(data))} isn't UTF-8; save the file as UTF-8") from None


def _integer(text: str, field: FieldDescriptor) -> int:
    number = _whole(text)
    if number is None:
        raise ValueError(_not_a_number(text, field))
    low, high = _INTEGER_RANGES[field.cpp_type]
    if not low <= number <= high:
        raise ValueError(f"{excerpt(text)} is out of range; {field.name} accepts {low} to {high}")
    return number


def _whole(text: str) -> int | None:
    """Return the whole number that a text in base 8, 10 or 16 represents, or `None` if it isn't one."""
    match = _INTEGER.fullmatch(text)
    if match is None:
        return None
    sign, digits = match.groups()
    base = 16 if digits[:2] in ("0x", "0X") else 8 if digits[0] == "0" and len(digits) > 1 else 10
    return int(digits if base != 10 else digits[:_MANY_DIGITS], base) * (-1 if sign == "-" else 1)


def _bool(text: str) -> bool:
    if text.lower() not in _TRUE + _FALSE:
        raise ValueError(f"expected true or false, found {excerpt(text)}")
    return text.lower() in _TRUE


def _enum(text: str, field: FieldDescriptor) -> int:
    names = enum_of(field).values_by_name
    if text in names:
        return int(names[text].number)
    number = _whole(text)
    if number is not None and number in enum_of(field).values_by_number:
        return number
    near = get_close_matches(text.upper(), names, 1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(names)}"
    raise LookupError(f"unknown value '{excerpt(text)}'; {hint}")


def _not_a_number(text: str, field: FieldDescriptor) -> str:
    worded = re.search("[A-Za-z]", text) and not _FLOAT.fullmatch(text)
    hint = "; if this is a template, fill in its placeholders first" if worded else ""
    return f"expected {_expected_value(field)}, found {excerpt(text)}{hint}"


def _expected_value(field: FieldDescriptor) -> str:
    """Return a description of the values that a field accepts."""
    if field.cpp_type in _INTEGER_RANGES:
        return "a whole number" if _INTEGER_RANGES[field.cpp_type][0] else "a whole number of 0 or more"
    return "true or false" if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL else "a number"


def unquote(text: str) -> bytes:
    """Return the bytes that one quoted string, or several in a row, represent."""
    decoded = bytearray()
    for double, single in _STRING.findall(text):
        raw, offset = double or single, 0
        for match in _ESCAPE.finditer(raw):
            decoded += raw[offset : match.start()].encode("utf-8", "surrogateescape") + _unescape(match.group(1))
            offset = match.end()
        decoded += raw[offset:].encode("utf-8", "surrogateescape")
    return bytes(decoded)


def _unescape(code: str) -> bytes:
    if code[0] in "xX" and len(code) > 1:
        return bytes([int(code[1:], 16)])
    if code[0] in "01234567":
        return bytes([int(code, 8) & 0xFF])
    if code[0] in "uU" and len(code) > 1 and int(code[1:], 16) <= sys.maxunicode:
        return chr(int(code[1:], 16)).encode("utf-8", "surrogatepass")
    if code not in _ESCAPE_CODES:
        raise ValueError(f"\\{excerpt(code)} is not an escape sequence; write a backslash itself as \\\\")
    return bytes([_ESCAPE_CODES[code]])


def quote(data: str | bytes) -> str:
    """Return a quoted string. Printable characters outside ASCII aren't escaped."""
    if isinstance(data, bytes):
        body = "".join(chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}" for byte in data.replace(b"\\", b"\\\\"))
    else:
        body = "".join(c if c.isprintable() else _escape(c) for c in data.replace("\\", "\\\\"))
    return '"' + body.replace('"', '\\"') + '"'


def _escape(character: str) -> str:
    names = {chr(code): f"\\{letter}" for letter, code in _ESCAPE_CODES.items() if letter in "tnr"}
    return names.get(character) or "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogatepass"))


def format_value(value: Value, field: FieldDescriptor) -> str:
    """Return the text of a value in a prototxt. Floats have the fewest digits that read back as the same value."""
    if isinstance(value, (str, bytes)):
        return quote(value)
    if field.cpp_type == FieldDescriptor.CPPTYPE_ENUM:
        enum_value = enum_of(field).values_by_number.get(int(value))
        return enum_value.name if enum_value else str(int(value))
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return "true" if value else "false"
    if field.cpp_type == FieldDescriptor.CPPTYPE_FLOAT:
        return _shortest(float(value), 6, 9, np.float32)
    if field.cpp_type == FieldDescriptor.CPPTYPE_DOUBLE:
        return _shortest(float(value), 15, 17, np.float64)
    return str(value)


def _shortest(value: float, few: int, many: int, kind: type[np.floating]) -> str:
    if not math.isfinite(value):
        return str(value)
    return next(
        text for digits in range(few, many + 1) if kind(text := f"{value:.{digits}g}") == value or digits == many
    )
