from __future__ import annotations

import asyncio
import copy
from concurrent.futures import ThreadPoolExecutor
from typing import Any, AsyncIterator, Dict, Optional, Sequence, TypeVar, Union

from ._client import Client
from ._http import Abort
from ._operations import AsyncOperations
from ._stream import AsyncFeed, AsyncStream, each
from .types import Result

A = TypeVar("A", bound="AsyncClient")


class AsyncClient(AsyncOperations):
    """:class:`Client` for asyncio: the same methods, and the same options.

    Calls run in threads, so many at once. Cancelling a call ends it; a write that was sent by then may or may not have
    happened.
    """

    def __init__(self, endpoints: Union[str, Sequence[str]] = "http://127.0.0.1:7438", *, concurrency: int = 32,
                 **options: Any) -> None:
        self._client = Client(endpoints, **options)
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix="cairn")

    def using(self: A, *, database: Optional[str] = None, timeout: Optional[float] = None) -> A:
        """Return a client with another database or timeout, which shares this one's connections."""
        other = copy.copy(self)
        other._client = self._client.using(database=database, timeout=timeout)
        return other

    @property
    def index(self) -> str:
        """The position in the log of this client's latest write; pass it as min_index to read that write elsewhere."""
        return self._client.index

    @property
    def endpoint(self) -> str:
        """The node that the next request goes to."""
        return self._client.endpoint

    async def close(self) -> None:
        self._client.close()
        self._threads.shutdown(wait=False)

    async def __aenter__(self: A) -> A:
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    async def call(self, name: str, /, **fields: Any) -> Any:
        """Run an operation by the name that the HTTP reference gives it, such as ``remember_batch``."""
        return await self._call(name, fields)

    def recall_each(self, query: str, **fields: Any) -> AsyncIterator[Result]:
        """Yield the results of a recall as the node reads them."""
        return each(self._client.recall_each(query, **fields))

    def _call(self, name: str, fields: Dict[str, Any]) -> Any:
        if name == "events":
            return AsyncFeed(self._client._call(name, fields))
        if name in ("export", "log"):
            return each(self._client._call(name, fields))
        return self._in_thread(name, fields)

    async def _in_thread(self, name: str, fields: Dict[str, Any]) -> Any:
        abort = Abort()
        try:
            loop = asyncio.get_running_loop()
            answer = await loop.run_in_executor(self._threads, self._client._call, name, fields, abort)
        except asyncio.CancelledError:
            abort.stop()
            raise
        return AsyncStream(answer) if name == "backup_send" else answer
