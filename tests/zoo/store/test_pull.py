"""Pulling models into the store from every source: they arrive complete and correct, and bad files are refused."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from caffe_proto.errors import LimitError
from netdsl import Net
from netdsl.model.opening import open_model
from tests.zoo.store.archives import FILE, tarred, zipped
from tests.zoo.store.conftest import NET, SHA1, SHA256, WEIGHTS, Told, card
from tests.zoo.store.file_server import FileServer
from zoo.catalogue.writing import write_model
from zoo.names import find_model
from zoo.store.errors import DownloadError, PrivateAddressError, StoreError, UnreachableError
from zoo.store.local_store import Store
from zoo.store.public_addresses import AddressGuard
from zoo.store.pull import PulledModel, PullRequest, pull, pull_locked
from zoo.store.records import add_to_lock, read_lock
from zoo.store.sources import GistSource, open_model_source
from zoo.store.transfers import ExpectedFile
from zoo.store.upkeep import check_model


def pulled(store: Store, source: str, told: Told, name: str = "", **settings: object) -> PulledModel:
    return pull(store, PullRequest(open_model_source(source), name), told.settings(**settings))


def names_in(model: PulledModel | Path) -> set[str]:
    folder = model if isinstance(model, Path) else model.folder
    return {path.name for path in folder.iterdir()} - {".source.json"}


def leftovers(store: Store) -> set[str]:
    return {path.name for path in store.path.iterdir()} - {".locks"}


@pytest.fixture
def zoo_model(server: FileServer) -> str:
    """Serve a model in the format of Caffe's own zoo. Returns the address of its card."""
    server.put("/models/some_net/readme.md", card(
        caffemodel="some.caffemodel", caffemodel_url=server.url("/dl/some.caffemodel"), license="unrestricted",
        sha1=SHA1, caffe_commit="709dc15a", gist_id="0123",
    ))  # fmt: skip
    server.put("/models/some_net/deploy.prototxt", NET)
    server.put("/models/some_net/solver.prototxt", b'net: "train_val.prototxt"')
    server.put("/dl/some.caffemodel", WEIGHTS)
    return server.url("/models/some_net/readme.md")


def test_caffes_readme_leads_to_its_folders_files_and_its_weights(store: Store, told: Told, zoo_model: str) -> None:
    model = pulled(store, zoo_model, told)
    assert names_in(model) == {"README.md", "deploy.prototxt", "solver.prototxt", "some.caffemodel"}
    assert (model.record.name, model.record.source) == ("some_net", zoo_model)
    assert {file.name: file.sha256 for file in model.record.files}["some.caffemodel"] == SHA256
    stored = store.model("some_net")
    assert stored is not None and stored.weights == (model.folder / "some.caffemodel",)
    assert b"caffe_commit: 709dc15a" in (model.folder / "README.md").read_bytes()
    assert check_model(store, "some_net").problems == ()
    assert told.notices == []


def test_once_it_is_stored_no_network_is_touched(server: FileServer, store: Store, told: Told, zoo_model: str) -> None:
    pulled(store, zoo_model, told)
    asked = len(server.asked)
    model = pulled(store, zoo_model, told, offline=True)
    assert not model.is_new and len(server.asked) == asked
    with pytest.raises(
        StoreError,
        match=rf"some_net: the store already contains a model with this name from {zoo_model}; choose another name",
    ):
        pulled(store, server.url("/other/some_net.caffemodel"), told)


