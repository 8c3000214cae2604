"""Tries what the client has for other packages, on a cluster whose addresses are the arguments.

The packages themselves are not installed. The classes here have the names, the fields and the call shapes of their
abstract classes, so this shows what the adapters answer when they are called as those packages call them. It prints
"kill" when its caller should kill the leader, and at the end what a session holds, as JSON: text by id.
"""
import abc
import asyncio
import json
import sys
import threading
import types
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any, NamedTuple, Optional, Protocol, runtime_checkable

from cairn_client import Client, new_key

endpoints = sys.argv[1:]
cairn = Client(endpoints)


def module(name, **content):
    parts = name.split(".")
    for i in range(1, len(parts) + 1):
        sys.modules.setdefault(".".join(parts[:i]), types.ModuleType(".".join(parts[:i])))
    vars(sys.modules[name]).update(content)


# langgraph.store.base


class Item:
    __slots__ = ("value", "key", "namespace", "created_at", "updated_at")

    def __init__(self, *, value, key, namespace, created_at, updated_at):
        self.value, self.key, self.namespace = value, key, tuple(namespace)
        self.created_at, self.updated_at = created_at, updated_at


class SearchItem(Item):
    __slots__ = ("score",)

    def __init__(self, namespace, key, value, created_at, updated_at, score=None):
        super().__init__(value=value, key=key, namespace=namespace, created_at=created_at, updated_at=updated_at)
        self.score = score


class GetOp(NamedTuple):
    namespace: tuple
    key: str
    refresh_ttl: bool = True


class SearchOp(NamedTuple):
    namespace_prefix: tuple
    filter: Optional[dict] = None
    limit: int = 10
    offset: int = 0
    query: Optional[str] = None
    refresh_ttl: bool = True


class PutOp(NamedTuple):
    namespace: tuple
    key: str
    value: Optional[dict]
    index: Any = None
    ttl: Optional[float] = None


class MatchCondition(NamedTuple):
    match_type: str
    path: tuple


class ListNamespacesOp(NamedTuple):
    match_conditions: Optional[tuple] = None
    max_depth: Optional[int] = None
    limit: int = 100
    offset: int = 0


class BaseStore(abc.ABC):
    supports_ttl = False
    ttl_config = None

    @abc.abstractmethod
    def batch(self, ops): ...

    @abc.abstractmethod
    async def abatch(self, ops): ...

    def get(self, namespace, key):
        return self.batch([GetOp(namespace, key)])[0]

    def put(self, namespace, key, value, index=None, *, ttl=None):
        self.batch([PutOp(namespace, str(key), value, index=index, ttl=ttl)])

    def delete(self, namespace, key):
        self.batch([PutOp(namespace, str(key), None)])

    def search(self, prefix, /, **more):
        return self.batch([SearchOp(prefix, **more)])[0]

    def list_namespaces(self, *, prefix=None, suffix=None, **more):
        conditions = [MatchCondition(kind, path) for kind, path in (("prefix", prefix), ("suffix", suffix)) if path]
        return self.batch([ListNamespacesOp(tuple(conditions) or None, **more)])[0]


# anthropic.lib.tools


class ToolError(Exception):
    pass


class BetaAbstractMemoryTool(abc.ABC):
    def __init__(self, *, cache_control=None):
        self._cache_control = cache_control

    def execute(self, command):
        return getattr(self, command.command)(command)


for name in ("view", "create", "str_replace", "insert", "delete", "rename"):
    setattr(BetaAbstractMemoryTool, name, abc.abstractmethod(lambda self, command: None))


# agents.memory


@runtime_checkable
class Session(Protocol):
    session_id: str

    async def get_items(self, limit=None): ...

    async def add_items(self, items): ...

    async def pop_item(self): ...

    async def clear_session(self): ...


module("langgraph.store.base", BaseStore=BaseStore, Item=Item, SearchItem=SearchItem)
module("anthropic.lib.tools", BetaAbstractMemoryTool=BetaAbstractMemoryTool, ToolError=ToolError)

