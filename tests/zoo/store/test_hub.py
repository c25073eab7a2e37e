"""Pulling models from a hub and pushing them to one: the hub's own library talks to a server on this machine."""

from __future__ import annotations

import base64
import hashlib
import importlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.zoo.store.conftest import NET, SHA256, WEIGHTS, Told, card
from tests.zoo.store.file_server import FileServer
from zoo.model_folder import open_folder
from zoo.store.errors import DownloadError, StoreError
from zoo.store.local_store import Store
from zoo.store.pull import PullRequest, pull, pull_locked
from zoo.store.push import push
from zoo.store.records import add_to_lock, read_lock
from zoo.store.sources import open_model_source

huggingface_hub = pytest.importorskip("huggingface_hub")
constants = importlib.import_module("huggingface_hub.constants")

COMMIT = "c0ffee" + "0" * 34


@pytest.fixture
def hub(server: FileServer) -> FileServer:
    """Return a hub with one repository."""
    files = {
        "README.md": b"---\nlicense: mit\ntags: [caffe]\n---\nA net.\n",
        "deploy.prototxt": NET,
        "w.caffemodel": WEIGHTS,
        "pytorch_model.bin": b"x",
        ".gitattributes": b"x",
        "onnx/w.onnx": b"x",
    }
    siblings = []
    for name, data in files.items():
        server.put(f"/me/net/resolve/{COMMIT}/{name}", data)
        lfs = {"sha256": SHA256, "size": len(data), "pointerSize": 100} if name == "w.caffemodel" else None
        siblings.append({"rfilename": name, "size": len(data), "lfs": lfs})
    info = {"id": "me/net", "modelId": "me/net", "sha": COMMIT, "siblings": siblings, "tags": [], "downloads": 0}
    for path in ("/api/models/me/net", "/api/models/me/net/revision/v1", f"/api/models/me/net/revision/{COMMIT}"):
        server.put(path, json.dumps(info).encode())
    return server


@pytest.fixture(autouse=True)
def library(server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Return the hub's library with the settings that it reads from the environment at import."""
    monkeypatch.setattr(constants, "ENDPOINT", server.url(""))
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", server.url("/{repo_id}/resolve/{revision}/{filename}")
    )
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    yield
    huggingface_hub.close_session()


def test_a_repository_is_pulled_and_pinned_to_its_commit(
    hub: FileServer, store: Store, told: Told, tmp_path: Path
) -> None:
    model = pull(store, PullRequest(open_model_source("hf:me/net@v1")), told.settings())
    assert (model.record.name, model.record.source, model.record.revision) == ("net", "hf:me/net@v1", COMMIT)
    names = {path.name for path in model.folder.iterdir()}
    assert names == {".source.json", "README.md", "deploy.prototxt", "w.caffemodel"}
    assert (model.folder / "w.caffemodel").read_bytes() == WEIGHTS
    assert "left out pytorch_model.bin, since loading a pickled file can run any code" in told.notices[0]
    assert "left out onnx/w.onnx" in told.notices[1]
    resolved = [asked for asked in hub.asked if "/resolve/" in asked.path]
    assert {asked.headers["authorization"] for asked in resolved} == {"Bearer hf_secret"}
    add_to_lock(tmp_path / "zoo.lock", model.record)
    (locked,) = read_lock(tmp_path / "zoo.lock").models
    again = pull_locked(Store(tmp_path / "again"), locked, told.settings())
    assert again.record.files == model.record.files
    assert hub.asked[-4].path.startswith(f"/api/models/me/net/revision/{COMMIT}")


def test_names_of_a_repository_that_differ_only_in_case_are_refused(hub: FileServer, store: Store, told: Told) -> None:
    info = json.loads(hub.files["/api/models/me/net"].data)
    info["siblings"].append({"rfilename": "readme.md", "size": 1, "lfs": None})
    hub.put("/api/models/me/net", json.dumps(info).encode())
    with pytest.raises(StoreError, match=r"^hf:me/net: the names README.md and readme.md differ only in upper and"):
        pull(store, PullRequest(open_model_source("hf:me/net")), told.settings())


