// @ts-check
// Calls a web address when a memory changes. It follows the change feed, which goes on behind the last event when a node
// dies, and keeps its place in a file, so that a restart misses nothing.
//
//   npm install ./wire/client/typescript
//   CAIRN_TOKEN_FILE=cairn-data/token node deploy/examples/webhook.mjs https://example.com/hook webhook.cursor http://127.0.0.1:7438
//
// An event may come twice, after a restart: whoever is called tells events apart by their cursor.
import { readFile, rename, writeFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "cairn-client";

const [address, place, ...endpoints] = process.argv.slice(2);
const cairn = new Client({ endpoints });
const from = await readFile(place, "utf8").catch(() => undefined);

/** @param {object} event */
async function call(event) {
  for (let pause = 100; ; pause = Math.min(2 * pause, 60_000)) {
    const headers = { "Content-Type": "application/json" };
    const answer = await fetch(address, { method: "POST", headers, body: JSON.stringify(event) }).catch(() => undefined);
    if (answer?.ok) return;
    await delay(pause);
  }
}

for await (const event of cairn.events({ type: ["stored", "corrected", "forgotten"], from })) {
  if (event.type === "subscribed") {
    console.log("following");
    continue;
  }
  if (event.type === "leader") continue;
  await call({ type: event.type, id: event.id, at: event.at, cursor: event.cursor }); // lagged: some were skipped, read again
  await writeFile(place + ".new", event.cursor);
  await rename(place + ".new", place);
}
