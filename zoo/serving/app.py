"""The HTTP application: a model's answers, its card, its web page and its health.

The net answers requests that arrive at about the same time in one batch.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from caffe_proto.errors import LimitError
from caffe_proto.whole_numbers import whole_number
from netdsl.errors import DataError, ForeignFileError
from netdsl.model.data_shapes import plain_data
from netdsl.prediction.decoders.decoder import Picture
from zoo.answers.answer import Answer, AnswerSettings, ImageAnswer, Segments, as_plain
from zoo.answers.answerer import Answerer
from zoo.answers.drawing import mask_png, picture_png
from zoo.answers.images import PreparedImage
from zoo.serving.clients import Place, Places, requesting_client
from zoo.serving.decoding import ImageDecoders
from zoo.serving.guard import Guard
from zoo.serving.metrics import Metrics
from zoo.serving.refusals import Reason, RefusedError
from zoo.serving.settings import PREDICT, ServerSettings

_DECODERS = 4  # number of threads
_MOST_MASK_LABELS = 256  # maximum number of labels in a PNG with a palette
_MOST_CLASSES = 1000  # maximum number of values in an answer
_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True)
class _Waiting:
    """An image whose answer is pending."""

    image: PreparedImage
    settings: AnswerSettings
    answer: asyncio.Future[Answer]


class _Batcher:
    """Collects images until a batch is full, or until the first image has waited long enough. A single thread computes
    the answers."""

    def __init__(self, answerer: Answerer, wait: float, on_batch: Callable[[int], object]) -> None:
        self._answerer, self._wait, self._on_batch = answerer, wait, on_batch
        self._queue = asyncio.Queue[_Waiting]()
        self._thread = ThreadPoolExecutor(1, "zoo net")
        self._task = asyncio.create_task(self._answer_forever())

    async def answer(self, image: PreparedImage, settings: AnswerSettings) -> Answer:
        """Return the answer about an image when it is ready."""
        waiting = _Waiting(image, settings, asyncio.get_running_loop().create_future())
        self._queue.put_nowait(waiting)
        return await waiting.answer

    async def close(self) -> None:
        """End the thread. No image may still be waiting."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        self._thread.shutdown()

    async def _answer_forever(self) -> None:
        while True:
            # Some requests have timed out.
            batch = [each for each in await self._next_requests() if not each.answer.done()]
            if batch:
                self._on_batch(len(batch))
                await self._answer_batch(batch)

    async def _next_requests(self) -> list[_Waiting]:
        batch = [await self._queue.get()]
        with suppress(TimeoutError):
            async with asyncio.timeout(self._wait):
                while len(batch) < self._answerer.batch:
                    batch.append(await self._queue.get())
        return batch

    async def _answer_batch(self, batch: Sequence[_Waiting]) -> None:
        answers = await asyncio.get_running_loop().run_in_executor(self._thread, self._answers_or_problems, batch)
        for waiting, answer in zip(batch, answers, strict=True):
            if waiting.answer.done():
                continue
            if isinstance(answer, Exception):
                waiting.answer.set_exception(answer)
            else:
                waiting.answer.set_result(answer)

    def _answers_or_problems(self, batch: Sequence[_Waiting]) -> list[Answer | Exception]:
        """Return the answer or the problem of each image. If a whole batch fails, its images are tried one by one."""
        try:
            outputs = self._answerer.run([each.image for each in batch])
        except Exception as problem:
            return [problem] if len(batch) == 1 else [self._answers_or_problems([each])[0] for each in batch]
        answers = list[Answer | Exception]()
        for index, each in enumerate(batch):
            try:
                answers.append(self._answerer.read(outputs, index, each.image, each.settings))
            except Exception as problem:
                answers.append(problem)
        return answers


