"""A store for LangGraph: the long-term memory of its agents, in a cluster.

    from cairn_client.langgraph import CairnStore
    graph = builder.compile(store=CairnStore(cairn))

An item is a memory under the key ``/label/…/:key``, as it is of the TypeScript client; a batch is one atomic step; a
search with a query is a recall, and needs no embeddings.
"""
from __future__ import annotations

import asyncio
import json
import re
from datetime import datetime, timezone
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple
from urllib.parse import quote, unquote

from langgraph.store.base import BaseStore, Item, SearchItem

from ._client import Client
from ._keys import Keys

MOST_FOUND = 1000  # by one recall


def _quoted(text: str) -> str:
    return quote(text, safe="!~*'()")


def _folder(labels: Sequence[str]) -> str:
    return "".join("/" + _quoted(label) for label in labels)


def _path(namespace: Sequence[str], key: str) -> str:
    """Return the key of an item. No label begins with a colon, so that no item is where another has a folder."""
    return f"{_folder(namespace)}/:{_quoted(key)}"


def _tokens(path: str) -> List[str]:
    return re.findall(r"\[[^\]]*\]|\{[^}]*\}|[^.\[{]+", path)


def _texts(value: Any, path: Sequence[str]) -> List[str]:
    """Return what a path such as a.b, x[*].c, arr[-1], {f,g} or $ leads to."""
    if value is None:
        return []
    if not path:
        return [json.dumps(value, ensure_ascii=False, indent=2) if isinstance(value, (dict, list)) else str(value)]
    token, rest = path[0], list(path[1:])
    if token == "$":
        return _texts(value, rest)
    if token[0] == "{":
        return [t for name in token[1:-1].split(",") for t in _texts(value, _tokens(name.strip()) + rest)]
    if token in ("*", "[*]"):
        inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
        return [t for v in inside for t in _texts(v, rest)]
    if token[0] == "[":
        try:
            return _texts(value[int(token[1:-1])], rest) if isinstance(value, list) else []
        except (IndexError, ValueError):
            return []
    return _texts(value.get(token), rest) if isinstance(value, dict) else []


_OPERATORS = {
    "$eq": lambda a, b: a == b, "$ne": lambda a, b: a != b,
    "$gt": lambda a, b: float(a) > float(b), "$gte": lambda a, b: float(a) >= float(b),
    "$lt": lambda a, b: float(a) < float(b), "$lte": lambda a, b: float(a) <= float(b),
    "$in": lambda a, b: a in b, "$nin": lambda a, b: a not in b,
}


def _passes(value: Dict[str, Any], wanted: Optional[Dict[str, Any]]) -> bool:
    """Compare a value's top-level fields with a filter of LangGraph's."""
    for name, want in (wanted or {}).items():
        have = value.get(name)
        if isinstance(want, dict) and any(k in _OPERATORS for k in want):
            try:
                if not all(_OPERATORS[k](have, v) for k, v in want.items()):
                    return False
            except (TypeError, ValueError):
                return False  # a value without an order
        elif have != want:
            return False
    return True


def _matches(condition: Any, labels: Tuple[str, ...]) -> bool:
    path = condition.path
    part = labels[:len(path)] if condition.match_type == "prefix" else labels[len(labels) - len(path):]
    return len(path) <= len(labels) and all(want in ("*", have) for want, have in zip(path, part))


def _fields(memory: Any) -> Dict[str, Any]:
    meta = memory["metadata"]
    moments = {name: datetime.fromtimestamp(memory[name], timezone.utc) for name in ("created_at", "updated_at")}
    return {"value": meta["value"], "key": meta["key"], "namespace": tuple(meta["namespace"]), **moments}


