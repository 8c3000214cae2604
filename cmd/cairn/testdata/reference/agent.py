"""A small agent's memory: a client of Cairn in plain Python, without an SDK.

    export CAIRN=http://127.0.0.1:7438 TOKEN=$(cat cairn-data/token)
    python3 agent.py

It is written from the page /docs of a node alone.
"""

import json
import os
import secrets
import sys
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen


class Refused(Exception):
    """An error as the node answers it: a status, a code for programs, a message for people."""

    def __init__(self, status, code, message):
        super().__init__(f"{status} {code}: {message}")
        self.status, self.code, self.message = status, code, message


class Cairn:
    def __init__(self, url, token):
        self.url, self.token = url.rstrip("/"), token

    def open(self, method, path, body=None, **query):
        query = {k: v if isinstance(v, (str, int)) else json.dumps(v) for k, v in query.items()}
        request = Request(
            self.url + path + ("?" + urlencode(query) if query else ""),
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": "Bearer " + self.token, "Content-Type": "application/json"},
        )
        try:
            return urlopen(request, timeout=10)
        except HTTPError as error:
            answer = json.load(error)
            raise Refused(error.code, answer["code"], answer["error"]) from None

    def get(self, path, **query):
        with self.open("GET", path, **query) as answer:
            return json.load(answer)

    def post(self, path, **body):
        with self.open("POST", path, body) as answer:
            return json.load(answer)

    def delete(self, path):
        with self.open("DELETE", path) as answer:
            return json.load(answer)

    def events(self, **query):
        """The changes after a position in the log, for as long as the caller reads them."""
        with self.open("GET", "/v1/events", **query) as stream:
            event = {}
            for line in stream:
                field, _, value = line.decode().rstrip("\r\n").partition(":")
                if field:
                    event[field] = value.lstrip()
                elif "data" in event:
                    yield event["event"], json.loads(event["data"])
                    event = {}


def check(holds, message):
    if not holds:
        sys.exit("not as the reference says: " + message)


