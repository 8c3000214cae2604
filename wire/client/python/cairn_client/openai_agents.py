"""A session for OpenAI's Agents SDK: the history of an agent, in a cluster.

    from cairn_client.openai_agents import CairnSession
    await Runner.run(agent, "Hello", session=CairnSession("ada", cairn))

Each change is one atomic step: the items under ``/SESSION/items/`` change only if ``/SESSION/head`` is as it was read,
so that two processes lose nothing of each other's. The TypeScript client keeps sessions in the same way.
"""
from __future__ import annotations

import asyncio
import json
from typing import Any, Callable, Dict, List, Optional, Tuple
from urllib.parse import quote

from ._client import Client
from ._keys import Keys
from ._request import new_key

PIECE = 5000  # items that a step deletes at once


class CairnSession:
    """Implements the protocol ``agents.memory.Session``.

    :param namespace: Cairn's namespace of all sessions.
    :param searchable: Whether recalls find the items.
    """

    session_settings = None

    def __init__(self, session_id: str, client: Client, *, namespace: str = "openai", searchable: bool = False) -> None:
        self.session_id, self._searchable = session_id, searchable
        self._keys = Keys(client, namespace)

    async def get_items(self, limit: Optional[int] = None) -> List[Any]:
        """Return the newest items, in the order in which they were added."""
        return await self._in_thread(self._newest, limit)

    async def add_items(self, items: List[Any]) -> None:
        if items:
            await self._in_thread(self._change, lambda end: (*self._replacing(end, end, list(items)), None))

    async def pop_item(self) -> Optional[Any]:
        """Remove the newest item and return it; None for none."""
        def newest(end: int) -> Tuple[List[Any], int, Any]:
            if end == 0:
                return [], 0, None
            return (*self._replacing(end - 1, end, []), self._items(end - 1)[0])
        return await self._in_thread(self._change, newest)

    async def clear_session(self) -> None:
        def some(end: int) -> Tuple[List[Any], int, bool]:
            return (*self._replacing(max(0, end - PIECE), end, []), end > PIECE)
        while await self._in_thread(self._change, some):
            pass

    async def _in_thread(self, work: Callable[..., Any], *args: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(None, work, *args)

    def _key(self, *segments: str) -> str:
        return "/".join(["/" + quote(self.session_id, safe="!~*'()"), *segments])

    def _item_key(self, number: int) -> str:
        return self._key("items", f"{number:012d}")

    def _newest(self, limit: Optional[int]) -> List[Any]:
        if limit is None:
            return self._items(0)
        return self._items(max(0, self._head()[0] - limit)) if limit > 0 else []

    def _head(self, latest: bool = False) -> Tuple[int, Optional[int]]:
        """Return how many items there are, and the head's revision."""
        memory = self._keys.get(self._key("head"), latest=latest)
        return (memory["metadata"]["next"], memory["revision"]) if memory else (0, None)

    def _items(self, start: int) -> List[Any]:
        after = self._item_key(start - 1) if start > 0 else None
        return [json.loads(row["memory"]["text"]) for row in self._keys.rows(self._key("items"), full=True, after=after)]

    def _replacing(self, start: int, end: int, items: List[Any]) -> Tuple[List[Any], int]:
        """Return the steps that put items in the place of those from a number to an end, and the new end."""
        steps: List[Dict[str, Any]] = []
        for number, item in enumerate(items, start):
            memory = {"text": json.dumps(item, ensure_ascii=False), "memory_type": "message", "searchable": self._searchable}
            steps.append({"op": "put", "key": self._item_key(number), "memory": memory})
        last = start + len(items)
        steps += [{"op": "delete", "key": self._item_key(number)} for number in range(last, end)]
        return steps, last

    def _change(self, plan: Callable[[int], Tuple[List[Any], int, Any]]) -> Any:
        """Do what plan says for the head as it is, in one log entry."""
        def attempt() -> Any:
            end, revision = self._head(True)
            steps, last, result = plan(end)
            if steps:
                meta = {"next": last, "change": new_key()}  # each change makes a revision
                condition = {"if_absent": True} if revision is None else {"if_revision": revision}
                memory = {"text": self.session_id, "searchable": False, "metadata": meta}
                self._keys.batch([{"op": "put", "key": self._key("head"), "memory": memory, **condition}, *steps])
            return result
        return self._keys.decide(attempt)
