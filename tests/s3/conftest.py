"""A server of S3 on this machine, and commands that use it in processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import pytest

boto3 = pytest.importorskip("boto3", reason="`make test-s3` installs the server")

KEYS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "verysecret", "AWS_DEFAULT_REGION": "us-east-1"}
ROOT = str(Path(__file__).parents[2])


class Done(NamedTuple):
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str


Zoo = Callable[..., Done]
Start = Callable[..., "Command"]


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    """Start a server with the bucket `models`, and return its address."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(endpoint: str) -> Any:
    """Return an empty bucket with the name `models`."""
    keys = {"aws_access_key_id": KEYS["AWS_ACCESS_KEY_ID"], "aws_secret_access_key": KEYS["AWS_SECRET_ACCESS_KEY"]}
    bucket = boto3.resource("s3", endpoint_url=endpoint, region_name="us-east-1", **keys).Bucket("models")
    if bucket.creation_date is None:
        bucket.create()
    bucket.objects.delete()
    return bucket


class Command:
    """A command that runs."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def kill(self) -> None:
        """Kill the command and all processes that it has started."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()

    def done(self) -> Done:
        """Wait for the command's end."""
        out, err = self.process.communicate()
        assert "Traceback" not in err and KEYS["AWS_SECRET_ACCESS_KEY"] not in out + err
        return Done(self.process.returncode, out, err)


@pytest.fixture
def start(endpoint: str, tmp_path: Path) -> Iterator[Start]:
    """Start `zoo` in an empty folder with a cache folder of its own. The server's credentials are in the
    environment."""
    (tmp_path / "here").mkdir()
    own = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "AWS_EC2_METADATA_DISABLED": "true", "PYTHONPATH": ROOT}
    started = list[Command]()

    def begin(*words: str, env: Mapping[str, str | None] = {}) -> Command:
        merged = {**os.environ, **KEYS, "AWS_ENDPOINT_URL": endpoint, **own, **env}
        process = subprocess.Popen(
            [sys.executable, "-m", "zoo", *words],
            cwd=tmp_path / "here",
            env={name: value for name, value in merged.items() if value is not None},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(Command(process))
        return started[-1]

    yield begin
    for command in started:
        if command.process.poll() is None:
            command.kill()


@pytest.fixture
def zoo(start: Start) -> Zoo:
    """Run `zoo` to its end."""
    return lambda *words, env={}: start(*words, env=env).done()


@pytest.fixture
def bad_server() -> Iterator[str]:
    """Start a server that ends in the middle of `cut`, and refuses access to everything else. Return its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            if not self.path.endswith("/cut.caffemodel"):
                self.send_response(403)
                self.end_headers()
                return
            self.send_response(200)
            self.send_header("Content-Length", "1000000")
            self.send_header("ETag", '"1"')
            self.send_header("Last-Modified", "Wed, 01 Jan 2025 00:00:00 GMT")
            self.end_headers()

        def do_GET(self) -> None:
            self.do_HEAD()
            self.wfile.write(b"x" * 1000)
            self.close_connection = True

        def log_message(self, *words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()
