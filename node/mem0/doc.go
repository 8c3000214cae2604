// Package mem0 serves the HTTP API of mem0 on the gateway's port, so that mem0's own clients run unmodified: set
// their host to a node and their API key to a token. It translates calls to operations of the table and answers to
// mem0's format, and stores nothing itself.
//
// # Tokens and namespaces
//
// Clients send a token as Authorization: Token KEY, Authorization: Bearer KEY or X-API-Key: KEY. It needs the same
// rights as on the other ports. The project is the token's database. All memories are in the namespace mem0. These
// clients do not see other namespaces, but the recall of other dialects also finds memories of this one.
//
// # A memory
//
// user_id, agent_id, app_id and run_id are attributes of the memory. Values of metadata that are strings, numbers,
// booleans or lists of strings are attributes as well, so that scans can filter by them. The other values stay in the
// memory's metadata. Answers combine both again. "@mem0" is a reserved key of metadata. Each message becomes a memory
// with the message's text and, as its source, the message's role. Messages of the role system are dropped.
//
//	timestamp, observation_date     when it happened
//	expiration_date                 it expires at the end of that day, in UTC; afterwards show_expired finds it no more
//	immutable                       it cannot be updated, only deleted
//	infer                           true and false alike store the text as it is: no facts are extracted
//
// Additions are synchronous: the status is SUCCEEDED, and event_id is the id of the first memory.
//
// # Filters
//
// AND, OR and NOT hold lists of filters. A leaf is {field: value} or {field: {operator: value}}; the operators are
// eq, ne, in, nin, gt, gte, lt, lte, contains, icontains and exists. A list is the same as in, and * is any value.
// Fields are the four ids, categories, created_at, updated_at, and keys of metadata, also as {"metadata": {key:
// value}}. keywords and memory_ids are rejected. A filter of memories names at least one id outside of NOT.
//
// # Paths
//
// The paths of the platform, with a trailing slash:
//
//	GET /v1/ping/                                           the database as project_id
//	POST /v3/memories/add/  POST /v1/memories/              add; the older one answers a list
//	POST /v3/memories/  POST /v2/memories/  GET /v1/memories/                             list, page by page
//	POST /v3/memories/search/  POST /v2/memories/search/  POST /v1/memories/search/       search
//	GET PUT DELETE /v1/memories/ID/                         one memory
//	GET /v1/memories/ID/history/                            its changes, from its revisions
//	DELETE /v1/memories/?user_id=…                          all that pass
//	PUT DELETE /v1/batch/                                   up to 1,000 memories
//	GET /v1/entities/  DELETE /v2/entities/TYPE/NAME/       users, agents, apps and runs
//	GET /v1/events/  GET /v1/event/ID/                      additions, made of the memories that are there
//	GET /api/v1/orgs/organizations/ORG/projects/PROJECT/    and its webhooks: none
//	GET /v2/entities/user/NAME/profile/                     status not_enabled, as are the settings
//
// The paths of the self-hosted server, without one: POST GET DELETE /memories, GET PUT DELETE /memories/ID,
// GET /memories/ID/history, POST /search, GET /entities, DELETE /entities/TYPE/NAME, POST /reset (scope owner),
// GET /configure, GET /api/health.
//
// Calls that need a language model or a callback (feedback, exports, webhooks, profiles, a project's instructions)
// answer 501 and name an alternative.
//
// Reads accept ?consistency=linearizable and ?min_index= as everywhere. Errors are {"detail", "error", "code"};
// detail and error are the same text.
package mem0
