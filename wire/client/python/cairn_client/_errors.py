from __future__ import annotations

from typing import Any, Optional


class CairnError(Exception):
    """A node rejected a request, or no node answered it.

    ``code`` is for programs: the node's own, such as ``precondition_failed``, or ``timeout``, ``unreachable``,
    ``unknown_outcome``, ``broken_stream``, ``aborted``. ``status`` is the HTTP status, 0 when no node answered.
    ``request_id`` is the id in the nodes' logs, ``retry_after`` the seconds that the node asks to wait. ``body`` is the
    whole last refusal, such as what a key holds after ``precondition_failed``.
    """

    def __init__(self, message: str, *, code: str = "", status: int = 0, request_id: str = "", endpoint: str = "",
                 retry_after: float = 0, body: Any = None) -> None:
        super().__init__(message)
        self.code, self.status, self.request_id = code, status, request_id
        self.endpoint, self.retry_after, self.body = endpoint, retry_after, body


class UnknownOutcomeError(CairnError):
    """A write that may or may not have happened.

    To find out, repeat the call with its ``idempotency_key``, which stores nothing twice; a write that has none must
    be read before it is repeated. ``body["code"]`` is ``precondition_failed`` if the last attempt met something else
    than the request expects: read and decide again.
    """

    def __init__(self, cause: CairnError, idempotency_key: Optional[str]) -> None:
        super().__init__(f"the write may or may not have happened: {cause}", code="unknown_outcome", status=cause.status,
                         request_id=cause.request_id, endpoint=cause.endpoint, body=cause.body)
        self.idempotency_key = idempotency_key
