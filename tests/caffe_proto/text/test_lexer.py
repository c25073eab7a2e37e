"""Where the pieces of a text are, and the texts that have none."""

from __future__ import annotations

import pytest

from caffe_proto.errors import TextError
from caffe_proto.text.lexer import TokenKind, tokenize


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


def test_a_comment_ends_with_its_line_and_loses_the_blanks_behind_it() -> None:
    assert pieces("# one \t \n#two") == [("# one", 1, 1), ("#two", 2, 1)]


@pytest.mark.parametrize(("text", "blank"), [("a\nb", False), ("a\n\nb", True), ("a\n \t\n\nb", True)])
def test_an_empty_line_is_told(text: str, blank: bool) -> None:
    _, second, _ = tokenize(text, "net")
    assert second.blank is blank


def test_the_end_is_a_token_with_its_place() -> None:
    *_, end = tokenize("a\n b ", "net")
    assert (end.kind, end.text, end.line, end.column) == (TokenKind.END, "", 2, 4)


@pytest.mark.parametrize("text", ['name: "conv', "name: 'conv", 'name: "conv\\"', "# fine\nname: 'a\n\nb"])
def test_a_string_that_never_ends_is_refused_where_it_begins(text: str) -> None:
    line = text.count("\n", 0, text.index("name")) + 1
    with pytest.raises(TextError, match=f"^net:{line}:7: a ['\"] opens a string that never ends$"):
        list(tokenize(text, "net"))


@pytest.mark.parametrize("mark", ["<<<<<<< HEAD", "=======", ">>>>>>> 4f2a91c (two towers)"])
def test_an_unfinished_merge_is_called_so(mark: str) -> None:
    with pytest.raises(TextError, match=f"^net:2:1: '{mark[:7]}' is the mark of an unfinished merge; choose one"):
        list(tokenize(f'name: "n"\n{mark}\nlayer {{ }}\n', "net"))


@pytest.mark.parametrize("text", ["# =======", "a: '==='", "# <<<<<<< HEAD", "a < b < c < > > >"])
def test_what_only_resembles_a_merge_is_no_merge(text: str) -> None:
    assert pieces(text)
