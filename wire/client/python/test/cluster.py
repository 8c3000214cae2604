"""Tries the clients on a cluster whose addresses are the arguments.

It prints "kill" when its caller should kill the leader, and at the end what was acknowledged in the loop of writes, as
JSON: text by id.
"""
import asyncio
import contextlib
import json
import os
import socket
import sys
import tempfile
import threading
import time
from datetime import datetime, timezone

from cairn_client import AsyncClient, CairnError, Client, UnknownOutcomeError, new_key
from cairn_client._keys import Keys

endpoints, token = sys.argv[1:], os.environ["CAIRN_TOKEN"]
admin = Client(endpoints)
admin.databases_create("python")
options = {"database": "python", "own_writes": True}
cairn = Client(endpoints, **options)


@contextlib.contextmanager
def rejected(**want):
    try:
        yield
    except CairnError as e:
        assert all(getattr(e, name) == value for name, value in want.items()) and e.request_id, (vars(e), want)
        return
    raise AssertionError(f"nothing was rejected with {want}")


def memories():
    moment = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)
    rid = cairn.remember("Alice leads the payments team", attributes={"team": "payments", "size": 7}, metadata={"from": ["a", "ü"]}, created_at=moment)["rid"]
    found = cairn.recall("who leads payments?", top_k=3, filter={"size": {"gte": 7}})["results"]
    assert found[0]["rid"] == rid and found[0]["metadata"] == {"from": ["a", "ü"]}, found
    assert cairn.recall("who leads payments?", filter={"size": {"lt": 7}})["total"] == 0
    assert cairn.count(filter={"team": "payments"})["count"] == 1
    changed = cairn.correct(rid, "Alice moved on", new_text="Bob leads the payments team", expected_revision=0)
    assert changed["revision"] == 1
    read = cairn.memory(rid)
    assert read["text"] == "Bob leads the payments team" and read["created_at"] == moment.timestamp(), read
    with rejected(status=409, code="revision_conflict"):
        cairn.correct(rid, "late", new_text="Carol", expected_revision=0)
    with rejected(status=400):
        cairn.remember("x", importance=2)
    with rejected(status=404, code="memory_not_found"):
        cairn.memory("0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e12")
    with rejected(status=401):
        Client(endpoints, token="wrong").stats()
    late = Client(endpoints, **options)
    late._cluster.index = "1000000000"  # of a write that a restore lost
    with rejected(status=412, code="replica_behind"):
        late.stats()
    assert late.index == "" and late.stats()["active_memories"] == 1
    assert [r["rid"] for r in cairn.recall_each("payments team", top_k=5)] == [rid]
    key = new_key()
    assert cairn.remember("stored once", idempotency_key=key)["rid"] == cairn.remember("stored once", idempotency_key=key)["rid"]
    with rejected(code="conflict"):
        cairn.remember("another", idempotency_key=key)
    assert cairn.remember_batch([{"text": "one"}, {"text": "two", "created_at": moment}])["count"] == 2
    assert cairn.forget(rid)["found"] is True


def keys():
    assert cairn.put("/prefs/theme", "dark", if_absent=True)["created"] is True
    assert cairn.put("/prefs/theme", "light", if_revision=0)["revision"] == 1
    with rejected(status=409, code="precondition_failed"):
        cairn.put("/prefs/theme", "blue", if_revision=0)
    assert cairn.get("/prefs/theme")["text"] == "light"
    results = cairn.batch([{"op": "get", "key": "/prefs/theme"}, {"op": "put", "key": "/prefs/font", "memory": {"text": "mono"}}])["results"]
    assert [(r["key"], r["found"]) for r in results] == [("/prefs/theme", True), ("/prefs/font", False)], results
    assert [k["key"] for k in cairn.keys(prefix="/prefs")["keys"]] == ["/prefs/font", "/prefs/theme"]
    assert cairn.rename("/prefs/font", "/prefs/face")["key"] == "/prefs/face"
    assert cairn.delete("/prefs/face")["found"] is True
    with rejected(status=404, code="key_not_found"):
        cairn.get("/prefs/face")


def feed():
    texts, seen = ["feed one", "feed two", "feed three"], []
    with cairn.events(type=["stored"]) as events:
        for e in events:
            if e["type"] == "subscribed":
                cairn.remember(texts[0])
            elif e["type"] == "stored":
                seen.append(e["id"])
                break
    cairn.remember_batch([{"text": text} for text in texts[1:]])  # while nobody listens
    with cairn.events(type=["stored"], from_=events.cursor) as resumed:
        for e in resumed:
            seen += [e["id"]] if e["type"] == "stored" else []
            if len(seen) == 3:
                break
    assert [cairn.memory(rid)["text"] for rid in seen] == texts
    waiting = cairn.events(from_=resumed.cursor)
    thread = threading.Thread(target=list, args=(waiting,))
    thread.start()
    waiting.close()
    thread.join(10)
    assert not thread.is_alive()