def test_resumed_or_manually_placed_weights_complete_a_model(
    server: FileServer, store: Store, told: Told, zoo_model: str
) -> None:
    server.files["/dl/some.caffemodel"].breaks = [5000]
    with pytest.raises(
        DownloadError,
        match="ended after 5,000 of 7,000 bytes; the net is stored without weights; if you have the file, copy it to /",
    ):
        pulled(store, zoo_model, told, attempts=1)
    place = store.folder("some_net") / "some.caffemodel"
    place.write_bytes(b"wrong")
    with pytest.raises(StoreError, match=rf"some.caffemodel: the file has the SHA-1 \w+, but {SHA1} is expected"):
        pulled(store, zoo_model, told, offline=True)
    place.unlink()
    with pytest.raises(
        UnreachableError,
        match=rf"offline mode is on; the net is stored without weights; if you have the file, copy it to {place}",
    ):
        pulled(store, zoo_model, told, offline=True)
    assert len(pulled(store, zoo_model, told, attempts=1).record.files) == 4
    assert [each.start for each in server.asked_for("/dl/some.caffemodel")] == [0, 5000]
    by_hand = Store(store.path.with_name("other"))
    with pytest.raises(DownloadError):
        server.files["/dl/some.caffemodel"].status = [404]
        pulled(by_hand, zoo_model, told)
    (by_hand.folder("some_net") / "some.caffemodel").write_bytes(WEIGHTS)
    assert len(pulled(by_hand, zoo_model, told, offline=True).record.files) == 4


@pytest.mark.parametrize("folder", ["../..", "/tmp", "sub"])
@pytest.mark.parametrize("field", ["caffemodel", "labels", "mean"])
def test_a_card_cannot_refer_to_files_outside_its_folder(
    server: FileServer, store: Store, told: Told, field: str, folder: str
) -> None:
    mean = {"input": f"{{size: [1, 1], mean: {folder}/x.npy}}"}
    value = mean if field == "mean" else {field: f"{folder}/x.caffemodel"}
    server.put("/m/README.md", card(**value, caffemodel_url=server.url("/w"), sha256=SHA256))
    server.put("/m/deploy.prototxt", NET)
    for path in ("/w", "/x.caffemodel", "/x.npy", "/m/sub/x.npy", "/m/sub/x.caffemodel", "/tmp/x.npy"):
        server.put(path, WEIGHTS)
    with pytest.raises(StoreError, match=rf"the file name '{folder}/x.\w+' isn't a plain name in the model's own"):
        pulled(store, server.url("/m/README.md"), told)
    assert leftovers(store) == set()
    assert not list(store.path.parent.rglob("x.*"))


def test_only_the_user_may_name_private_addresses(server: FileServer, store: Store, told: Told, tmp_path: Path) -> None:
    guard = AddressGuard()
    elsewhere = server.url("/dl/w.caffemodel").replace("127.0.0.1", "localhost")
    server.put("/some/README.md", card(caffemodel="w.caffemodel", caffemodel_url=elsewhere, sha256=SHA256))
    server.put("/some/deploy.prototxt", NET)
    server.put("/dl/w.caffemodel", WEIGHTS)
    with pytest.raises(PrivateAddressError, match="a card, a redirect or a lock file named it; if you trust them"):
        pulled(store, server.url("/some/README.md"), told, guard=guard)
    assert server.asked_for("/dl/w.caffemodel") == []
    pulled(store, server.url("/some/README.md"), told, guard=AddressGuard(any_address=True))
    typed = PullRequest(open_model_source(server.url("/some/deploy.prototxt")), "typed", (elsewhere,))
    add_to_lock(tmp_path / "zoo.lock", pull(store, typed, told.settings(guard=guard)).record)
    (locked,) = read_lock(tmp_path / "zoo.lock").models
    with pytest.raises(PrivateAddressError):
        pull_locked(Store(tmp_path / "other"), locked, told.settings(guard=guard))


def test_only_weights_are_stored_as_weights(server: FileServer, store: Store, told: Told, tmp_path: Path) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n"
    server.put("/some/README.md", card(caffemodel="w.caffemodel", caffemodel_url=server.url("/dl/w.caffemodel")))
    server.put("/some/deploy.prototxt", NET)
    server.put("/dl/w.caffemodel", pointer)
    with pytest.raises(DownloadError, match=r"/dl/w.caffemodel: this is a Git LFS pointer instead of the file itself"):
        pulled(store, server.url("/some/README.md"), told)
    assert names_in(store.folder("some")) == {"README.md", "deploy.prototxt"}
    (tmp_path / "some").mkdir()
    (tmp_path / "some/w.caffemodel").write_bytes(pointer)
    with pytest.raises(StoreError, match=r"w.caffemodel: this is a Git LFS pointer"):
        pulled(store, str(tmp_path / "some"), told, name="local")
    server.put("/other/README.md", card(caffemodel="deploy.prototxt", caffemodel_url=server.url("/dl/w.caffemodel")))
    server.put("/other/deploy.prototxt", NET)
    with pytest.raises(StoreError, match=r"its card names 'deploy.prototxt' as the file of the weights; name one such"):
        pulled(store, server.url("/other/README.md"), told)
    assert leftovers(store) == {"some"}


