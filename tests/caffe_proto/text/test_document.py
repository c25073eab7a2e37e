"""The pieces of a text, the grammar with the liberties that real files take, and the places of comments."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from caffe_proto.errors import TextError
from caffe_proto.text.document import Body, Scalar, TokenKind, parse, tokenize


def pieces(text: str) -> list[tuple[str, int, int]]:
    return [
        (token.text, token.line, token.column) for token in tokenize(text, "net") if token.kind is not TokenKind.END
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("name: 'a'", [("name", 1, 1), (":", 1, 5), ("'a'", 1, 7)]),
        ("a:1\n\n\tb:2", [("a", 1, 1), (":", 1, 2), ("1", 1, 3), ("b", 3, 2), (":", 3, 3), ("2", 3, 4)]),
        ("x{}", [("x", 1, 1), ("{", 1, 2), ("}", 1, 3)]),
        ("s: 'one\ntwo' t", [("s", 1, 1), (":", 1, 2), ("'one\ntwo'", 1, 4), ("t", 2, 6)]),
        ("lr: -1.5e-3,", [("lr", 1, 1), (":", 1, 3), ("-1.5e-3", 1, 5), (",", 1, 12)]),
        ("s:data/train_lmdb", [("s", 1, 1), (":", 1, 2), ("data/train_lmdb", 1, 3)]),
        (r'"a\"b"c', [(r'"a\"b"', 1, 1), ("c", 1, 7)]),
        (r"'a\\'b", [(r"'a\\'", 1, 1), ("b", 1, 6)]),
        ('a "#" # b "c', [("a", 1, 1), ('"#"', 1, 3), ('# b "c', 1, 7)]),
        ("é: 1", [("é", 1, 1), (":", 1, 2), ("1", 1, 4)]),
    ],
)
def test_every_piece_knows_its_line_and_column(text: str, found: list[tuple[str, int, int]]) -> None:
    assert pieces(text) == found


def test_a_comment_ends_with_its_line_and_loses_trailing_blanks() -> None:
    assert pieces("# one \t \n#two") == [("# one", 1, 1), ("#two", 2, 1)]


@pytest.mark.parametrize(("text", "blank"), [("a\nb", False), ("a\n\nb", True), ("a\n \t\n\nb", True)])
def test_empty_lines_are_recorded(text: str, blank: bool) -> None:
    _, second, _ = tokenize(text, "net")
    assert second.blank is blank


def test_the_end_is_a_token_with_its_place() -> None:
    *_, end = tokenize("a\n b ", "net")
    assert (end.kind, end.text, end.line, end.column) == (TokenKind.END, "", 2, 4)


@pytest.mark.parametrize("text", ['name: "conv', "name: 'conv", 'name: "conv\\"', "# fine\nname: 'a\n\nb"])
def test_a_string_that_never_ends_is_refused_where_it_begins(text: str) -> None:
    line = text.count("\n", 0, text.index("name")) + 1
    with pytest.raises(
        TextError,
        match=f"^net:{line}:7: the string that starts with ['\"] is never closed; write a quotation mark at its end$",
    ):
        list(tokenize(text, "net"))


@pytest.mark.parametrize("mark", ["<<<<<<< HEAD", "=======", ">>>>>>> 4f2a91c (two towers)"])
def test_an_unfinished_merge_is_reported_as_one(mark: str) -> None:
    with pytest.raises(TextError, match=f"^net:2:1: '{mark[:7]}' is the mark of an unfinished merge; keep one"):
        list(tokenize(f'name: "n"\n{mark}\nlayer {{ }}\n', "net"))


@pytest.mark.parametrize("text", ["# =======", "a: '==='", "# <<<<<<< HEAD", "a < b < c < > > >"])
def test_text_that_only_resembles_a_merge_is_not_reported_as_one(text: str) -> None:
    assert pieces(text)


def outline(body: Body) -> list[object]:
    """Return only the names, values and nesting of a text."""
    return [
        (entry.name, [value.text if isinstance(value, Scalar) else outline(value) for value in entry.values])
        for entry in body.entries
    ]


@pytest.mark.parametrize(
    "text",
    [
        "a { b: 1 c: 2 }",
        "a: { b: 1 c: 2 }",
        "a < b: 1 c: 2 >",
        "a: < b: 1, c: 2, >",
        "a{b:1;c:2;};",
        "a\n{\n\tb : 1\r\n\tc : 2\r\n}\r\n",
        "a: [ { b: 1 c: 2 } ]",
        "\ufeffa { b: 1 c: 2 }",
        "a { b: 1 # }\n c: 2 }",
        "a { # {\n b: 1 c: [2] }",
    ],
)
def test_every_notation_of_a_block_is_read(text: str) -> None:
    assert outline(parse(text)) == [("a", [[("b", ["1"]), ("c", ["2"])]])]


@pytest.mark.parametrize(
    "text", ["d: [1, 2, 3]", "d: [1 2 3]", "d: [1, 2, 3,]", "d [\n1, # one\n2,\n3\n]", "d:[1,2 3];"]
)
def test_every_notation_of_a_list_is_read(text: str) -> None:
    assert outline(parse(text)) == [("d", ["1", "2", "3"])]


def test_lists_may_hold_blocks_and_be_empty() -> None:
    assert outline(parse("s: [{ d: 1 }, < d: 2 > { }] t: []")) == [
        ("s", [[("d", ["1"])], [("d", ["2"])], []]),
        ("t", []),
    ]


def test_strings_in_a_row_are_one_value() -> None:
    text = """p: "one " 'two '\n  # and\n  "three" q: 1"""
    assert outline(parse(text)) == [("p", [""""one " 'two ' "three\""""]), ("q", ["1"])]


