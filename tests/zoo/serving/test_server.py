"""`zoo serve`, tested over real connections."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import cv2
import numpy as np
import pytest

from netdsl import ConvLayer, LinearLayer, NetParams, RDDLayer
from netdsl.errors import NetError
from netdsl.solver.solver import ignore_event
from tests.patience import PATIENCE
from tests.zoo.models import classifier, detector, photo, quarters, segmenter, write_folder
from tests.zoo.serving.conftest import SETTINGS, TOKEN, serving
from zoo.answers.answerer import Answerer, AnswererRequest
from zoo.cards import Card, Cut, ImageInput
from zoo.serving.server import Server, open_server
from zoo.serving.settings import ServerSettings


@dataclass(frozen=True)
class ServerReply:
    """A server's answer."""

    status: int
    headers: Any
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask(server: Server | str, path: str, data: bytes | None = None, **headers: str) -> ServerReply:
    address = server if isinstance(server, str) else server.address
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    if data is not None:
        names = {"Content-Type": "application/octet-stream"} | names
    try:
        with urlopen(Request(address + path, data, names), timeout=60) as reply:
            return ServerReply(reply.status, reply.headers, reply.read())
    except HTTPError as problem:
        with problem:
            return ServerReply(problem.code, problem.headers, problem.read())


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return classifier(tmp_path_factory.mktemp("models") / "four")


@pytest.fixture(scope="module")
def image(tmp_path_factory) -> bytes:
    return photo(tmp_path_factory.mktemp("images") / "1.jpg", 1).read_bytes()


@pytest.fixture(scope="module")
def server(model) -> Iterator[Server]:
    with serving(model) as server:
        yield server


def test_answers_equal_the_models(server, model, image) -> None:
    answerer = Answerer(AnswererRequest(str(model)))
    prepared = answerer.decode(image, "")
    answer = answerer.read(answerer.run([prepared]), 0, prepared, SETTINGS.answers)
    reply = ask(server, "predict?top=2", image, Content_Type="image/jpeg")
    assert reply.status == 200
    assert (reply.json["width"], reply.json["height"]) == (24, 31)
    assert [(each["name"], each["score"]) for each in reply.json["classes"]] == [
        (each.name, pytest.approx(each.score, rel=1e-4)) for each in answer.best[:2]
    ]
    text = json.dumps({"image": base64.b64encode(image).decode()}).encode()
    assert ask(server, "predict?top=2", text, Content_Type="application/json").json == reply.json


def test_simultaneous_requests_are_answered_in_one_batch(model, tmp_path) -> None:
    images = [photo(tmp_path / f"{seed}.png", seed).read_bytes() for seed in range(12)]
    with serving(model, replace(SETTINGS, wait=0.5), batch=12) as server:
        alone = [ask(server, "predict", image).json for image in images[:2]]
        with ThreadPoolExecutor(12) as pool:
            replies = list(pool.map(lambda image: ask(server, "predict", image), images))
        counted = ask(server, "metrics").body.decode()
    assert [reply.status for reply in replies] == [200] * 12
    for one, reply in zip(alone, replies, strict=False):
        assert [each["label"] for each in one["classes"]] == [each["label"] for each in reply.json["classes"]]
        assert one["classes"][0]["score"] == pytest.approx(reply.json["classes"][0]["score"], rel=1e-4)
    batches = int(re.search(r"zoo_batch_images_count (\d+)", counted)[1])
    assert "zoo_batch_images_sum 14.000000" in counted and batches < 14


def test_a_picture_that_a_net_computes_is_returned_as_a_png(tmp_path) -> None:
    params = NetParams(
        "copy", RDDLayer("data", shape=[1, 3, 4, 6]), ConvLayer("out", ["data"], num_filters=3, kernel=1)
    )
    weight = np.zeros((3, 3, 1, 1), np.float32)
    weight[[0, 1, 2], [0, 1, 2]] = 0.5
    card = Card("copy", input=ImageInput((4, 6)), output={"decoder": "picture"})
    folder = write_folder(tmp_path / "copy", params, {"out": [weight, np.zeros(3)]}, card)
    file = tmp_path / "gray.png"
    assert cv2.imwrite(str(file), np.full((4, 6, 3), 200, np.uint8))
    with serving(folder) as server:
        answer = ask(server, "predict", file.read_bytes(), Content_Type="image/png").json
    assert (answer["picture"]["width"], answer["picture"]["kind"]) == (6, "BGR")
    picture = cv2.imdecode(np.frombuffer(base64.b64decode(answer["picture"]["png"]), np.uint8), cv2.IMREAD_COLOR)
    assert picture.shape == (4, 6, 3) and picture[1, 1].tolist() == [100, 100, 100]


