"""The client of Cairn's HTTP API. It needs nothing but the standard library.

    from cairn_client import Client

    with Client("http://127.0.0.1:7438") as cairn:
        cairn.remember("Alice leads the payments team")
        print(cairn.recall("who leads payments?")["results"])

:class:`AsyncClient` has the same methods for asyncio.
"""
from ._async import AsyncClient
from ._client import Client
from ._errors import CairnError, UnknownOutcomeError
from ._request import new_key
from ._stream import Feed

__version__ = "0.1.0"
__all__ = ["AsyncClient", "CairnError", "Client", "Feed", "UnknownOutcomeError", "new_key"]
