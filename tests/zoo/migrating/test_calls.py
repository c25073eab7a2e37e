"""Calls that read Caffe models, in sources of Python and C++."""

from __future__ import annotations

from pathlib import Path

import pytest

from zoo.migrating.calls import calls_in

FILES = ("a.prototxt", "b.caffemodel")


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("net = cv2.dnn.readNetFromCaffe('a.prototxt', 'b.caffemodel')", [(1, "cv2.dnn.", FILES)]),
        ("x = 'é'; net = cv2.dnn.readNetFromCaffe('a.prototxt', 'b.caffemodel')", [(1, "cv2.dnn.", FILES)]),
        ("\x0c\nnet = readNetFromCaffe(\n  'a.prototxt',\n  'b.caffemodel')", [(2, "", FILES)]),
        ("net = cv2.dnn.readNet('b.caffemodel', 'a.prototxt')", [(1, "cv2.dnn.", FILES)]),
        (
            "P = 'a.prototxt'\nW = 'b.caffemodel'\nn = dnn.readNetFromCaffe(prototxt=P, caffeModel=W)",
            [(3, "dnn.", FILES)],
        ),
        (
            "n = cv2.dnn.readNetFromCaffe(os.path.join('m', 'a.prototxt'), os.path.join('m', 'b.caffemodel'))",
            [(1, "cv2.dnn.", ("m/a.prototxt", "m/b.caffemodel"))],
        ),
        ("n = cv2.dnn.readNetFromCaffe(args.prototxt, args.model)", [(1, "cv2.dnn.", ())]),
        ("P = 'a.prototxt'\nP = 'c.prototxt'\nn = cv2.dnn.readNetFromCaffe(P, 'b.caffemodel')", [(3, "cv2.dnn.", ())]),
        ("n = cv2.dnn.readNet('net.onnx')\nm = cv2.dnn.readNet('a.pb', 'a.pbtxt')", []),
        ("# cv2.dnn.readNetFromCaffe('a.prototxt', 'b.caffemodel')\ns = 'readNetFromCaffe()'", []),
        ("print 'Python 2'", []),
        ("(" * 5000, []),
    ],
)
def test_python(tmp_path: Path, source: str, found: list[tuple[int, str, tuple[str, ...]]]) -> None:
    path = tmp_path / "a.py"
    path.write_text(source, encoding="utf-8")
    text, calls = calls_in(path)
    assert [(call.line, call.prefix, call.files) for call in calls] == found
    for call in calls:
        assert text[call.begin : call.end].startswith(f"{call.prefix}readNet") and text[call.end - 1] == ")"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('Net net = cv::dnn::readNetFromCaffe("a.prototxt", "b.caffemodel");', [(1, FILES)]),
        ('std::string p = "a.prototxt";\nString w("b.caffemodel");\nauto n = readNetFromCaffe(p, w);', [(3, FILES)]),
        ('const char* w{"b.caffemodel"};\nn = readNet(w, "a.prototxt");', [(2, FILES)]),
        ("Net n = readNetFromCaffe(argv[1], argv[2]);", [(1, ())]),
        ('// readNetFromCaffe("a.prototxt", "b.caffemodel")\n/* readNetFromCaffe(\n) */ int x;', []),
        ('n = readNet("net.onnx");', []),
    ],
)
def test_cpp(tmp_path: Path, source: str, found: list[tuple[int, tuple[str, ...]]]) -> None:
    path = tmp_path / "a.cpp"
    path.write_text(source)
    text, calls = calls_in(path)
    assert [(call.line, call.files) for call in calls] == found
    assert all(text[call.begin : call.end].startswith("readNet") for call in calls)


def test_a_source_that_is_not_text_has_no_calls(tmp_path: Path) -> None:
    (tmp_path / "a.cpp").write_bytes(b"readNetFromCaffe(\xff)")
    assert calls_in(tmp_path / "a.cpp") == ("", [])