from cairn_client.anthropic_memory import CairnMemoryTool  # noqa: E402
from cairn_client.langgraph import CairnStore  # noqa: E402
from cairn_client.openai_agents import CairnSession  # noqa: E402


def catch_up():
    """Write something, so that what cairn reads from now on has what other clients wrote before."""
    cairn.put("/caught/up", new_key())


def equal(got, want):
    assert got == want, f"got {got!r}, want {want!r}"


def usual():
    """The namespaces that are used when none is named."""
    store, session, tool = CairnStore(cairn), CairnSession("ada", cairn), CairnMemoryTool(cairn)
    store.put(("usual",), "key", {"value": 1})
    equal(store.get(("usual",), "key").value, {"value": 1})
    asyncio.run(session.add_items([{"role": "user", "content": "hello"}]))
    equal(asyncio.run(session.get_items(1)), [{"role": "user", "content": "hello"}])
    create = types.SimpleNamespace(command="create", path=f"/memories/{new_key()}", file_text="x")
    assert tool.execute(create).startswith("File created successfully at: ")


def langgraph():
    store = CairnStore(cairn, namespace=new_key())
    ada, bob = ("users", "ada"), ("users", "bob")
    equal(store.get(ada, "none"), None)
    store.put(ada, "prefs", {"theme": "dark", "size": 12, "nested": {"x": 1}})
    first = store.get(ada, "prefs")
    store.put(ada, "prefs", {"theme": "light", "size": 14})
    item = store.get(ada, "prefs")
    equal((item.value, item.namespace, item.key), ({"theme": "light", "size": 14}, ada, "prefs"))
    assert item.created_at == first.created_at and isinstance(item.updated_at, datetime)
    store.put(bob, "a/b %.", {"theme": "dark", "size": 9, "odd": "ü/½"})
    store.put(("users",), "bob", {"theme": "blue"})  # a key where another item has a namespace
    equal(store.get(bob, "a/b %.").value["odd"], "ü/½")
    keys = lambda **more: sorted(i.key for i in store.search(("users",), **more))
    equal(keys(), ["a/b %.", "bob", "prefs"])
    equal(store.search(("use",)), [])
    for wanted, found in (({"theme": "dark"}, ["a/b %."]), ({"size": {"$gte": 10}}, ["prefs"]), ({"theme": {"$in": ["blue"]}}, ["bob"]),
                          ({"theme": {"$ne": "dark"}}, ["bob", "prefs"]), ({"size": {"$gt": 8, "$lt": 14}}, ["a/b %."])):
        equal(keys(filter=wanted), found)
    equal(len(keys(limit=2)), 2)
    equal(len(keys(offset=2)), 1)
    docs = ("docs", "v1")
    store.put(docs, "raft", {"title": "Raft in one page", "pages": [{"text": "a leader orders writes"}]}, ["title", "pages[*].text"])
    store.put(("docs", "v2"), "hidden", {"title": "secret"}, False)
    found = store.search(("docs",), query="who orders writes?")
    equal([(i.key, i.score is not None) for i in found], [("raft", True), ("hidden", False)])
    equal(store.list_namespaces(), [("docs", "v1"), ("docs", "v2"), ("users",), ("users", "ada"), ("users", "bob")])
    equal(store.list_namespaces(prefix=("*", "bob")), [bob])
    equal(store.list_namespaces(suffix=("v1",)), [docs])
    equal(store.list_namespaces(max_depth=1, offset=1), [("users",)])
    for namespace in [("a:b",), ("a", "b")]:
        store.put(namespace, "k", {"in": namespace[0]})
    equal(store.list_namespaces(prefix=("a",)) + store.list_namespaces(prefix=("a:b",)), [("a", "b"), ("a:b",)])
    for namespace in [("a:b",), ("a", "b")]:
        store.delete(namespace, "k")
    results = store.batch([
        PutOp(ada, "prefs", {"theme": "first"}), PutOp(ada, "new", {"theme": "new"}),
        GetOp(ada, "new"),  # it is not there yet
        PutOp(ada, "prefs", {"theme": "last"}), GetOp(ada, "prefs"), SearchOp(("users",), {"theme": "last"}), PutOp(bob, "a/b %.", None)])
    equal([results[0], results[2], results[4].value["theme"], results[5]], [None, None, "light", []])
    equal((store.get(ada, "prefs").value, store.get(bob, "a/b %.")), ({"theme": "last"}, None))
    store.put(ada, "short", {"a": 1}, ttl=1)
    memory = cairn.get("/users/ada/:short", namespace=store._keys.namespace, min_index=cairn.index)
    assert 0 < memory["expires_at"] - memory["updated_at"] <= 61 and memory["refresh_on_read"] == 60, memory
    equal(asyncio.run(store.abatch([GetOp(ada, "new")]))[0].value, {"theme": "new"})
    store.delete(ada, "new")
    equal(store.get(ada, "new"), None)


