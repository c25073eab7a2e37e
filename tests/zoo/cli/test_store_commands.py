"""`zoo pull`, `zoo push` and `zoo store`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from netdsl import Net
from tests.memory_storage import Put, stored
from tests.zoo.store.file_server import FileServer, serving


@pytest.fixture(autouse=True)
def home(zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NETDSL_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("NETDSL_OFFLINE", raising=False)
    return tmp_path / "home/store"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    monkeypatch.setenv("no_proxy", "*")
    with serving() as files:
        yield files


@pytest.fixture
def model(zoo) -> Path:
    """Return a model's folder with weights."""
    zoo("import", "lenet", "-o", "lenet")
    Net("lenet").save("lenet/weights.caffemodel")
    return Path("lenet")


def test_a_pulled_model_is_a_net_by_its_name(zoo, home: Path, model: Path) -> None:
    code, out, err = zoo("pull", "lenet", "--as", "my-lenet")
    assert (code, err) == (0, "")
    assert out == f"my-lenet is stored: 5 files, 1.7 MB, in {home / 'my-lenet'}\n"
    assert zoo("pull", "lenet", "--as", "my-lenet").out.startswith("my-lenet is stored already: 5 files")
    assert zoo("card", "my-lenet").out.startswith("LeNet: A net of two convolutions")
    assert "differs by 0.0e+00" in zoo("verify", "my-lenet", "lenet").out
    assert zoo("test", "my-lenet", "--weights", "lenet/weights.caffemodel", "--iterations", "1").code == 0


def test_the_store_is_listed_checked_and_pruned(zoo, home: Path, model: Path) -> None:
    zoo("pull", "lenet", "--as", "a")
    zoo("pull", "lenet", "--as", "b")
    listed = zoo("store", "list").out
    assert "a" in listed and "1.7 MB" in listed and "classification" in listed and str(model.resolve()) in listed
    assert zoo("store", "check") == (0, "a is unchanged since it was stored\nb is unchanged since it was stored\n", "")
    (home / "b/solver.prototxt").write_text("x")
    code, out, err = zoo("store", "check")
    assert (code, out) == (1, "a is unchanged since it was stored\n")
    assert err == f"zoo: {home / 'b/solver.prototxt'}: the file has changed since it was stored\n"
    assert [bool(each["problems"]) for each in json.loads(zoo("store", "check", "--json").out)] == [False, True]
    assert zoo("store", "prune").out.startswith(f"removed {home / 'b'}: ")
    assert [each["name"] for each in json.loads(zoo("store", "list", "--json").out)] == ["a"]
    assert zoo("store", "path", "a").out == f"{home / 'a'}\n"
    assert json.loads(zoo("store", "path", "--json").out)["path"] == str(home)
    assert zoo("store", "prune", "--all", "--json").code == 0
    assert zoo("store", "list") == (0, "", "")


def test_an_address_is_pulled_with_its_hash_and_pinned(zoo, server: FileServer, home: Path, model: Path) -> None:
    server.put("/w.caffemodel", (model / "weights.caffemodel").read_bytes())
    words = "pull", server.url("/w.caffemodel")
    code, out, err = zoo(*words, "--sha256", "0" * 64)
    assert (code, out) == (2, "") and f"but {'0' * 64} is expected, so it isn't kept" in err
    assert zoo(*words, "--max-size", "1K").err.endswith("1,024 are allowed; allow more with --max-size\n")
    assert zoo(*words, "--lock", "zoo.lock").code == 0
    zoo("store", "prune", "w")
    assert "if you trust them, run the same command again with --any-address" in zoo("pull", "--locked", "zoo.lock").err
    assert zoo("pull", "--locked", "zoo.lock", "--any-address").out.startswith("w is stored: 2 files")
    zoo("store", "prune", "w")
    server.put("/w.caffemodel", b"other")
    code, out, err = zoo("pull", "--locked", "zoo.lock", "--any-address")
    assert (code, out) == (2, "") and "bytes are expected" not in out and "are expected" in err
    assert not (home / "w").exists()


