from __future__ import annotations

import random
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, TypeVar

from ._client import Client
from ._errors import CairnError

T = TypeVar("T")
TRIES = 50  # of a change that others' changes overtake
ROWS, MEMORIES = 1000, 500  # the most that one answer lists


def overtaken(e: CairnError) -> bool:
    """Say whether a write on a condition met something else.

    An attempt before it may have been lost on the way: it was not carried out, as the node would have known the write
    again by its idempotency key.
    """
    return isinstance(e.body, dict) and e.body.get("code") == "precondition_failed"


class Keys:
    """Reads and writes the keys of one namespace. Its reads see what its client wrote."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client, self.namespace = client, namespace

    def here(self, latest: bool = False) -> Dict[str, Any]:
        """Return what a read of this namespace says beside its own fields.

        What is read to be changed is the latest, so that the change of another process is not missed.
        """
        fresh = {"consistency": "linearizable"} if latest else {"min_index": self.client.index or None}
        return {"namespace": self.namespace, **fresh}

    def get(self, key: str, *, latest: bool = False) -> Any:
        """Return a key's memory, or None."""
        try:
            return self.client.get(key, **self.here(latest))
        except CairnError as e:
            if e.code == "key_not_found":
                return None
            raise

    def rows(self, prefix: str, *, full: bool = False, depth: Optional[int] = None, after: Optional[str] = None,
             limit: Optional[int] = None, latest: bool = False) -> Iterator[Any]:
        """Yield the keys below a folder, with their memories if full is set."""
        while True:
            page = self.client.keys(prefix=prefix, full=full, depth=depth, after=after,
                                    limit=limit or (MEMORIES if full else ROWS), **self.here(latest))
            yield from page["keys"]
            after = page["next"]
            if after is None:
                return

    def batch(self, steps: List[Any]) -> Any:
        """Do all steps, or none."""
        return self.client.batch([{**step, "namespace": self.namespace} for step in steps])

    def decide(self, attempt: Callable[[], T]) -> T:
        """Run a function that reads and then writes on a condition, again while another process was faster."""
        pause = 0.01
        for left in range(TRIES - 1, -1, -1):
            try:
                return attempt()
            except CairnError as e:
                if not overtaken(e) or left == 0:
                    raise
            time.sleep(pause * random.random())
            pause = min(2 * pause, 0.5)
        raise AssertionError("unreachable")