def test_names_that_differ_only_in_case_are_refused(store: Store, told: Told, tmp_path: Path) -> None:
    (tmp_path / "deploy.prototxt").write_bytes(NET)
    (tmp_path / "README.md").write_bytes(card())
    (tmp_path / "readme.md").write_bytes(card())
    if len(list(tmp_path.iterdir())) < 3:
        pytest.skip("this file system doesn't distinguish upper and lower case")
    with pytest.raises(StoreError, match=r"README.md and readme.md differ only in upper and lower case; remove one"):
        pulled(store, str(tmp_path), told, name="x")


def test_a_name_of_the_catalogue_is_kept_with_its_nets(store: Store, told: Told) -> None:
    model = pulled(store, "mnist-siamese", told, name="mine")
    assert names_in(model) == {"README.md", "deploy.prototxt", "solver.prototxt", "train_val.prototxt"}
    place = store.folder("mine") / "weights.caffemodel"
    assert told.notices == [
        "mine: no published weights are known, so the model can't predict, be tested or be fine-tuned yet; train it "
        f"with `zoo train mine`, or copy weights to {place}"
    ]
    assert not model.has_weights
    Net("mnist-siamese").save(place)
    assert [file.name for file in pulled(store, "mnist-siamese", told, name="mine").record.files][
        -1
    ] == "weights.caffemodel"