def test_bytes_that_differ_from_the_hubs_hash_are_refused(hub: FileServer, store: Store, told: Told) -> None:
    hub.files[f"/me/net/resolve/{COMMIT}/w.caffemodel"].data = WEIGHTS[::-1]
    with pytest.raises(StoreError, match=rf"w.caffemodel: the file has the SHA-256 \w+, but {SHA256} is expected"):
        pull(store, PullRequest(open_model_source("hf:me/net")), told.settings())
    assert store.names() == []


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("RepoNotFound", "the repository doesn't exist or isn't public; `hf auth login` shows who you are"),
        ("GatedRepo", "only users with the owner's permission can read it"),
        ("RevisionNotFound", "the repository has no such revision"),
        ("", "the hub answers: .*404"),
    ],
)
def test_a_refusal_of_the_hub_is_reported_in_one_sentence(
    hub: FileServer, store: Store, told: Told, code: str, what: str
) -> None:
    hub.put("/api/models/me/net", status=[404], error_code=code)
    with pytest.raises(DownloadError, match=rf"^hf:me/net: {what}") as raised:
        pull(store, PullRequest(open_model_source("hf:me/net")), told.settings())
    assert "\n" not in str(raised.value)


def test_an_invalid_repository_is_reported() -> None:
    for wrong in ("hf:net", "hf:", "hf:a/b/c", "hf:a/b c", "hf:../b"):
        with pytest.raises(StoreError, match="not a repository; write it as in hf:OWNER/NAME"):
            open_model_source(wrong)


def test_a_folder_is_pushed_with_the_hash_of_its_weights(hub: FileServer, tmp_path: Path, told: Told) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    for name, data in {"deploy.prototxt": NET, "w.caffemodel": WEIGHTS, "notes.py": b"x"}.items():
        (folder / name).write_bytes(data)
    (folder / "README.md").write_bytes(card(summary="A net.", license="mit", extra="stays"))
    sent: dict[str, bytes] = {}

    def commit(body: bytes) -> object:
        for line in map(json.loads, body.splitlines()):
            if line["key"] == "file":
                sent[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
        return {"commitUrl": hub.url(f"/me/mine/commit/{COMMIT}"), "commitOid": COMMIT, "success": True}

    def modes(body: bytes) -> object:
        names = [file["path"] for file in json.loads(body)["files"]]
        return {"files": [{"path": name, "uploadMode": "regular", "shouldIgnore": False} for name in names]}

    hub.posts["/api/repos/create"] = lambda body: {"url": hub.url("/me/mine"), "id": "me/mine"}
    hub.posts["/api/validate-yaml"] = lambda body: {"errors": [], "warnings": []}
    hub.posts["/api/models/me/mine/preupload/main"] = modes
    hub.posts["/api/models/me/mine/commit/main"] = commit
    pushed = push(open_folder(folder), "hf:me/mine", tell=told.notices.append)
    assert pushed.address == hub.url(f"/me/mine/commit/{COMMIT}")
    assert set(sent) == {"README.md", "deploy.prototxt", "w.caffemodel"}
    assert sent["w.caffemodel"] == WEIGHTS
    front = sent["README.md"].decode().split("---\n")[1]
    assert f"sha256: {hashlib.sha256(WEIGHTS).hexdigest()}\n" in front and "extra: stays\n" in front
    assert "library_name: netdsl\n" in front and sent["README.md"].decode().count("$ zoo pull hf:me/mine") == 1
    assert told.notices == [f"{folder}: left out notes.py"]
    del hub.posts["/api/models/me/mine/commit/main"]
    with pytest.raises(StoreError, match=r"^hf:me/mine: "):
        push(open_folder(folder), "hf:me/mine", tell=told.notices.append)
