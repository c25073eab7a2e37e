"""Rules for text from strangers: one door prints it, and one function reads whole numbers in it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOOR = {"zoo/cli/output.py", "zoo/cli/console.py"}

PRINTING = {"print", "echo", "secho", "print_exc", "write"}  # the last parts of the names below
DIGIT_TESTS = {"isdecimal", "isdigit", "isnumeric"}
PACKAGES = ("caffe_proto", "netdsl", "converters", "zoo")


def modules(*packages: str) -> list[str]:
    """Return the modules of packages, relative to the repository."""
    files = (file for package in packages for file in (ROOT / package).rglob("*.py"))
    return sorted(str(file.relative_to(ROOT)) for file in files if file.name != "caffe_pb2.py")


def calls(tree: ast.AST) -> list[ast.Call]:
    """Return the calls in code."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def prints(call: ast.Call) -> bool:
    """Return whether a call writes to standard output or standard error."""
    if (call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")) not in PRINTING:
        return False
    name = ast.unparse(call.func)
    return name in {"print", "click.echo", "click.secho", "traceback.print_exc"} or name.endswith(
        ("sys.stdout.write", "sys.stderr.write", "console.print", "console().print")
    )


def numbers_in_text(tree: ast.AST) -> list[str]:
    """Return the calls of `int` that read a number in text, which a test for digits precedes.

    Such a test accepts digits of all scripts, and numbers with thousands of digits.
    """
    found = []
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        tests = {
            ast.unparse(call.func.value)
            for call in calls(function)
            if isinstance(call.func, ast.Attribute) and call.func.attr in DIGIT_TESTS
        }
        numbers = (call for call in calls(function) if ast.unparse(call.func) == "int" and len(call.args) == 1)
        found += [f"{call.lineno}: {ast.unparse(call)}" for call in numbers if ast.unparse(call.args[0]) in tests]
    return found


@pytest.mark.parametrize("module", modules("zoo"))
def test_only_the_door_prints(module: str) -> None:
    tree = ast.parse((ROOT / module).read_text())
    assert module in DOOR or [f"{module}:{call.lineno}" for call in calls(tree) if prints(call)] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_whole_numbers_in_text_are_read_in_one_place(package: str) -> None:
    texts = {module: (ROOT / module).read_text() for module in modules(package)}
    tested = {module: text for module, text in texts.items() if any(name in text for name in DIGIT_TESTS)}
    found = {module: numbers_in_text(ast.parse(text)) for module, text in tested.items()}
    assert {module: lines for module, lines in found.items() if lines} == {}, "use whole_number of caffe_proto"


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("def f(text):\n  if text.isdecimal(): return int(text)", ["2: int(text)"]),
        ("def f(a, b):\n  return int(a[0]) if a[0].isdigit() else int(b)", ["2: int(a[0])"]),
        ("def f(text): return int(text, 16) if text.isdecimal() else int(1.5)", []),
    ],
)
def test_the_rule_finds_numbers_in_text(code: str, found: list[str]) -> None:
    assert numbers_in_text(ast.parse(code)) == found


@pytest.mark.parametrize("code", ["print(a)", "click.echo(a, err=True)", "sys.stdout.write(a)", "console().print(a)"])
def test_the_rule_finds_prints(code: str) -> None:
    assert prints(calls(ast.parse(code))[0])