def transfer():
    assert list(cairn.export(filter={"team": "nobody"})) == []
    rows = [{"type": "memory", "text": f"row {i}", "namespace": "imported"} for i in range(1500)]
    imported = cairn.import_(rows, key="once")
    assert (imported["lines"], imported["memories"]) == (1500, 1500), imported
    cairn.import_(rows, key="once")
    assert cairn.count(namespace="imported")["count"] == 1500
    assert sum(line.get("namespace") == "imported" for line in cairn.export()) == 1500


def limits():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        nobody = Client("http://127.0.0.1:%d" % s.getsockname()[1], timeout=0.5)
        for ask in (nobody.stats, lambda: nobody.remember("nobody hears it")):
            with rejected(code="unreachable"):  # it was never sent
                ask()
    with socket.create_server(("127.0.0.1", 0)) as s:  # it accepts, and never answers
        silent = "http://127.0.0.1:%d" % s.getsockname()[1]
        with Client([silent, *endpoints], attempt_timeout=0.3, database="python") as late:
            assert late.remember("said in spite of a silent node")["rid"]
            assert late.endpoint != silent
        with Client([silent, *endpoints], timeout=0.3) as late:
            for ask, key in ((late.session_start, None), (lambda: late.remember("x", idempotency_key="again"), "again")):
                try:
                    ask()
                    raise AssertionError("a silent node answered")
                except UnknownOutcomeError as e:
                    assert e.idempotency_key == key
            with rejected(code="timeout"):
                late.stats()
        with Client([silent, *endpoints], token="wrong", attempt_timeout=0.3) as refused:
            with rejected(code="unknown_outcome", status=401):  # the silent one may have it
                refused.remember("x")
        cairn.put("/limits/taken", "another's")
        with Client([silent, *endpoints], attempt_timeout=0.3, database="python") as late:
            conditions = [{}, {"if_absent": True}]
            Keys(late, "default").decide(lambda: late.put("/limits/taken", "mine", **conditions.pop()))
            assert not conditions  # the silent one may have the first, and it is decided again
    with Client(endpoints, database="python", timeout=60) as patient:
        began = time.monotonic()
        with rejected(status=413, code="too_large"):  # the node answers before it has read all
            patient.remember("a " * (20 << 20))
        with rejected(status=429, code="rate_limited"):  # it will be as large when it is sent again
            patient.remember_batch([{"text": f"memory {i}"} for i in range(10_001)])
        assert time.monotonic() - began < 30, "what can never be taken was sent again"
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "token")
        with open(name, "w") as f:
            f.write("wrong\n")
        client = Client(endpoints, token_file=name, database="python")
        with rejected(status=401):
            client.stats()
        with open(name, "w") as f:
            f.write(token + "\n")  # it was renewed
        assert client.me()["database"] == "python"
    assert Client(endpoints, token=token + "\n").me()["database"]  # as a file has it
    try:
        cairn.remember("x", importance=float("nan"))
        raise AssertionError("no number was sent as JSON")
    except ValueError:
        pass


def awaited():
    async def run():
        async with AsyncClient(endpoints, **options) as client:
            made = await asyncio.gather(*(client.remember(f"at once {i}", namespace="async") for i in range(40)))
            rids = {m["rid"] for m in made}
            assert len(rids) == 40 and (await client.count(namespace="async"))["count"] == 40
            exported = {line["rid"] async for line in client.export() if line.get("namespace") == "async"}
            assert exported == rids
            assert [r["rid"] async for r in client.recall_each("at once 7", top_k=1)]
            async with client.events(type=["stored"], from_=str(min(int(m["log_index"]) for m in made) - 1)) as events:
                async for e in events:
                    rids.discard(e.get("id"))
                    if not rids:
                        break
            waiting = asyncio.ensure_future(client.events(type=["purged"]).__anext__())
            assert (await waiting)["type"] == "subscribed"
            again = client.events(type=["purged"])
            await again.__anext__()
            waiting = asyncio.ensure_future(again.__anext__())
            await asyncio.sleep(0)
            waiting.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await waiting
            assert (await client.using(timeout=5).stats())["active_memories"] >= 40

    asyncio.run(run())


def killing():
    acked, told, unknown = {}, [], 0
    writer = Client(endpoints, timeout=60, attempt_timeout=2)
    events = writer.events(type=["stored"])
    thread = threading.Thread(target=lambda: [told.append(e.get("id", e["type"])) for e in events])
    thread.start()
    while not told:
        time.sleep(0.01)
    for i in range(300):
        if i == 50:
            print("kill", flush=True)
        text = f"python {i}"
        try:
            acked[writer.remember(text)["rid"]] = text
        except UnknownOutcomeError:
            unknown += 1
    assert unknown == 0
    last = list(acked)[-1]
    while told[-1] != last:
        time.sleep(0.01)
    events.close()
    thread.join()
    assert told[1:] == list(acked)  # all, in order, none twice
    assert Client(endpoints).memory(last, min_index=writer.index)["text"] == "python 299"
    print(json.dumps(acked), flush=True)


for part in (memories, keys, feed, transfer, limits, awaited, killing):
    part()
    print(part.__name__, "passed", file=sys.stderr)