def test_a_stored_model_can_be_named_everywhere_and_precedes_the_catalogue(
    tmp_path: Path, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NETDSL_HOME", str(tmp_path / "home"))
    store = Store(tmp_path / "home/store")
    write_model("lenet", tmp_path / "lenet")
    net = Net(tmp_path / "lenet")
    net.save(tmp_path / "lenet/weights.caffemodel")
    pulled(store, str(tmp_path / "lenet"), told)
    pulled(store, str(tmp_path / "lenet"), told, name="lenet-1.1")
    monkeypatch.chdir(tmp_path / "home")
    for name in ("lenet", "lenet-1.1"):
        assert (open_model(name).weights["ip2"][0] == net.get_weights()["ip2"][0]).all()
        found = find_model(Path(name))
        assert found is not None and found.path == store.folder(name)


def test_a_single_file_and_its_weights_become_a_model(
    server: FileServer, tmp_path: Path, store: Store, told: Told
) -> None:
    server.put("/VGG_deploy.prototxt", NET)
    server.put("/w/vgg.caffemodel?dl=1", WEIGHTS)
    server.put("/w/vgg.caffemodel", WEIGHTS)
    source = open_model_source(server.url("/VGG_deploy.prototxt"))
    request = PullRequest(source, "vgg", (server.url("/w/vgg.caffemodel?dl=1"),), ExpectedFile(SHA256))
    model = pull(store, request, told.settings())
    assert names_in(model) == {"README.md", "VGG_deploy.prototxt", "vgg.caffemodel"}
    stored = store.model("vgg")
    assert stored is not None and stored.net.name == "VGG_deploy.prototxt" and stored.weights
    assert "no hash is known, so the file can't be verified" in told.notices[0]
    (tmp_path / "deploy.prototxt").write_bytes(NET)
    (tmp_path / "w.caffemodel").write_bytes(WEIGHTS)
    request = PullRequest(open_model_source(str(tmp_path / "deploy.prototxt")), "x", (str(tmp_path / "w.caffemodel"),))
    with pytest.raises(StoreError, match=rf"w.caffemodel: the file has the SHA-256 {SHA256}, but 0+ is expected"):
        pull(store, replace(request, expected=ExpectedFile("0" * 64)), told.settings())
    pull(store, replace(request, expected=ExpectedFile(SHA256)), told.settings())
    local = pulled(store, str(tmp_path / "deploy.prototxt"), told)
    assert local.record.name == "deploy" and names_in(local) == {"README.md", "deploy.prototxt"}


@pytest.mark.parametrize(
    ("files", "net"),
    [
        (["net.prototxt", "net_solver.prototxt"], "net.prototxt"),
        (["x.onnx"], "x.onnx"),
        (["x.caffemodel", "solver.prototxt"], "x.caffemodel"),
        (["lenet.prototxt", "lenet_solver.prototxt", "lenet_train_test.prototxt"], "lenet_train_test.prototxt"),
        (["a_deploy.prototxt", "a_train_val.prototxt", "b.prototxt"], "a_train_val.prototxt"),
    ],
)
def test_the_net_of_a_published_model_is_found_by_its_name(
    tmp_path: Path, store: Store, told: Told, files: list[str], net: str
) -> None:
    (tmp_path / "m").mkdir()
    contents = {".prototxt": NET, ".caffemodel": WEIGHTS, ".onnx": b"\x08\x07"}
    for name in files:
        (tmp_path / "m" / name).write_bytes(contents[Path(name).suffix])
    pulled(store, str(tmp_path / "m"), told)
    stored = store.model("m")
    assert stored is not None and stored.net.name == net


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("x.pt", "the file is pickled, and loading it can run any code"),
        ("x.BIN", "the file is pickled"),
        ("x.exe", "not a file of a model"),
        ("solver", "not a file of a model"),
    ],
)
def test_a_file_that_does_not_belong_to_a_model_is_refused(
    server: FileServer, tmp_path: Path, store: Store, told: Told, name: str, what: str
) -> None:
    (tmp_path / name).write_bytes(b"x")
    server.put(f"/{name}", b"x")
    for source in (str(tmp_path / name), server.url(f"/{name}")):
        with pytest.raises(StoreError, match=what):
            pulled(store, source, told)
    assert leftovers(store) == set() and not server.asked


def test_an_archive_of_a_model_is_unpacked(tmp_path: Path, store: Store, told: Told) -> None:
    files = {"some/readme.md": card(), "some/deploy.prototxt": NET, "some/w.caffemodel": WEIGHTS, "some/w.pth": b"x"}
    (tmp_path / "some.tgz").write_bytes(tarred(*((*each, FILE) for each in files.items())))
    model = pulled(store, str(tmp_path / "some.tgz"), told)
    assert (model.record.name, names_in(model)) == ("some", {"README.md", "deploy.prototxt", "w.caffemodel"})
    assert "left out some/w.pth, since loading a pickled file" in told.notices[0]


def test_an_archive_that_is_refused_leaves_nothing(tmp_path: Path, store: Store, told: Told) -> None:
    (tmp_path / "some.zip").write_bytes(zipped(**{"deploy.prototxt": NET, "../deploy.prototxt": NET}))
    with pytest.raises(StoreError, match=r"which would be outside the model's folder, so it isn't unpacked"):
        pulled(store, str(tmp_path / "some.zip"), told)
    assert leftovers(store) == set()
    assert list(tmp_path.rglob("deploy.prototxt")) == []


def test_an_archive_is_unpacked_in_a_process_with_limits(
    tmp_path: Path, store: Store, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "some.tar.xz").write_bytes(tarred(("deploy.prototxt", NET, FILE), mode="w:xz"))
    monkeypatch.setenv("NETDSL_LIMITS", "process-memory=1M")  # the window of xz is larger
    with pytest.raises(LimitError, match=r"some.tar.xz needs .* set NETDSL_LIMITS=process-memory=2048K$"):
        pulled(store, str(tmp_path / "some.tar.xz"), told)
    assert leftovers(store) == set()


