// Package oauth is an OAuth 2.1 authorization server for the node's own /mcp, so that clients which speak the Model
// Context Protocol get a token through a browser. It is off unless an issuer is configured; the issuer is one URL for
// the whole cluster, and every member answers for it.
//
//	GET  /.well-known/oauth-authorization-server  the metadata of RFC 8414
//	POST /oauth/register                          dynamic registration, RFC 7591
//	GET  /oauth/authorize                         a page of the console, on which a person signs in with a token
//	POST /oauth/consent                           the requests of that page, with that token
//	POST /oauth/token                             exchanges codes and refresh tokens for access tokens
//
// The gateway serves these routes as a dialect (gateway.Dialect). Login accepts access tokens, only at /mcp.
//
// # Clients
//
// A client is public: it has no secret, and uses PKCE with S256. Its client_id is the https URL of a Client ID
// Metadata Document, which the node fetches only after a person has signed in, or comes from a registration. The node
// stores no registration: the client_id contains it, sealed. A redirect URI has https, or http on a loopback host. It
// must be exactly one of the client's, except for the port on loopback.
//
// # Consents
//
// A person who agrees creates a consent (oplog.Consent): a token row with a database, namespaces and scopes within
// those of the token that the person signed in with. It ends with that token. `cairn token list` shows it, and `cairn
// token revoke` ends it.
//
// Codes, refresh tokens and access tokens are sealed texts that name the consent; only the consent is stored. A code
// or a refresh token also has the number of the renewal that it permits (oplog.Renew), which the log applies once. A
// second use ends the consent, and with it everything issued under it.
//
// # Sealing
//
// A sealed text is a prefix for its kind, such as cairn_access_, and base64url of AES-256-GCM over JSON. The key is
// derived from the cluster secret by HKDF, so all members can open it. Prefix and resource are authenticated too: an
// access token is no valid refresh token, and is invalid at any other issuer's /mcp.
package oauth
