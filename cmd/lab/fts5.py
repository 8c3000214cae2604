"""Full-text search of SQLite: a JSON object a line in, one out for each question. The only argument is the database's file."""

import json
import re
import sqlite3
import sys
import time

db = sqlite3.connect(sys.argv[1], isolation_level=None)
tables = {}  # of a conversation
fresh = {}  # what was added to a table and is not in it yet
unmerged = set()  # tables that grew since their pieces were made one


def table(conv):
    if conv not in tables:
        tables[conv] = "texts%d" % len(tables)
        fresh[tables[conv]] = []
        db.execute("create virtual table %s using fts5(id unindexed, text, tokenize = 'porter unicode61')" % tables[conv])
    return tables[conv]


def flush(name):
    db.execute("begin")
    db.executemany("insert into %s (id, text) values (?, ?)" % name, fresh[name])
    db.execute("commit")
    fresh[name].clear()
    unmerged.add(name)


def settle():
    for name, rows in fresh.items():
        if rows:
            flush(name)
    for name in unmerged:
        db.execute("insert into %s (%s) values ('optimize')" % (name, name))
    unmerged.clear()


def answer(conv, question, k):
    words = ['"%s"' % w for w in re.findall(r"\w+", question)]
    if not words or conv not in tables:
        return {"ids": [], "ms": 0}
    ask = "select id from %s where %s match ? order by rank limit ?" % (tables[conv], tables[conv])
    began = time.perf_counter()
    ids = [row[0] for row in db.execute(ask, (" OR ".join(words), k)).fetchall()]
    return {"ids": ids, "ms": (time.perf_counter() - began) * 1000}


def main():
    db.execute("pragma journal_mode = off")
    db.execute("pragma synchronous = off")
    table("")  # fails where this SQLite has no FTS5
    print(json.dumps({"sqlite": sqlite3.sqlite_version}), flush=True)
    for line in sys.stdin:
        m = json.loads(line)
        if "text" in m:
            name = table(m["conv"])
            fresh[name].append((m["id"], m["text"]))
            if len(fresh[name]) == 10000:
                flush(name)
        else:
            settle()
            print(json.dumps(answer(m["conv"], m["question"], m["k"])), flush=True)


try:
    main()
except Exception as e:
    print(json.dumps({"error": str(e)}), flush=True)
    sys.exit(1)