def anthropic():
    tool = CairnMemoryTool(cairn, namespace=new_key())

    def run(command, **fields):
        try:
            return tool.execute(types.SimpleNamespace(command=command, **fields))
        except ToolError as e:
            return f"error: {e}"

    def view(path, view_range=None):
        return run("view", path=path, view_range=view_range)

    header = "Here're the files and directories up to 2 levels deep in {}, excluding hidden items:\n"
    equal(view("/memories"), header.format("/memories") + "4K\t/memories")
    equal(view("/memories/a"), "error: The path /memories/a does not exist. Please provide a valid path.")
    equal(run("create", path="/memories/a", file_text="one\ntwo\nthree\n"), "File created successfully at: /memories/a")
    equal(run("create", path="/memories/a", file_text="x"), "error: File /memories/a already exists")
    assert run("create", path="/memories/a/b", file_text="x").startswith("error: The path /memories/a/b is above or below a file")
    run("create", path="/memories/d/e/f", file_text="x" * 1536)
    run("create", path="/memories/blank", file_text="")
    run("create", path="/memories/d/.hidden", file_text="x")
    equal(view("/memories"), header.format("/memories") + "4K\t/memories\n14B\t/memories/a\n0B\t/memories/blank\n4K\t/memories/d/\n4K\t/memories/d/e/")
    equal(view("/memories/d"), header.format("/memories/d") + "4K\t/memories/d\n4K\t/memories/d/e/\n1.5K\t/memories/d/e/f")
    content = "Here's the content of /memories/a with line numbers:\n"
    equal(view("/memories/a", [2, -1]), content + "     2\ttwo\n     3\tthree\n     4\t")
    for path in ("/elsewhere", "/memories/../x"):
        assert view(path).startswith("error: Path "), view(path)
    edited = "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
    equal(run("str_replace", path="/memories/a", old_str="one\ntwo", new_str="1\n2"), edited + "     1\t1\n     2\t2\n     3\tthree")
    equal(run("str_replace", path="/memories/a", old_str="none", new_str=""),
          "error: No replacement was performed, old_str `none` did not appear verbatim in /memories/a.")
    equal(run("str_replace", path="/memories/a", old_str="e", new_str=""),
          "error: No replacement was performed. Multiple occurrences of old_str `e` in lines: 3, 3. Please ensure it is unique")
    equal(run("str_replace", path="/memories/d", old_str="e", new_str=""), "error: The path /memories/d is not a file.")
    equal(run("insert", path="/memories/a", insert_line=1, insert_text="between\n"), "The file /memories/a has been edited.")
    equal(run("insert", path="/memories/a", insert_line=9, insert_text="x"),
          "error: Invalid `insert_line` parameter: 9. It should be within the range [0, 4].")
    equal(view("/memories/a"), content + "     1\t1\n     2\tbetween\n     3\t2\n     4\tthree\n     5\t")
    equal(run("create", path="/memories/odd", file_text="1\u2028one\x0b\x85\r\n2"), "File created successfully at: /memories/odd")
    equal(run("insert", path="/memories/odd", insert_line=1, insert_text="between"), "The file /memories/odd has been edited.")
    equal(view("/memories/odd").partition("\n")[2], "     1\t1\u2028one\x0b\x85\r\n     2\tbetween\n     3\t2\n     4\t")
    equal(run("delete", path="/memories/odd"), "Successfully deleted /memories/odd")
    equal(run("rename", old_path="/memories/a", new_path="/memories/d/a"), "Successfully renamed /memories/a to /memories/d/a")
    equal(run("rename", old_path="/memories/none", new_path="/memories/x"), "error: The path /memories/none does not exist")
    equal(run("rename", old_path="/memories/blank", new_path="/memories/d"), "error: The destination /memories/d already exists")
    equal(run("rename", old_path="/memories/d", new_path="/memories/moved"), "Successfully renamed /memories/d to /memories/moved")
    equal(run("delete", path="/memories"), "error: Cannot delete the /memories directory itself")
    equal(run("delete", path="/memories/moved"), "Successfully deleted /memories/moved")
    equal(run("delete", path="/memories/moved"), "error: The path /memories/moved does not exist")
    tools = [CairnMemoryTool(Client(endpoints), namespace=tool._keys.namespace) for _ in range(3)]
    run("create", path="/memories/log", file_text="begin\n")
    print("kill", flush=True)
    lines = [f"agent {i} line {n}" for i in range(3) for n in range(5)]
    with ThreadPoolExecutor(15) as threads:  # nothing of what they write is lost
        list(threads.map(lambda line: tools[int(line[6])].execute(types.SimpleNamespace(
            command="insert", path="/memories/log", insert_line=1, insert_text=line)), lines))
    catch_up()
    log = tool.execute(types.SimpleNamespace(command="view", path="/memories/log", view_range=None))
    assert all(f"\t{line}\n" in log for line in lines) and log.count("\n") == 1 + 1 + len(lines), log
    equal(tool.clear_all_memory(), "All memory cleared")