def refused(call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except Refused as error:
        return error
    sys.exit("not as the reference says: the request was not refused")


def main():
    cairn = Cairn(os.environ["CAIRN"], os.environ["TOKEN"])
    run = secrets.token_hex(4)
    ns = "lighthouse-" + run
    before = cairn.get("/v1/count", namespace=ns)
    check(before["count"] == 0, "a new namespace is empty")

    # 1. Store.
    def remember(path, text, role, **fields):
        return cairn.post(path, text=text, namespace=ns, attributes={"run": run, "role": role}, **fields)

    mara = remember("/v1/remember", "Mara leads the lighthouse team", "lead")["rid"]
    remember("/v1/remember", "Jonas writes the firmware of the lighthouse lamp", "engineer")
    remember("/v1/remember", "Ines designs the lens of the lighthouse", "engineer")
    remember("/v1/put", "The team ships on the first Monday of a month", "rule", key="/team/releases")
    guest = remember("/v1/remember", "Tomas visits the team this morning", "guest", ttl=3600)["rid"]
    expires = cairn.get("/v1/memory/" + guest)
    check(3500 < expires["expires_at"] - expires["updated_at"] < 3700, "it expires in an hour")
    print("1. stored five memories in", ns)

    # 2. Recall and list.
    found = cairn.post("/v1/recall", query="who leads the team?", namespace=ns)["results"]
    check(found and found[0]["rid"] == mara, "the best answer comes first")
    engineers = cairn.post(
        "/v1/recall", query="who works on the lighthouse?", namespace=ns, filter={"role": "engineer"}
    )["results"]
    check([m["attributes"]["role"] for m in engineers] == ["engineer"] * 2, "a filter holds")

    listed, cursor, pages = [], "", 0
    while cursor is not None:
        page = cairn.get("/v1/records", namespace=ns, limit=2, since_rid=cursor)
        check(len(page["records"]) <= 2, "a page has two records at most")
        listed += [m["rid"] for m in page["records"]]
        cursor, pages = page["next_cursor"], pages + 1
    check(len(set(listed)) == len(listed) == 5, "the pages have each memory once")
    print(f"2. recalled {found[0]['text']!r}, {len(engineers)} engineers; listed 5 in {pages} pages")

    # 3. Correct.
    cairn.post("/v1/correct", rid=mara, new_text="Mara leads the harbour team", reason="she moved")
    history = cairn.get(f"/v1/memory/{mara}/revisions")["revisions"]
    check([r["text"] for r in history] == ["Mara leads the lighthouse team"], "the old text is kept")
    print(f"3. corrected a memory; before: {history[0]['text']!r} ({history[0]['reason']})")

    # 4. Write under a key, with preconditions.
    oncall = {"namespace": ns, "key": "/team/oncall", "attributes": {"run": run, "role": "rule"}}
    first = cairn.post("/v1/put", text="Jonas is on call", if_absent=True, **oncall)
    check(first["created"], "the key was free")
    conflict = refused(cairn.post, "/v1/put", text="Ines is on call", if_absent=True, **oncall)
    check(conflict.status == 409, f"a key that is taken is a conflict: {conflict}")
    now = cairn.get("/v1/get", namespace=ns, key="/team/oncall")
    second = cairn.post("/v1/put", text="Ines is on call", if_revision=now["revision"], **oncall)
    check(second["rid"] == first["rid"] and second["revision"] == now["revision"] + 1, "a new revision")
    print(f"4. refused once ({conflict.code}), then updated to revision {second['revision']}")

    # 5. Three writes, all or none.
    def step(key, text, **conditions):
        memory = {"text": text, "attributes": {"run": run, "role": "rule"}}
        return {"op": "put", "namespace": ns, "key": key, "memory": memory, **conditions}

    steps = [
        step("/plan/lens", "The lens is polished in June"),
        step("/plan/lamp", "The lamp is tested in July"),
        step("/plan/tower", "The tower is painted in August"),
    ]
    taken = step("/team/oncall", "Nobody is on call", if_absent=True)
    check(refused(cairn.post, "/v1/batch", steps=[*steps, taken]).code == conflict.code, "one condition fails all")
    check(not cairn.get("/v1/keys", namespace=ns, prefix="/plan")["keys"], "a refused batch writes nothing")
    batch = cairn.post("/v1/batch", steps=steps)
    check(all(r["changed"] for r in batch["results"]), "each step of a batch is done")
    keys = [row["key"] for row in cairn.get("/v1/keys", namespace=ns, prefix="/plan")["keys"]]
    check(keys == ["/plan/lamp", "/plan/lens", "/plan/tower"], "the keys come in the order of their bytes")
    print("5. wrote three keys in one step:", ", ".join(keys))

    # 6. A block for a prompt.
    block = cairn.post("/v1/context", query="what is planned for the lens?", namespaces=[ns], max_tokens=120)
    check(0 < block["tokens"] <= 120 and "polished in June" in block["context"], "the block keeps its budget")
    print(f"6. a block of {len(block['memories'])} memories in {block['tokens']} tokens")

    # 7. Changes since the beginning.
    wanted = {("stored", rid) for rid in listed} | {("corrected", mara), ("corrected", first["rid"])}
    wanted |= {("stored", result["rid"]) for result in batch["results"]}
    since, changes = before["index"], 0
    for kind, change in cairn.events(**{"from": since}, filter={"run": run}):
        if kind == "subscribed":
            continue
        changes += 1
        wanted.discard((kind, change["id"]))
        if not wanted:
            break
    check(not wanted, "every write is among the changes")
    print(f"7. read {changes} changes after log index {since}")

    # 8. Relations. They belong to no namespace, so the names have the run in them.
    person, project = "mara-" + run, "harbour-" + run
    edge = cairn.post("/v1/relate", entity=person, target=project, relationship="leads")["edge_id"]
    near = cairn.get("/v1/edges", entity=project)["edges"]
    check([(e["src"], e["rel_type"]) for e in near] == [(person, "leads")], "an edge is seen from both ends")
    print(f"8. near {project}: {near[0]['src']} {near[0]['rel_type']} it")

    # 9. Mistakes.
    wrong_field = refused(cairn.post, "/v1/remember", txt="no such field", namespace=ns)
    check(wrong_field.status == 400 and "txt" in wrong_field.message, f"the error names the field: {wrong_field}")
    wrong_token = refused(Cairn(cairn.url, "wrong").get, "/v1/count")
    check(wrong_token.status == 401, f"a wrong token is refused with 401: {wrong_token}")
    print(f"9. {wrong_field} | {wrong_token}")

    # 10. Forget.
    gone = cairn.post("/v1/forget/matching", filter={"run": run}, namespace=ns, reason="end of the example")
    check(gone["forgotten"] == 9 and not gone["more"], "all nine memories were forgotten")
    check(cairn.delete("/v1/edges/" + edge)["found"], "the relation was deleted")
    left = cairn.post("/v1/recall", query="who leads the team?", namespace=ns, consistency="linearizable")
    check(left["results"] == [], "what was forgotten is not recalled")
    check(cairn.get("/v1/count", namespace=ns)["count"] == 0, "the namespace is empty")
    print("10. forgot all", gone["forgotten"])


if __name__ == "__main__":
    try:
        main()
    except KeyError as missing:
        sys.exit(f"missing: {missing}")
    except (Refused, OSError) as error:
        sys.exit(str(error))
