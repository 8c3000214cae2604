from __future__ import annotations

import asyncio
import http.client
import json
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import (Any, AsyncIterator, Callable, Dict, Generator, Iterable, Iterator, List, Optional, Set, Tuple,
                    TypeVar, Union)

from ._errors import CairnError
from ._http import Abort, Stream
from ._request import dumps, new_key

Line = Dict[str, Any]
"""A row of an export or of the log."""
Lines = Union[str, Iterable[Union[str, Dict[str, Any]]]]
"""Rows of an import: one text of JSON lines, or texts and objects one by one."""
Event = Dict[str, Any]
Open = Callable[[], Stream]


def _broken(e: Optional[BaseException] = None) -> CairnError:
    why = f" ({e})" if e else ""
    return CairnError(f"the answer broke off: ask again{why}", code="broken_stream")


def _events(response: Stream) -> Iterator[Tuple[str, str, Any]]:
    """Yield the server-sent events of a response: their names, ids and data."""
    event: Dict[str, str] = {}
    for raw in response:
        name, _, value = raw.decode().rstrip("\r\n").partition(": ")
        if name:
            event[name] = value
        elif event:
            if "event" in event and "data" in event:
                yield event["event"], event.get("id", ""), json.loads(event["data"])
            event = {}


def read_lines(open_: Open) -> Iterator[Line]:
    """Yield the rows of an answer of JSON lines."""
    with open_() as response:
        try:
            for line in response:
                if line.strip():
                    yield json.loads(line)
        except (OSError, http.client.HTTPException, ValueError) as e:
            raise _broken(e) from e


def read_recall(open_: Open) -> Iterator[Any]:
    """Yield the results of a recall, and return what ends it."""
    with open_() as response:
        try:
            for name, _, data in _events(response):
                if name == "result":
                    yield data
                elif name == "error":
                    raise CairnError(data["error"], code=data["code"])
                elif name == "end":
                    return data
        except (OSError, http.client.HTTPException, ValueError) as e:
            raise _broken(e) from e
    raise _broken()


# An import goes in pieces, so that each can be sent again under a key of its own.
PIECE_LINES, PIECE_BYTES = 1000, 4 << 20


def import_lines(lines: Lines, fields: Dict[str, Any], send: Callable[[Dict[str, Any], bytes], Any]) -> Dict[str, Any]:
    """Send rows or texts piece by piece, and add up what the node stored."""
    key: str = fields.get("key") or new_key()
    kinds: Set[str] = set()
    total: Dict[str, Any] = {"lines": 0, "memories": 0, "kept": 0, "edges": 0, "log_index": "0"}
    piece: List[str] = []
    size = number = 0

    def flush() -> None:
        nonlocal piece, size, number
        answer = send({**fields, "key": f"{key}/{number}"}, "\n".join(piece).encode())
        for name in ("lines", "memories", "kept", "edges"):
            total[name] += answer.get(name, 0)
        total["log_index"] = str(max(int(total["log_index"]), int(answer["log_index"])))
        kinds.update(answer.get("redacted", ()))
        piece, size, number = [], 0, number + 1

    for line in lines.split("\n") if isinstance(lines, str) else lines:
        text = line.strip() if isinstance(line, str) else dumps(line)
        if not text:
            continue
        if len(piece) == PIECE_LINES or size and size + len(text) > PIECE_BYTES:
            flush()
        piece.append(text)
        size += len(text)
    if piece:
        flush()
    return {**total, **({"redacted": sorted(kinds)} if kinds else {})}


class Feed:
    """Yields what happens in a database, until it is closed or a node refuses it.

    When the connection breaks, or the node dies, it goes on behind the last event, on another node where it must: none
    is missed and none comes twice. An event is a dict with its ``type`` (stored, corrected, forgotten and so on), the
    ``id`` of what it is about, ``index``, ``at`` and ``cursor``: pass that as ``from_`` to go on behind it with another
    feed. ``subscribed`` comes first; ``lagged`` says that the log no longer holds all events behind the place to go on
    from: the feed goes on with those that it still holds.
    """

    def __init__(self, open_: Callable[[Dict[str, Any], Abort], Stream], fields: Dict[str, Any]) -> None:
        start = str(fields.get("from") or "")
        self.cursor = "" if start == "0" else start
        self._open, self._fields, self._abort = open_, fields, Abort()
        self._run: Generator[Event, None, None] = self._follow()

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        return next(self._run)

    def __enter__(self) -> Feed:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """End the feed, from any thread."""
        self._abort.stop()
        try:
            self._run.close()
        except ValueError:
            pass  # a thread is in it, which ends it

    def _follow(self) -> Generator[Event, None, None]:
        # A record of the log may have several events, and only the last of them carries an id. seen has those of the
        # record that a connection has begun with; after a break they come again, but for those that pass the filter no
        # more.
        seen: List[Tuple[str, Any]] = []
        pause = 0.05
        while not self._abort.event.is_set():
            again = list(seen)
            try:
                response = self._open({**self._fields, "from": self.cursor or None}, self._abort)
            except CairnError as e:
                if self._abort.event.is_set():
                    return
                if 400 <= e.status < 500 and e.status not in (412, 429):
                    raise
            else:
                try:
                    for name, id_, data in _events(response):
                        pause = 0.05
                        if name in ("leader", "lagged", "subscribed"):
                            if name == "subscribed" and self.cursor:
                                continue
                            if name == "subscribed":
                                self.cursor = str(data["index"])
                        else:
                            told = (name, data) in again
                            (again.remove if told else seen.append)((name, data))
                            if id_:
                                self.cursor, seen = id_, []
                            if told:
                                continue
                        yield {"type": name, **data, "cursor": self.cursor}
                except (OSError, http.client.HTTPException, ValueError):
                    pass  # the connection broke: another one goes on
                finally:
                    response.close()
            self._abort.event.wait(pause)
            pause = min(2 * pause, 1.0)


T = TypeVar("T")


class _Threaded:
    """Runs what blocks in a thread of its own; close wakes the thread."""

    def __init__(self, close: Callable[[], None]) -> None:
        self._thread, self._close = ThreadPoolExecutor(1), close

    async def _in_thread(self, f: Callable[..., T], *args: Any) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, f, *args)
        except asyncio.CancelledError:
            self._close()
            raise

    async def aclose(self) -> None:
        self._close()
        self._thread.shutdown(wait=False)

    async def __aexit__(self, *_: Any) -> None:
        await self.aclose()


class AsyncFeed(_Threaded):
    """A :class:`Feed` for asyncio."""

    def __init__(self, feed: Feed) -> None:
        super().__init__(feed.close)
        self._feed = feed

    @property
    def cursor(self) -> str:
        return self._feed.cursor

    async def __aenter__(self) -> AsyncFeed:
        return self

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        event = await self._in_thread(lambda: next(self._feed, None))
        if event is None:
            raise StopAsyncIteration
        return event


class AsyncStream(_Threaded):
    """A :class:`Stream` for asyncio."""

    def __init__(self, stream: Stream) -> None:
        super().__init__(stream.close)
        self._stream = stream

    async def __aenter__(self) -> AsyncStream:
        return self

    async def read(self, size: Optional[int] = None) -> bytes:
        return await self._in_thread(self._stream.read, size)


async def each(rows: Iterator[T]) -> AsyncIterator[T]:
    """Yield rows that a thread reads, some at a time."""
    thread = _Threaded(lambda: None)
    try:
        while True:
            some = await thread._in_thread(lambda: list(islice(rows, 100)))
            for row in some:
                yield row
            if len(some) < 100:
                return
    finally:
        await thread.aclose()
