"""Caffe's names in Python scripts of Python 3 and 2."""

from __future__ import annotations

import ast

import pytest

from zoo.adopting.python_scripts import read_script


def test_files_that_caffe_opens_are_found() -> None:
    found = read_script(
        "import caffe, nowhere_installed\n"
        "root = 'models/'\n"
        "solver = caffe.SGDSolver(root + 'solver.prototxt')\n"
        "solver.net.copy_from('start.caffemodel')\n"
        "net = caffe.Net('deploy.prototxt', caffe.TEST, weights=root + 'w.caffemodel')\n"
        "class Mine(caffe.Layer): pass\n"
    )
    assert found.files == [
        (3, "solver", "models/solver.prototxt"),
        (4, "weights", "start.caffemodel"),
        (5, "net", "deploy.prototxt"),
        (5, "weights", "models/w.caffemodel"),
    ]
    assert (found.layers, found.modern) == (["Mine"], None)
    assert found.missing_modules(set()) == ["nowhere_installed"]


def test_a_script_of_python_2_gets_the_form_of_python_3() -> None:
    old = (
        "import caffe, sys\n"
        "for i in xrange(3):\n"
        "    print 'step', i\n"
        "try: pass\n"
        "except IOError, problem:\n"
        "    print >> sys.stderr, problem\n"
        "    print\n"
        "data = open('mean.binaryproto').read()\n"
    )
    found = read_script(old)
    assert found.uses_caffe and found.modern is not None
    ast.parse(found.modern)
    assert found.modern.splitlines()[1:3] == ["for i in range(3):", "    print('step', i)"]
    assert "except IOError as problem:" in found.modern and "print(problem, file=sys.stderr)" in found.modern
    assert "open('mean.binaryproto', 'rb')" in found.modern


@pytest.mark.parametrize("statement", ["{}", "print {};", "print >> out, {}", "print 1{}\\", "except A{}"])
def test_a_line_of_spaces_is_read_in_one_pass(statement: str) -> None:
    assert read_script(f"import caffe\n{statement.format(' ' * 300_000)}\n").modern is None


def test_lines_keep_their_ends() -> None:
    """Scripts of Windows end lines with two characters, and mixed ones are common."""
    found = read_script("import caffe\r\nprint 'step', 1\r\ndata = open('mean.binaryproto')\nprint\r\n")
    assert found.modern == "import caffe\r\nprint('step', 1)\r\ndata = open('mean.binaryproto', 'rb')\nprint()\r\n"


def test_a_script_that_stays_unreadable_is_reported_and_not_changed() -> None:
    found = read_script("import caffe\nfor in range(3):\n")
    assert found.problem.startswith("line 2: ") and found.modern is None and found.uses_caffe
