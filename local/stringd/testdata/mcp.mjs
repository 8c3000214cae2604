// The official SDK as a client: node mcp.mjs http://127.0.0.1:3923, where node finds @modelcontextprotocol/sdk.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(process.cwd() + '/');
const load = (name) => import(pathToFileURL(require.resolve('@modelcontextprotocol/sdk/' + name)));
const { Client } = await load('client/index.js');
const { StreamableHTTPClientTransport } = await load('client/streamableHttp.js');

const transport = new StreamableHTTPClientTransport(new URL('/mcp', process.argv[2]), { requestInit: { headers: { 'X-Agent-Id': 'sdk' } } });
const client = new Client({ name: 'checker', version: '1' });
await client.connect(transport);
assert.equal(client.getServerVersion().name, 'string');
await client.ping();
const { tools } = await client.listTools();
assert.deepEqual(tools.map((t) => t.name), ['string']);
const call = async (cmd) => client.callTool({ name: 'string', arguments: { topic: 'main', cmd } });
const kept = await call('/remember The harbour opens at six');
assert.equal(kept.isError, false);
assert.match(kept.content[0].text, /^<𝒞=string:main>\nRemembered /);
const found = await call('/recall when does the harbour open');
assert.match(found.content[0].text, /harbour opens at six/);
const failed = await call('/nope');
assert.equal(failed.isError, true);
assert.match(failed.content[0].text, /ERROR\(COMMAND_UNSUPPORTED\)/);
await client.close();
console.log('ok');
