"""Blocks of a page are found and compared by the rules in CONTRIBUTING.md's section "Documentation"."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.pages.page import Step, pattern_of, steps_of
from tests.pages.test_pages import run_steps

PAGE = """# A page

<!-- numbers vary: they do -->
```console
$ zoo test \\
    net.prototxt
accuracy 0.5
$ make it
$ zoo list
```

```python
print(1)
print(2)  # prints 2
```

<!-- fails: the file isn't there -->
```console
$ zoo list
$ zoo show x
zoo: ...
```

<!-- not run: needs a cluster -->
```console
$ zoo train
```

```python
print("a\\nb")
```

<!-- output -->
```text
a
b
```
"""


def test_steps_have_the_outputs_that_the_page_shows(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    assert steps_of(page) == [
        Step("console", "zoo test \\\n    net.prototxt", "accuracy 0.5\n", numbers_vary=True),
        Step("console", "zoo list", "", numbers_vary=True),
        Step("python", "print(1)\nprint(2)  # prints 2\n", "...\n2\n..."),
        Step("console", "zoo list"),
        Step("console", "zoo show x", "zoo: ...\n", fails=True),
        Step("python", 'print("a\\nb")\n', "a\nb\n"),
    ]


@pytest.mark.parametrize(
    ("shown", "printed", "numbers_vary", "matches"),
    [
        ("", "anything\n", False, True),
        ("a\nb\n", "a  \nb\n", False, True),
        ("a\nb\n", "\na\nb\n  \n", False, True),
        ("a\n", "a\nb\n", False, False),
        ("a\n...\nd\n", "a\nb\nc\nd\n", False, True),
        ("a\n...\nd\n", "a\nd\n", False, True),
        ("in .../store\n", "in /home/me/store\n", False, True),
        ("loss 0.5\n", "loss 0.6\n", False, False),
        ("loss 0.5\n", "loss 1,234e-05\n", True, True),
        ("loss 0.5\n", "rate 0.5\n", True, False),
        ("a    1.5  b\n", "a  1,000.5  b\n", True, True),
        ("(a|b)\n", "a\n", False, False),
    ],
)
def test_shown_and_printed_outputs_are_compared(shown: str, printed: str, numbers_vary: bool, matches: bool) -> None:
    assert bool(re.fullmatch(pattern_of(shown, numbers_vary=numbers_vary), printed)) == matches


@pytest.mark.pages
def test_a_wrong_output_or_exit_code_is_named(tmp_path: Path) -> None:
    right = [
        Step("python", "print(1)"),
        Step("python", "1 / 0", fails=True),
        Step("console", "zoo data show digits", "digits: ...\n..."),
    ]
    assert run_steps(right, tmp_path).returncode == 0
    for wrong in (Step("python", "print(1)", "2\n"), Step("python", "1 / 0"), Step("python", "print(1)", fails=True)):
        done = run_steps([*right, wrong], tmp_path)
        assert done.returncode == 1 and wrong.text in done.stderr


@pytest.mark.pages
def test_a_server_runs_until_the_page_ends(tmp_path: Path) -> None:
    server = "import time\nprint('serving', flush=True)\ntry:\n    time.sleep(600)\nfinally:\n    open('ended', 'w')\n"
    (tmp_path / "server.py").write_text(server)
    steps = [Step("python", server, "serving\n", until_stopped=True), Step("python", "open('after', 'w')")]
    assert run_steps(steps, tmp_path).returncode == 0
    assert (tmp_path / "after").exists() and (tmp_path / "ended").exists()