def test_a_gist_is_pulled_as_an_archive_with_its_cards_weights(server: FileServer, store: Store, told: Told) -> None:
    revision = "ab" * 20
    front = card(caffemodel="w.caffemodel", caffemodel_url=server.url("/w"), sha1=SHA1, gist_id="0abc")
    archive = zipped(**{f"0abc-{revision}/{name}": data for name, data in {
        "readme.md": front, "train_val.prototxt": NET, "deploy.prototxt": NET, "solver.prototxt": b"",
    }.items()})  # fmt: skip
    server.put("/me/0abc/download", redirect="/zip")
    server.put("/zip", archive)
    server.put(f"/me/0abc/archive/{revision}.zip", archive)
    server.put("/w", WEIGHTS)
    source = GistSource("me/0abc", site=server.url("/"))
    model = pull(store, PullRequest(source), told.settings())
    assert (model.record.name, model.record.source) == ("me-0abc", "gist:me/0abc")
    assert model.record.revision == revision
    assert len(names_in(model)) == 5
    again = pull(store, PullRequest(source.at(revision), "again"), told.settings())
    assert again.record.files == model.record.files
    for wrong in ("gist:../../x", "gist:", "gist:me/x y"):
        with pytest.raises(StoreError, match="not a gist; write it as in gist:ID"):
            open_model_source(wrong)


def test_a_lock_file_pins_every_byte(
    server: FileServer, tmp_path: Path, store: Store, told: Told, zoo_model: str
) -> None:
    lock = tmp_path / "zoo.lock"
    add_to_lock(lock, pulled(store, zoo_model, told).record)
    (tmp_path / "deploy.prototxt").write_bytes(NET)
    add_to_lock(lock, pulled(store, str(tmp_path / "deploy.prototxt"), told, name="a").record)
    assert [model.name for model in read_lock(lock).models] == ["a", "some_net"]
    _, locked = read_lock(lock).models
    assert not pull_locked(store, locked, told.settings(offline=True)).is_new
    elsewhere = Store(tmp_path / "elsewhere")
    assert pull_locked(elsewhere, locked, told.settings()).record.files == store.record("some_net").files
    for path, what in {
        "/models/some_net/solver.prototxt": "has the SHA-256 [0-9a-f]{64}, but [0-9a-f]{64} is expected|bytes",
        "/dl/some.caffemodel": "bytes, but 7,000 are expected",
    }.items():
        before, server.files[path].data = server.files[path].data, b"changed"
        with pytest.raises(StoreError, match=what):
            pull_locked(Store(tmp_path / path.replace("/", "-")), locked, told.settings())
        server.files[path].data = before
    server.put("/models/some_net/labels.txt", b"a\n")
    with pytest.raises(StoreError, match=r"labels.txt: the file isn't in the lock file"):
        pull_locked(Store(tmp_path / "more"), locked, told.settings())
    del server.files["/models/some_net/labels.txt"], server.files["/models/some_net/solver.prototxt"]
    with pytest.raises(StoreError, match=r"the lock file doesn't match solver.prototxt in the current version of http"):
        pull_locked(Store(tmp_path / "fewer"), locked, told.settings())
    assert Store(tmp_path / "fewer").names() == []
    (store.folder("some_net") / "deploy.prototxt").write_bytes(b"x")
    with pytest.raises(
        StoreError,
        match=r"some_net: the lock file doesn't match deploy.prototxt; remove the model with `zoo store prune",
    ):
        pull_locked(store, locked, told.settings())
    lock.write_text("{}x")
    with pytest.raises(StoreError, match=r"zoo.lock: not a lock file"):
        read_lock(lock)


def test_a_card_in_another_format_is_kept_as_text(tmp_path: Path, store: Store, told: Told) -> None:
    folder = tmp_path / "hub-model"
    folder.mkdir()
    (folder / "deploy.prototxt").write_bytes(NET)
    (folder / "README.md").write_bytes(b"---\nlicense: mit\ntags: [a, b]\n---\nText.\n")
    model = pulled(store, str(folder), told)
    assert b"tags: [a, b]\nname: hub-model\n---\nText." in (model.folder / "README.md").read_bytes()
    (folder / "README.md").write_bytes(b"# A net\n")
    other = pulled(store, str(folder), told, name="other")
    assert (other.folder / "published-card.md").read_bytes() == b"# A net\n"
    assert "contains no readable card, so it is kept as published-card.md" in told.notices[-2]


