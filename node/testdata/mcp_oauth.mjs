// What the official TypeScript SDK's clients do to get an access token for /mcp: discovery, registration, a person's
// consent (which this script gives), the code, tool calls, and a refresh. The third argument names the package.
import assert from "node:assert/strict";

const [url, token, from] = process.argv.slice(2);
const v1 = from === "@modelcontextprotocol/sdk";
const space = v1 ? "agents/sdk" : "agents/client";
const { Client } = await import(v1 ? `${from}/client/index.js` : from);
const { StreamableHTTPClientTransport } = await import(v1 ? `${from}/client/streamableHttp.js` : from);
const { UnauthorizedError } = await import(v1 ? `${from}/client/auth.js` : from);

const kept = {};
const redirectUrl = "http://127.0.0.1:4711/callback";
const authProvider = {
  redirectUrl,
  clientMetadata: { client_name: `Official ${from}`, redirect_uris: [redirectUrl], grant_types: ["authorization_code", "refresh_token"], response_types: ["code"], token_endpoint_auth_method: "none" },
  state: () => "a state",
  clientInformation: () => kept.client,
  saveClientInformation: (c) => { kept.client = c; },
  tokens: () => kept.tokens,
  saveTokens: (t) => { kept.tokens = t; },
  redirectToAuthorization: (to) => { kept.at = to; },
  saveCodeVerifier: (v) => { kept.verifier = v; },
  codeVerifier: () => kept.verifier,
  saveDiscoveryState: (s) => { kept.discovery = s; },
  discoveryState: () => kept.discovery,
  invalidateCredentials: (what) => { if (what === "all" || what === "tokens") kept.tokens = undefined; },
};
const transport = () => new StreamableHTTPClientTransport(new URL(url), { authProvider });
const client = () => new Client({ name: "oauth", version: "1" });

const first = transport();
await assert.rejects(client().connect(first), UnauthorizedError);
assert.equal(kept.at.origin, new URL(url).origin);
assert.equal(kept.at.searchParams.get("resource"), url);
assert.equal(kept.at.searchParams.get("scope"), "read write");

const page = await fetch(kept.at);
assert.equal(page.status, 200);
assert.match(page.headers.get("content-security-policy"), /script-src 'self'.*frame-ancestors 'none'/);

// A person agrees. The page sends the parameters that it was called with, and the token of the person.
const agreed = await fetch(new URL("/oauth/consent", url), { method: "POST", headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
  body: JSON.stringify({ ...Object.fromEntries(kept.at.searchParams), decision: "allow", scopes: ["read", "write"], namespaces: [space] }) });
assert.equal(agreed.status, 200);
const back = new URL((await agreed.json()).redirect);
assert.equal(back.searchParams.get("state"), "a state");
assert.equal(back.searchParams.get("iss"), new URL(url).origin);
await (v1 ? first.finishAuth(back.searchParams.get("code")) : first.finishAuth(back.searchParams));
assert.equal(kept.tokens.token_type, "Bearer");

const works = client();
await works.connect(transport());
const call = async (name, args) => {
  const r = await works.callTool({ name, arguments: { ...args, format: "json" } });
  return r.isError ? r.content[0].text : r.structuredContent;
};
// A model asks a node that may be behind the one that stored: it asks until that has it.
const recalled = async (args) => {
  for (;;) {
    const { results } = await call("recall", args);
    if (results.length > 0) return results[0].rid;
  }
};
const { rid } = await call("remember", { text: `the client of ${from} came in by consent` });
assert.equal(await recalled({ query: `client of ${from}`, namespace: space }), rid);
while ((await call("timeline", { namespace: space })).memories.length === 0); // a header mirrors the namespace
assert.match(await call("recall", { query: "client", namespace: "default" }), /bound to agents\//);

// An access token that is not accepted any more is refreshed without anybody being asked.
const old = kept.tokens;
kept.tokens = { ...old, access_token: "cairn_access_expired" };
kept.at = undefined;
assert.equal(await recalled({ query: `client of ${from}` }), rid);
assert.notEqual(kept.tokens.refresh_token, old.refresh_token);
assert.equal(kept.at, undefined);

// The old refresh token ends everything: the client has to ask the person again.
const replayed = await fetch(new URL("/oauth/token", url), { method: "POST", body: new URLSearchParams({ grant_type: "refresh_token", refresh_token: old.refresh_token, client_id: kept.client.client_id, resource: url }) });
assert.equal(replayed.status, 400);
assert.equal((await replayed.json()).error, "invalid_grant");
for (let refused; !refused;) { // each node ends it when it has heard of it
  await call("status", {}).catch((e) => { refused = e; assert.ok(e instanceof UnauthorizedError, e); });
}
assert.ok(kept.at);
process.exit(0);