def test_boxes_and_masks_are_returned_as_json(tmp_path) -> None:
    data = cv2.imencode(".png", quarters(20, 40))[1].tobytes()
    with serving(detector(tmp_path / "quarters")) as server:
        boxes = ask(server, "predict", data).json["boxes"]
        assert {box["name"]: box["left"] for box in boxes} == {"red": 20, "blue": 0}
        assert ask(server, "predict?threshold=2", data).json["boxes"] == []
    with serving(segmenter(tmp_path / "pixels")) as server:
        answer = ask(server, "predict", data).json
    assert [each["name"] for each in answer["segments"]] == ["background", "red", "blue"]
    from PIL import Image

    (tmp_path / "mask.png").write_bytes(base64.b64decode(answer["mask"]))
    with Image.open(tmp_path / "mask.png") as mask:
        assert mask.size == (40, 20)
        assert [mask.getpixel(place) for place in ((30, 2), (5, 15), (5, 2))] == [1, 2, 0]


@pytest.mark.parametrize(
    ("data", "kind", "status", "says"),
    [
        (b"no image at all", "image/png", 422, "the image: can't be decoded as an image"),
        (b"", "image/png", 422, "the image: can't be decoded"),
        (b"GIF", "text/plain", 415, "send an image's bytes"),
        (b"{}", "application/json", 400, "isn't JSON such as"),
        (b'{"image": "%%"}', "application/json", 400, "isn't JSON such as"),
        (b"[" * 100_000, "application/json", 400, "isn't JSON such as"),
    ],
)
def test_a_file_that_is_not_an_image_is_refused_and_the_server_continues(
    data, kind, status, says, server, image
) -> None:
    reply = ask(server, "predict", data, Content_Type=kind)
    assert (reply.status, says in reply.json["error"]) == (status, True), reply.body
    assert ask(server, "predict", image).status == 200


@pytest.mark.parametrize("query", ["top=0", "top=many", "threshold=x", "threshold=nan"])
def test_an_invalid_query_is_refused(query, server, image) -> None:
    reply = ask(server, f"predict?{query}", image)
    assert reply.status == 400 and "?top= must be a number" in reply.json["error"]


def test_a_body_that_is_too_large_is_refused_with_or_without_a_length(model, image) -> None:
    with serving(model, replace(SETTINGS, largest=5000)) as server:
        reply = ask(server, "predict", bytes(6000))
        assert reply.status == 413 and "5,000 bytes" in reply.json["error"]
        with connected(server) as connection:  # in chunks, without a length
            head = "POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/png\r\nTransfer-Encoding: chunked"
            connection.sendall(f"{head}\r\n\r\n".encode() + b"1770\r\n" + bytes(6000) + b"\r\n0\r\n\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 413 ")
        assert ask(server, "predict", image).status == 200