def test_being_offline_is_reported_with_advice(zoo, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setenv("NETDSL_OFFLINE", "1")
    for source in ("https://127.0.0.1:9/x.caffemodel", "hf:me/x", "gist:0a"):
        code, out, err = zoo("pull", source, "--as", "x")
        assert (code, out) == (2, "")
        assert "not downloaded, since offline mode is on" in err and "`zoo pull PATH --as x`" in err
        assert len(err.splitlines()) == 1
    done = zoo("pull", "mnist-siamese")
    assert done.code == 0 and done.out.startswith("mnist-siamese is stored without weights: 4 files")
    assert zoo("predict", "mnist-siamese", "digits:test").err.endswith(
        "the model is stored without weights; copy them to "
        f"{home / 'mnist-siamese/weights.caffemodel'}, or train it with `zoo train mnist-siamese`\n"
    )
    done = zoo("pull", "squeezenet-1.1")
    assert (done.code, done.out) == (2, "")
    assert (
        "squeezenet_v1.1.caffemodel: not downloaded, since offline mode is on; the net is stored without w" in done.err
    )
    assert [each["has_weights"] for each in json.loads(zoo("store", "list", "--json").out)] == [False, False]


def test_a_names_version_is_not_taken_for_a_suffix(zoo) -> None:
    assert zoo("pull", "squeezenet-1.2").err == (
        "zoo: squeezenet-1.2: not a file or a model of the zoo; did you mean squeezenet-1.1?\n"
    )


def test_the_list_says_where_weights_are(zoo, model: Path) -> None:
    zoo("pull", "lenet", "--as", "vgg-a")
    places = {each["model"]: each["weights"] for each in json.loads(zoo("list", "--json").out)}
    names = ("shapes", "squeezenet-1.1", "vgg-a", "mnist-siamese")
    assert [places[name] for name in names] == ["included", "published", "stored", "none"]
    assert re.search(r"squeezenet-1.1 .* zoo pull  ", zoo("list").out)


def test_a_model_is_pushed_to_a_folder_and_pulled_from_there(zoo, model: Path) -> None:
    assert zoo("push", "lenet", "shared/lenet").out == "wrote 5 files to shared/lenet\n"
    assert "sha256: " in Path("shared/lenet/README.md").read_text()
    assert zoo("pull", "shared/lenet", "--json").code == 0
    (model / "README.md").unlink()
    code, out, err = zoo("push", "lenet", "other")
    assert (code, out) == (2, "") and "lenet: there is no README.md that describes the model" in err


def test_a_model_is_pushed_to_an_address_and_used_there(zoo, model: Path, put: Put) -> None:
    done = zoo("push", "../lenet", "memory://bucket/lenet", "--json")
    assert done.code == 0, done.err
    pushed = json.loads(done.out)
    assert {f"/bucket/lenet/{name}" for name in pushed["files"]} == set(stored())
    assert "memory://bucket/lenet" in pushed.values()
    assert zoo("show", "memory://bucket/lenet").code == 0
    again = zoo("push", "../lenet", "memory://bucket/lenet")
    assert again.code == 2 and "memory://bucket/lenet: the address has files already" in again.err


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["pull"], "Give a MODEL, or --locked FILE"),
        (["pull", "lenet", "--locked", "x"], "Give a MODEL, or --locked FILE"),
        (["pull", "--locked", "x", "--as", "y"], "--locked already sets everything about its models"),
        (["pull", "--locked", "gone"], "gone: can't be opened: No such file"),
        (["pull", "gone.zip"], "gone.zip"),
        (["pull", "no-such-model"], "no-such-model: not a file or a model of the zoo"),
        (["pull", "lenet", "--sha256", "0" * 64], "--sha256 is about the file of a URL or of --weights"),
        (["pull", "lenet", "--max-size", "much"], "'much' isn't a number of bytes"),
        (["pull", "lenet", "--as", "../x"], "'../x' isn't a valid name for a model"),
        (["push", "no-such-model", "x"], "no-such-model: not a file or a model of the zoo"),
        (["push", "lenet", "x", "--private"], "--private is about repositories on the hub"),
        (["store", "check", "gone"], "gone: not in the store; `zoo store list`"),
        (["store", "prune", "gone"], "gone: not in the store"),
        (["store", "prune", "x", "--all"], "Give names, --all or --copies"),
        (["store", "path", "../x"], "../x: not in the store"),
    ],
)
def test_impossible_requests_are_reported(zoo, words: list[str], what: str) -> None:
    code, out, err = zoo(*words)
    assert code in (1, 2) and out == ""
    assert what in err
