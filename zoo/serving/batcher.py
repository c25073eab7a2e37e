"""The batcher: requests that come at about the same time are answered by the net at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

from zoo.answers.answer import Answer, AnswerSettings
from zoo.answers.answerer import Answerer
from zoo.answers.preparation import PreparedImage


@dataclass(frozen=True)
class _Waiting:
    """An image that waits for its answer."""

    image: PreparedImage
    settings: AnswerSettings
    answer: asyncio.Future[Answer]


class Batcher:
    """Collects images until there are enough, or the first has waited so many seconds, and lets one thread answer."""

    def __init__(self, answerer: Answerer, wait: float, on_batch: Callable[[int], object]) -> None:
        self._answerer, self._wait, self._on_batch = answerer, wait, on_batch
        self._queue = asyncio.Queue[_Waiting]()
        self._thread = ThreadPoolExecutor(1, "zoo net")
        self._task = asyncio.create_task(self._work())

    async def answer(self, image: PreparedImage, settings: AnswerSettings) -> Answer:
        """Wait for the answer about an image."""
        waiting = _Waiting(image, settings, asyncio.get_running_loop().create_future())
        self._queue.put_nowait(waiting)
        return await waiting.answer

    async def close(self) -> None:
        """End the thread; nobody may be waiting any more."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        self._thread.shutdown()

    async def _work(self) -> None:
        while True:
            batch = [each for each in await self._collect() if not each.answer.done()]  # some waited too long
            if batch:
                self._on_batch(len(batch))
                await self._answer(batch)

    async def _collect(self) -> list[_Waiting]:
        batch = [await self._queue.get()]
        with suppress(TimeoutError):
            async with asyncio.timeout(self._wait):
                while len(batch) < self._answerer.batch:
                    batch.append(await self._queue.get())
        return batch

    async def _answer(self, batch: Sequence[_Waiting]) -> None:
        answers = await asyncio.get_running_loop().run_in_executor(self._thread, self._answers, batch)
        for waiting, answer in zip(batch, answers, strict=True):
            if waiting.answer.done():
                continue
            if isinstance(answer, Exception):
                waiting.answer.set_exception(answer)
            else:
                waiting.answer.set_result(answer)

    def _answers(self, batch: Sequence[_Waiting]) -> list[Answer | Exception]:
        """The answer about each image, or what is wrong with it; what some have in common is tried one by one."""
        try:
            outputs = self._answerer.run([each.image for each in batch])
        except Exception as problem:
            return [problem] if len(batch) == 1 else [self._answers([each])[0] for each in batch]
        answers = list[Answer | Exception]()
        for index, each in enumerate(batch):
            try:
                answers.append(self._answerer.read(outputs, index, each.image, each.settings))
            except Exception as problem:
                answers.append(problem)
        return answers