@contextmanager
def connected(server: Server) -> Iterator[socket.socket]:
    port = int(server.address.rstrip("/").rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        yield connection


def test_an_incomplete_body_is_abandoned(model, image) -> None:
    with serving(model, replace(SETTINGS, seconds=0.3)) as server, connected(server) as connection:
        head = "POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/png\r\nContent-Length: 999"
        connection.sendall(f"{head}\r\n\r\n12345".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 503 ")


def test_requests_beyond_the_queue_are_asked_to_retry(model, image, monkeypatch) -> None:
    running, released, run = threading.Event(), threading.Event(), Answerer.run

    def wait_and_run(self, images):
        running.set()
        assert released.wait(PATIENCE)
        return run(self, images)

    monkeypatch.setattr(Answerer, "run", wait_and_run)
    with serving(model, replace(SETTINGS, queue=1)) as server, ThreadPoolExecutor(1) as pool:
        try:
            pending = pool.submit(ask, server, "predict", image)
            assert running.wait(PATIENCE)
            reply = ask(server, "predict", image)
            assert (reply.status, reply.headers["Retry-After"]) == (503, "1")
            assert ask(server, "ready").status == 503
            assert ask(server, "health").status == 200
        finally:
            released.set()
        assert pending.result().status == 200


def test_a_client_with_too_many_requests_is_asked_to_wait(model, image) -> None:
    with serving(model, replace(SETTINGS, rate=0.001)) as server:
        assert ask(server, "predict", image).status == 200
        reply = ask(server, "predict", image)
        assert reply.status == 429 and int(reply.headers["Retry-After"]) > 500
        assert ask(server, "health").status == 200


def test_a_token_is_checked_before_the_body_is_read(model, image) -> None:
    with serving(model, replace(SETTINGS, token=TOKEN)) as server:
        for headers in ({}, {"Authorization": "Bearer another"}, {"Authorization": TOKEN}):
            for path, data in (("predict", image), ("card", None), ("metrics", None)):
                reply = ask(server, path, data, **headers)
                assert reply.status == 401 and "Bearer TOKEN" in reply.json["error"]
        with connected(server) as connection:
            head = "POST /predict HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 999"
            connection.sendall(f"{head}\r\n\r\n".encode())
            assert connection.recv(100).startswith(b"HTTP/1.1 401 ")
        assert ask(server, "predict", image, Authorization=f"Bearer {TOKEN}").status == 200
        assert [ask(server, path).status for path in ("", "health", "ready")] == [200] * 3


def test_a_public_address_requires_a_token() -> None:
    for host in ("0.0.0.0", "::", "192.0.2.7", "example.org"):
        with pytest.raises(NetError, match="write one of 16 letters or more into a file for --token"):
            ServerSettings(host)
        assert ServerSettings(host, token=TOKEN).token == TOKEN


@pytest.mark.parametrize("name", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", ""])
def test_a_foreign_host_name_is_refused(name, server) -> None:
    reply = ask(server, "card", Host=name)
    assert reply.status == 421 and "another host name" in reply.json["error"]
    assert ask(server, "card", Host="localhost").json["name"] == "four"


def test_the_server_describes_itself(server) -> None:
    assert [ask(server, path).body for path in ("health", "ready")] == [b"well\n", b"ready\n"]
    card = ask(server, "card").json
    assert (card["task"], card["summary"]) == ("classification", "Tells four things apart.")
    assert "RGB with values from 0 to 255, resized to 13x12, cropped to 10x8" in card["input"]
    assert card["data"] == {"data": {"shape": [3, 10, 8], "known": "stated"}} and card["assumed"] == {}
    ask(server, "nothing/here")
    ask(server, "predict")
    text = ask(server, "metrics").body.decode()
    for line in text.splitlines():
        assert re.fullmatch(r"# (HELP|TYPE) \w+ .+|\w+(\{[^{}]*\})? [0-9.]+", line), line
    assert re.search(r'zoo_requests_total\{path="other",status="404"\} \d', text)
    assert re.search(r'zoo_requests_total\{path="/predict",status="405"\} \d', text)
    assert int(re.search(r"zoo_errors_total (\d+)", text)[1]) >= 2


def test_the_server_says_how_pictures_of_a_face_must_be_cut_out(server, tmp_path) -> None:
    assert ask(server, "card").json["cut"] is None
    params = NetParams("points", RDDLayer("data", shape=[1, 3, 4, 6]), LinearLayer("fc", ["data"], num_outputs=4))
    card = Card("points", input=ImageInput((4, 6), cut=Cut("face")), output={"decoder": "landmarks"})
    with serving(write_folder(tmp_path / "points", params, None, card)) as server_of_points:
        sentence = ask(server_of_points, "card").json["cut"]
    assert "each must show one face, cut out along a detector's box" in sentence


def test_every_answer_has_headers_that_keep_browsers_safe(server, image) -> None:
    for reply in (
        ask(server, ""),
        ask(server, "predict", image),
        ask(server, "nothing"),
        ask(server, "card", Host="x"),
    ):
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'none'" in reply.headers["Content-Security-Policy"]
        assert "Access-Control-Allow-Origin" not in reply.headers
        assert "uvicorn" not in str(reply.headers).lower()


def test_an_error_in_the_net_affects_only_one_request(model, image, monkeypatch) -> None:
    told, run = list[str](), Answerer.run

    def run_or_fail(self, images):
        if any(each.placement.image.height == 13 for each in images):
            raise RuntimeError("the net fell over")
        return run(self, images)

    monkeypatch.setattr(Answerer, "run", run_or_fail)
    bad = cv2.imencode(".png", quarters(13, 13))[1].tobytes()
    server = open_server(AnswererRequest(str(model), batch=2), replace(SETTINGS, wait=0.5), ignore_event, told.append)
    thread = threading.Thread(target=server.serve_until_ended)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    with ThreadPoolExecutor(2) as pool:
        replies = list(pool.map(lambda data: ask(server, "predict", data), (bad, image)))
    server.should_exit = True
    thread.join()
    assert [reply.status for reply in replies] == [500, 200]
    assert "fell over" not in replies[0].json["error"]
    assert told == ["a request failed: RuntimeError('the net fell over')"]


@contextmanager
def process(*words: str, **environment: str) -> Iterator[tuple[subprocess.Popen, str]]:
    """Start a server in a separate process. Returns it and its address."""
    command = [sys.executable, "-c", "from zoo.cli import main; main()", "serve", *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    done = subprocess.Popen(command, env=os.environ | environment, text=True, **pipes)
    try:
        line = done.stdout.readline()
        assert line.startswith("serving four at http://127.0.0.1:"), line + done.stderr.read()
        yield done, line.split()[3]
    finally:
        done.kill()
        done.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_signal_ends_the_server_after_pending_requests(number, model, image) -> None:
    with process(str(model), "--port", "0", "--wait", "1000") as (server, address), ThreadPoolExecutor(1) as pool:
        reply = pool.submit(ask, address, "predict", image)
        while "zoo_open_requests 1" not in ask(address, "metrics").body.decode():
            time.sleep(0.01)
        server.send_signal(number)
        assert reply.result().status == 200
        assert server.wait() == 0
        assert server.stderr.read().splitlines()[1:] == []


def test_a_port_in_use_is_reported(server, model) -> None:
    port = int(server.address.rstrip("/").rpartition(":")[2])
    with pytest.raises(
        NetError, match=f"127.0.0.1:{port}: the server can't listen there: Address already in use; another"
    ):
        open_server(AnswererRequest(str(model)), replace(SETTINGS, port=port), ignore_event, pytest.fail)