def openai():
    session = CairnSession(new_key(), cairn)
    assert isinstance(session, Session)
    user = lambda content: {"role": "user", "content": content}

    async def alone():
        equal((await session.get_items(), await session.pop_item()), ([], None))
        await session.add_items([user("one"), user("zwei ü ½"), {"type": "function_call", "arguments": '{"a":1}'}])
        await session.add_items([])
        for limit, count in ((None, 3), (0, 0), (1, 1), (2, 2), (10, 3)):
            equal(len(await session.get_items(limit)), count)
        equal(await session.pop_item(), {"type": "function_call", "arguments": '{"a":1}'})
        equal(await session.get_items(1), [user("zwei ü ½")])
        await session.clear_session()
        equal(await session.get_items(), [])

    asyncio.run(alone())
    shared = new_key()
    writers = [threading.Thread(target=lambda i=i: asyncio.run(write(i))) for i in range(3)]

    async def write(i):
        mine = CairnSession(shared, Client(endpoints))
        for n in range(5):
            await mine.add_items([user(f"{i}.{n} a"), user(f"{i}.{n} b")])

    for w in writers:
        w.start()
    for w in writers:
        w.join()
    catch_up()
    texts = [item["content"] for item in asyncio.run(CairnSession(shared, cairn).get_items())]
    equal(len(set(texts)), 30)
    assert all(a[:-1] == b[:-1] for a, b in zip(texts[::2], texts[1::2])), texts  # what was added together is together
    rows = cairn.keys(prefix=f"/{shared}/items", namespace="openai", full=True, min_index=cairn.index)["keys"]
    print(json.dumps({row["rid"]: row["memory"]["text"] for row in rows}))


for part in (usual, langgraph, anthropic, openai):
    part()
    print(f"{part.__name__} passed", file=sys.stderr)
