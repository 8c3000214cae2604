from __future__ import annotations

import json
import os
import re
import time
from datetime import date, datetime, timezone
from typing import Any, Dict, List, Optional, Tuple
from urllib.parse import quote, urlencode


def new_key() -> str:
    """Make an idempotency key: the time in milliseconds and 80 random bits, so that keys are in order of time."""
    return f"{time.time_ns() // 1_000_000:012x}{os.urandom(10).hex()}"


def written(value: Any) -> str:
    """Write a datetime as RFC 3339, one without a zone is local time; and a date, which is its first instant in UTC."""
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is no value for JSON")


def dumps(value: Any) -> str:
    return json.dumps(value, default=written, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _text(value: Any) -> str:
    if isinstance(value, date):
        return written(value)
    return value if isinstance(value, str) else dumps(value)


def encode(op: Dict[str, Any], fields: Dict[str, Any], database: Optional[str]) -> Tuple[str, Optional[bytes]]:
    """Split a request into the path with its query and the body, as the operation's row says."""
    left = dict(fields)

    def place(match: "re.Match[str]") -> str:
        value = left.pop(match[1], None)
        if value in (None, ""):
            raise TypeError(f"missing '{match[1]}'")
        return quote(_text(value), safe="")

    path: str = re.sub(r"\{(\w+)\}", place, op["path"])
    query: List[Tuple[str, str]] = []
    for name in list(left) if op["method"] == "GET" else op.get("query", ()):
        value = left.pop(name, None)
        if value is not None:
            query += [(name, _text(v)) for v in (value if isinstance(value, (list, tuple)) else [value])]
    if database:
        query.append(("database", database))
    if query:
        path += "?" + urlencode(query)
    return path, dumps(left).encode() if left else None