def test_an_old_macs_line_ends_are_line_ends() -> None:
    body = parse("# lenet\rname: 'a'\rlayer { }")
    assert [(entry.name, entry.line) for entry in body.entries] == [("name", 2), ("layer", 3)]


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ("layer {", "1:8", "expected '}', found the end of the file"),
        ("layer {\n name: 'a' ]", "2:12", "expected '}', found ']'"),
        ("layer <\n name: 'a' }", "2:12", "expected '>', found '}'"),
        ("layer { } }", "1:11", "'}' closes a block that was never opened; remove it"),
        ("name 'a'", "1:6", "expected ':' or '{' after 'name', found 'a'"),
        ("name", "1:5", "expected ':' or '{' after 'name', found the end of the file"),
        ("name:", "1:6", "expected a value for 'name', found the end of the file"),
        ("name: }", "1:7", "expected a value for 'name', found '}'"),
        ("name:: 'a'", "1:6", "expected a value for 'name', found ':'"),
        ("d: [1,,2]", "1:7", "expected a value for 'd', found ','"),
        ("d: [1", "1:6", "expected a value for 'd', found the end of the file"),
        ("d: [[1]]", "1:5", "expected a value for 'd', found '['"),
        ("'name': 1", "1:1", "expected the name of a field, found 'name'"),
        ("a: 1 2", "1:6", "expected the name of a field, found '2'"),
        ("3x: 1", "1:1", "expected the name of a field, found '3x'"),
        ("; a: 1", "1:1", "expected the name of a field, found ';'"),
        ("|||||||", "1:1", "expected the name of a field, found '|||||||'"),
    ],
)
def test_text_that_is_not_prototxt_is_refused_with_its_place(text: str, place: str, what: str) -> None:
    with pytest.raises(TextError) as caught:
        parse(text, "net.prototxt")
    assert str(caught.value).startswith(f"net.prototxt:{place}: {what}")


@pytest.mark.parametrize(
    "text",
    [
        "num_output: ${N}",
        "num_output: $N",
        "num_output: %d",
        "num_output: @CLASSES@",
        "num_output: {{ classes }}",
        "{% for i in range(3) %}",
        "{{ layers }}",
        "$LAYERS",
        "name: conv{i}",
    ],
)
def test_a_template_is_reported_as_one(text: str) -> None:
    with pytest.raises(TextError, match=r"looks like a template with placeholders; fill them in first"):
        parse(text)


def test_excessive_nesting_is_refused_without_a_traceback() -> None:
    assert parse("a {" * 100 + "}" * 100)
    for opening in ("a {", "a: <", "a [{"):
        with pytest.raises(TextError, match="blocks are nested more than 100 deep"):
            parse(opening * 100_000)


@pytest.mark.parametrize(
    "text",
    [
        "name: 3 " + "x" * 100_000,
        "x" * 100_000,
        "name: 'a' '" + "y\n" * 50_000 + "'!",
        "'line\nline': 1",
        "\x1b[31mred",
        "\u202e: 1",
        "a: \udcff\udcfe}",
    ],
)
def test_errors_are_short_single_lines_for_every_file(text: str) -> None:
    with pytest.raises(TextError) as caught:
        parse(text)
    assert len(str(caught.value)) < 200
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "text",
    ["a: " + f'"{"b" * 300}" ' * 30_000, 'a: "' + "\\n" * 2_000_000, "# c\n" * 200_000, "a: [" + "1," * 50_000],
    ids=["strings", "escapes", "comments", "list"],
)
def test_time_grows_linearly_with_the_text(text: str) -> None:
    start = time.process_time()
    with suppress(TextError):
        parse(text)
    assert time.process_time() - start < 8  # under a second here; when the time grew quadratically, it took minutes


def test_comments_belong_to_the_field_after_them_or_on_their_line() -> None:
    body = parse("""\
# the top

# the name
name: "n"  # behind the name
layer {  # behind the brace
  # above the type
  type: "ReLU"  # behind the type

  # below the last field
}  # behind the layer
# at the end
""")
    name, layer = body.entries
    (inner,) = layer.bodies()
    assert (name.leading, name.trailing) == (["# the top", "", "# the name"], "# behind the name")
    assert (layer.leading, layer.trailing) == ([], "# behind the layer")
    assert inner.entries[0].leading == ["# behind the brace", "# above the type"]
    assert inner.entries[0].trailing == "# behind the type"
    assert inner.closing == ["", "# below the last field"]
    assert body.closing == ["# at the end"]


@pytest.mark.parametrize(
    "text", ['p: "{\n}"  # why', "p: 'a' # why\n", "p: 'a',  # why", "p: [1,\n2]# why", "p { };# why"]
)
def test_a_comment_after_a_value_belongs_to_the_field(text: str) -> None:
    assert parse(text).entries[0].trailing == "# why"
