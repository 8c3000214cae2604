// The client checklist of the protocol with nothing but node's own http: node client.mjs http://127.0.0.1:3923
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import assert from 'node:assert/strict';

const base = new URL(process.argv[2]);
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

function request(method, path, body, headers = {}) {
  return new Promise((resolve, reject) => {
    const data = body === undefined ? undefined : JSON.stringify(body);
    const req = http.request(new URL(path, base), { method, agent, headers: { 'Content-Type': 'application/json', ...headers } }, (res) => {
      let text = '';
      res.setEncoding('utf8');
      res.on('data', (c) => { text += c; });
      res.on('end', () => resolve({ status: res.statusCode, headers: res.headers, text }));
    });
    req.on('error', reject);
    req.end(data);
  });
}

// The three events; a stream without its end is no result.
function parse(text) {
  let head, content, done = false;
  for (const block of text.split('\n\n')) {
    const m = /^event: (\w+)\ndata: (.*)$/.exec(block);
    if (!m) continue;
    const value = JSON.parse(m[2]);
    if (m[1] === 'head') head = value;
    if (m[1] === 'content') content = value;
    if (m[1] === 'done') done = true;
  }
  if (!head || content === undefined || !done) return { ok: false, code: 'STREAM_INCOMPLETE', content: '', meta: null };
  return { ok: head.ok, code: head.code, content: content.replace(/^re: [^\n]*\n/, ''), meta: head.meta, head };
}

async function exec(cmd, topic = 'main', requestID) {
  const res = await request('POST', '/exec', { cmd, topic, request_id: requestID }, { 'X-Agent-Id': 'node', Accept: 'text/event-stream' });
  if (res.status !== 200) return { ok: false, code: 'HTTP_ERROR', content: JSON.parse(res.text).error, status: res.status };
  return parse(res.text);
}

const health = await request('GET', '/health');
assert.equal(JSON.parse(health.text).ok, true);
let home;
for (const created of [true, false]) {
  const res = JSON.parse((await request('POST', '/agents', { agent_id: 'node' })).text);
  assert.equal(res.created, created);
  home = res.home;
}
const wrote = await exec('/write note.md\n# Héllo\n\ntext 𝒞', 'main', 'r-1');
assert.ok(wrote.ok, wrote.content);
assert.equal(wrote.head.request_id, 'r-1');
assert.equal(wrote.meta, null);
const opened = await exec('/open note.md');
assert.match(opened.content, /^Opened note\.md\n---\n# Héllo\n\ntext 𝒞$/);
assert.match(opened.meta.uri, /^file:\/\//);
const missing = await exec('/open nothing.md');
assert.deepEqual([missing.ok, missing.code], [false, 'NOT_FOUND']);
const kept = await exec('/remember The lighthouse keeper is called Ines');
assert.ok(kept.ok, kept.content);
assert.match((await exec('/recall lighthouse keeper')).content, /Ines/);
const shell = await exec('cd /; echo from node', 'bash:n');
assert.equal(shell.content, 'exit: 0 | cwd: /\n---\nfrom node');

// A full queue is told from a failure, and the sixth that waits is turned away. The first runs until that was seen.
const many = [];
let turned = 0;
const wide = new http.Agent({ maxSockets: 20 });
for (let i = 0; i < 8; i++) {
  many.push(new Promise((resolve, reject) => {
    const req = http.request(new URL('/exec', base), { method: 'POST', agent: wide, headers: { 'X-Agent-Id': 'node' } }, (res) => {
      res.resume();
      if (res.statusCode === 429 && ++turned === 2) fs.writeFileSync(path.join(home, 'go'), '');
      res.on('end', () => resolve(res.statusCode));
    });
    req.on('error', reject);
    req.end(JSON.stringify({ cmd: '/exec while [ ! -e ~/go ]; do sleep 0.02; done', topic: 'crowd' }));
  }));
}
assert.deepEqual((await Promise.all(many)).sort(), [200, 200, 200, 200, 200, 200, 429, 429]);
assert.equal((await request('GET', '/nowhere')).status, 404);
const removed = JSON.parse((await request('DELETE', '/agents/node')).text);
assert.equal(removed.deleted, true);
agent.destroy();
wide.destroy();
console.log('ok');