class Service:
    """A model that answers requests."""

    def __init__(self, answerer: Answerer, settings: ServerSettings) -> None:
        self._answerer, self._settings = answerer, settings
        share = settings.share_of_one
        self.predictions, self.connections = Places(settings.queue, share), Places(settings.connections, share)
        self.metrics = Metrics(self.predictions, self.connections)
        self.is_ending: Callable[[], bool] = lambda: False
        self._page, self._policy = _page_and_policy()

    def app(self, complain: Callable[[str], object]) -> ASGIApp:
        """Return the application with its guard."""
        routes = [
            Route("/", self._show_page),
            Route(PREDICT, self._predict, methods=["POST"]),
            Route("/card", self._show_card),
            Route("/health", _show_health),
            Route("/ready", self._show_readiness),
            Route("/metrics", self._show_metrics),
        ]
        # Starlette's own stack would handle errors before the guard.
        router = Router(routes=routes, lifespan=self._lifespan)
        return Guard(router, self._settings, self.metrics, complain)

    @asynccontextmanager
    async def _lifespan(self, app: Router) -> AsyncIterator[None]:
        self._batcher = _Batcher(self._answerer, self._settings.wait, self.metrics.add_batch)
        images = ImageDecoders(_DECODERS, self._settings.seconds)
        with images as self._images, ThreadPoolExecutor(_DECODERS, "zoo decoding") as self._decoders:
            self._decoders.submit(self._images.start)
            yield
        await self._batcher.close()

    async def _predict(self, request: Request) -> Response:
        settings = _answer_settings(request, self._settings.answers)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if not kind.startswith("image/") and kind not in ("application/octet-stream", "application/json"):
            text = "send an image's bytes as image/jpeg, or as application/octet-stream, or JSON such as"
            raise RefusedError(Reason.TYPE, f'{text} {{"image": "BASE64"}}')
        try:
            async with asyncio.timeout(self._settings.seconds) as limit:
                with self._place_in_queue(request, lambda: _end_early(limit)) as place:
                    data = await self._read_body(request)
                    self.predictions.mark(place, waits=False)
                    image = _image_in_json(data) if kind.endswith("/json") else data
                    return JSONResponse(await self._plain_answer(image, settings))
        except TimeoutError:
            raise self._late_refusal(place) from None

    @contextmanager
    def _place_in_queue(self, request: Request, give_way: Callable[[], object]) -> Iterator[Place]:
        """Hold a place among the predictions in progress. It waits for the client until the body has been read."""
        place = self.predictions.take(requesting_client(request.scope), give_way)
        if place is None:
            raise RefusedError(Reason.QUEUE, "too many requests are in progress; try again")
        try:
            yield place
        finally:
            self.predictions.release(place)

    def _late_refusal(self, place: Place) -> RefusedError:
        if place.is_lost:
            return RefusedError(Reason.GAVE_WAY, "the request gave way to others before its body was read; try again")
        return RefusedError(Reason.SLOW, f"the answer took longer than {self._settings.seconds:g} s; try again")

    async def _read_body(self, request: Request) -> bytes:
        """Return a request's body. Reading stops if the body exceeds the limit."""
        largest = self._settings.largest
        too_large = RefusedError(
            Reason.SIZE, f"this server accepts images of up to {largest:,} bytes; send a smaller one"
        )
        if (whole_number(request.headers.get("content-length", "")) or 0) > largest:
            raise too_large
        data = bytearray()
        async for chunk in request.stream():
            data += chunk
            if len(data) > largest:
                raise too_large
        return bytes(data)

    async def _plain_answer(self, data: bytes, settings: AnswerSettings) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        try:
            image = await loop.run_in_executor(self._decoders, self._decoded_image, data)
            answer = await self._batcher.answer(image, settings)
        except (DataError, ForeignFileError, LimitError) as problem:
            raise RefusedError(Reason.IMAGE, str(problem)) from None
        plain = as_plain(ImageAnswer("", image.placement, answer))
        del plain["image"]
        if isinstance(answer, Segments) and answer.labels.max() < _MOST_MASK_LABELS:
            mask = await loop.run_in_executor(self._decoders, mask_png, image.placement.on_image(answer.labels))
            plain["mask"] = base64.b64encode(mask).decode()
        if isinstance(answer, Picture) and image.image is not None:
            png = await loop.run_in_executor(self._decoders, picture_png, answer, image.image)
            plain["picture"]["png"] = base64.b64encode(png).decode()
        return plain

    def _decoded_image(self, data: bytes) -> PreparedImage:
        """Return the net's input for an image. The image itself is kept if the answer is drawn from it."""
        image = self._images.decode(data, self._answerer.preparation.color, "the image")
        return self._answerer.prepare(image, "the image", keep=self._answerer.answers is Picture)

    async def _show_page(self, request: Request) -> Response:
        return HTMLResponse(self._page, headers={"Content-Security-Policy": self._policy})

    async def _show_card(self, request: Request) -> Response:
        card = self._answerer.card
        plain = {
            "name": card.name,
            "summary": card.summary,
            "task": card.task.value if card.task else None,
            "input": str(self._answerer.preparation),
            "cut": self._answerer.cut or None,
            "batch": self._answerer.batch,
            "license": card.license,
            **plain_data(self._answerer.data),
        }
        return JSONResponse(plain)

    async def _show_readiness(self, request: Request) -> Response:
        if self.is_ending() or self.predictions.is_full:
            raise RefusedError(Reason.NOT_READY, "the server is ending or busy; try again")
        return PlainTextResponse("ready\n")

    async def _show_metrics(self, request: Request) -> Response:
        return PlainTextResponse(self.metrics.text(), media_type=_PROMETHEUS)


def _end_early(limit: asyncio.Timeout) -> None:
    """End the time of a task, unless it has just ended."""
    if not limit.expired():
        limit.reschedule(0)


async def _show_health(request: Request) -> Response:
    return PlainTextResponse("well\n")


def _answer_settings(request: Request, settings: AnswerSettings) -> AnswerSettings:
    """Return the server's settings with the changes in the request's query."""
    top, threshold = request.query_params.get("top"), request.query_params.get("threshold")
    try:
        if top is not None:
            settings = replace(settings, top=min(int(top), _MOST_CLASSES))
        if threshold is not None:
            settings = replace(settings, threshold=float(threshold))
    except ValueError:
        settings = replace(settings, top=0)
    if settings.top < 1 or settings.least_score != settings.least_score:
        raise RefusedError(Reason.QUERY, "?top= must be a number of classes, and ?threshold= a score such as 0.5")
    return settings


def _image_in_json(data: bytes) -> bytes:
    """Return the image in a JSON body such as {"image": "BASE64"}."""
    try:
        return base64.b64decode(json.loads(data)["image"], validate=True)
    except (ValueError, KeyError, TypeError, RecursionError, binascii.Error):
        raise RefusedError(Reason.BODY, 'the body isn\'t JSON such as {"image": "BASE64"}') from None


def _page_and_policy() -> tuple[str, str]:
    """Return the web page and its security policy. The page may only run its own script and connect to this server."""
    text = (files("zoo.serving") / "page.html").read_text(encoding="utf-8")
    hashes = {
        kind: base64.b64encode(
            hashlib.sha256(re.findall(f"<{kind}>(.*?)</{kind}>", text, re.DOTALL)[0].encode()).digest()
        )
        for kind in ("script", "style")
    }
    sources = "; ".join(f"{kind}-src 'sha256-{digest.decode()}'" for kind, digest in hashes.items())
    others = "img-src blob: data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    return text, f"default-src 'none'; {sources}; {others}"