class CairnStore(BaseStore):
    """Keeps the items of LangGraph's agents in a cluster.

    :param namespace: Cairn's namespace of all items.
    :param fields: Paths of the value that a search finds, where put names none; all of it by default.
    :param ttl: LangGraph's ttl_config, such as ``{"default_ttl": 60, "refresh_on_read": True}``, in minutes.
    """

    supports_ttl = True

    def __init__(self, client: Client, *, namespace: str = "langgraph", fields: Sequence[str] = ("$",),
                 ttl: Optional[Dict[str, Any]] = None) -> None:
        self._client, self._keys, self._default = client, Keys(client, namespace), list(fields)
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Any]) -> List[Any]:
        ops = list(ops)
        results: List[Any] = [None] * len(ops)
        gets, writes = [], {}  # of several puts of one key the last wins
        for i, op in enumerate(ops):
            if hasattr(op, "namespace_prefix"):
                results[i] = self._search(op)  # it sees the state before the writes, as the gets of a step do
            elif hasattr(op, "value"):
                writes[_path(op.namespace, op.key)] = op
            elif hasattr(op, "key"):
                gets.append((i, _path(op.namespace, op.key)))
            else:
                results[i] = self._list(op)
        if not writes:
            for i, key in gets:
                results[i] = self._get(key)
            return results
        steps = [{"op": "get", "key": key} for _, key in gets] + [self._write(key, op) for key, op in writes.items()]
        answer = self._keys.batch(steps)["results"]
        for (i, key), found in zip(gets, answer):
            memory = found.get("memory")
            results[i] = Item(**_fields(memory)) if memory else self._get(key) if found["found"] else None
        return results

    async def abatch(self, ops: Iterable[Any]) -> List[Any]:
        return await asyncio.get_running_loop().run_in_executor(None, self.batch, list(ops))

    def _write(self, key: str, op: Any) -> Dict[str, Any]:
        if op.value is None:
            return {"op": "delete", "key": key}
        index, minutes = getattr(op, "index", None), getattr(op, "ttl", None)
        paths = [] if index is False else self._default if index is None else index
        found = [text for path in paths for text in _texts(op.value, _tokens(path))]
        memory: Dict[str, Any] = {
            "text": "\n".join(found) or op.key, "searchable": bool(found),
            "metadata": {"namespace": list(op.namespace), "key": op.key, "value": op.value},
            "attributes": {"under": [_folder(op.namespace[:n]) for n in range(1, len(op.namespace) + 1)]},
            "ttl": minutes * 60 if minutes is not None else 0,
        }
        if minutes is not None and (self.ttl_config or {}).get("refresh_on_read", True):
            memory["refresh_on_read"] = minutes * 60
        return {"op": "put", "key": key, "memory": memory}

    def _get(self, key: str) -> Optional[Item]:
        memory = self._keys.get(key)
        return Item(**_fields(memory)) if memory else None

    def _search(self, op: Any) -> List[SearchItem]:
        prefix, query = _folder(op.namespace_prefix), getattr(op, "query", None)
        scores: Dict[str, float] = {}
        if query:
            under = {"under": {"contains": prefix}} if prefix else None
            answer = self._client.recall(query, top_k=MOST_FOUND, filter=under, skip_reinforce=True, **self._keys.here())
            for row in answer["results"]:
                meta = row["metadata"]
                if _passes(meta["value"], op.filter):
                    scores.setdefault(_path(meta["namespace"], meta["key"]), row["score"])
        found = []
        for key in list(scores)[op.offset:op.offset + op.limit]:
            memory = self._keys.get(key)
            if memory:
                found.append(SearchItem(**_fields(memory), score=scores[key]))
        skip = max(0, op.offset - len(scores))  # items without a score follow those that have one
        rows = self._keys.rows(prefix or "/", full=True) if len(found) < op.limit else ()
        for row in rows:
            if row["key"] in scores or not _passes(row["memory"]["metadata"]["value"], op.filter):
                continue
            if skip > 0:
                skip -= 1
                continue
            found.append(SearchItem(**_fields(row["memory"]), score=None))
            if len(found) >= op.limit:
                break
        return found

    def _list(self, op: Any) -> List[Tuple[str, ...]]:
        conditions = op.match_conditions or ()
        fixed: List[str] = []
        for label in next((c.path for c in conditions if c.match_type == "prefix"), ()):
            if label == "*":
                break
            fixed.append(label)
        found = set()
        for row in self._keys.rows(_folder(fixed) or "/"):
            labels = tuple(unquote(part) for part in row["key"][1:].split("/")[:-1])
            if all(_matches(c, labels) for c in conditions):
                found.add(labels[:op.max_depth] if op.max_depth is not None else labels)
        return sorted(found)[op.offset:op.offset + op.limit]
