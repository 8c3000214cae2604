// Package oauth is an OAuth 2.1 authorization server for the node's own /mcp, so that clients which speak the Model
// Context Protocol get a token through a browser. It is off unless an issuer is configured; the issuer is one URL for
// the whole cluster, and every member answers for it.
//
//	GET  /.well-known/oauth-authorization-server  the metadata of RFC 8414
//	POST /oauth/register                          dynamic registration, RFC 7591
//	GET  /oauth/authorize                         a page of the console, on which a person signs in with a token
//	POST /oauth/consent                           what that page asks, with that token
//	POST /oauth/token                             codes and refresh tokens to access tokens
//
// The gateway serves these routes as a dialect's (gateway.Dialect), and asks Login for access tokens at /mcp alone.
//
// # Clients
//
// A client is public: it has no secret, and proves itself by PKCE with S256. Its client_id is the https URL of a
// Client ID Metadata Document, which is fetched after somebody has signed in, or the answer to a registration. The
// node stores no registration: the client_id holds it, sealed. A redirect URI has https, or http on a loopback host,
// and must be among the client's letter by letter, except for the port of one on loopback.
//
// # Consents
//
// A person who agrees makes a consent (oplog.Consent): a token row with a database, namespaces and scopes within
// those of the token that the person signed in with, and which ends with that token. `cairn token list` shows it, and
// `cairn token revoke` ends it.
//
// A code, a refresh token and an access token are sealed texts that name the consent; only the consent is stored. A
// code or a refresh token also has the number of the renewal that uses it up (oplog.Renew), which the log lets happen
// once. A second try ends the consent, and with it everything issued under it.
//
// # Sealing
//
// A sealed text is a prefix that says what it is, such as cairn_access_, and base64url of AES-256-GCM over JSON. The
// key is derived from the cluster secret by HKDF, so each member opens what another sealed. Prefix and resource are
// authenticated too: an access token is not a refresh token, and is good at no other issuer's /mcp.
package oauth