def test_weights_that_do_not_match_the_card_are_refused(tmp_path: Path, store: Store, told: Told) -> None:
    (tmp_path / "deploy.prototxt").write_bytes(NET)
    (tmp_path / "w.caffemodel").write_bytes(b"\n\x05other")
    (tmp_path / "README.md").write_bytes(card(sha256=SHA256))
    with pytest.raises(StoreError, match=rf"but {SHA256} is expected by the card in README.md; .* --own --as NAME"):
        pulled(store, str(tmp_path), told, name="x")
    (tmp_path / "README.md").write_bytes(card(sha256="123"))
    with pytest.raises(StoreError, match=r"the card of Some Net: '123' isn't a sha256; write 64 digits"):
        pulled(store, str(tmp_path), told, name="x")
    assert leftovers(store) == set()


def test_weights_of_a_users_own_are_stored_under_another_name(
    server: FileServer, tmp_path: Path, store: Store, told: Told, zoo_model: str
) -> None:
    (tmp_path / "mine.caffemodel").write_bytes(b"\n\x07another training")
    server.put("/models/some_net/readme.md", card(
        caffemodel="some.caffemodel", caffemodel_url=server.url("/dl/some.caffemodel"), sha256=SHA256,
        results="[{metric: accuracy, value: 0.9, data: digits, source: a paper}]",
    ))  # fmt: skip
    weights = (str(tmp_path / "mine.caffemodel"),)
    request = PullRequest(open_model_source(zoo_model), "mine", weights, own=True)
    model = pull(store, request, told.settings())
    stored = store.model("mine")
    assert stored is not None and stored.weights == (model.folder / "mine.caffemodel",)
    described = stored.card
    assert described.name == "Some Net" and described.results == () and described.caffemodel_url == ""
    assert check_model(store, "mine").problems == () and server.asked_for("/dl/some.caffemodel") == []
    assert not pull(store, request, told.settings(offline=True)).is_new


@pytest.mark.parametrize("name", ["../x", "a/b", ".hidden", "a b", "", "x" * 101])
def test_an_invalid_name_is_refused(store: Store, told: Told, name: str) -> None:
    with pytest.raises(StoreError, match="isn't a valid name for a model" if name else "not downloaded"):
        pulled(store, "http://127.0.0.1:9/w.caffemodel", told, name=name, offline=True)
    assert not store.path.exists() or leftovers(store) == set()


PULLING = """
import sys
from pathlib import Path
from zoo.store.local_store import Store
from zoo.store.sources import open_model_source
from zoo.store.pull import PullRequest, pull
from zoo.store.transfers import TransferSettings

print(pull(Store(Path(sys.argv[1])), PullRequest(open_model_source(sys.argv[2])), TransferSettings()).is_new)
"""


def test_two_simultaneous_pulls_download_once(server: FileServer, store: Store, told: Told, zoo_model: str) -> None:
    words = [sys.executable, "-c", PULLING, str(store.path), zoo_model]
    both = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert sorted(process.communicate()[0] for process in both) == ["False\n", "True\n"]
    assert [process.returncode for process in both] == [0, 0]
    assert len(server.asked_for("/dl/some.caffemodel")) == 1
    assert check_model(store, "some_net").problems == ()
    assert leftovers(store) == {"some_net"}


def test_a_second_pull_waits_with_a_message(store: Store, told: Told, tmp_path: Path) -> None:
    (tmp_path / "deploy.prototxt").write_bytes(NET)
    with (
        store.locked("deploy"),
        pytest.raises(StoreError, match="deploy: another process is pulling it"),
        store.locked("deploy"),
    ):
        pass
    assert pulled(store, str(tmp_path / "deploy.prototxt"), told).is_new
