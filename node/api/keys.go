package api

// Keys reports each member's data keys, and the certificates of its ports.
var Keys = row[KeysRequest, KeysAnswer](Op{Name: "cluster_keys", Node: true, Scope: Admin, Asked: true, HTTP: "GET /v1/cluster/keys",
	Does: "Encryption and TLS of every member: whether its home is encrypted, the ids and ages of its data keys, what a key rotation has left to do, its certificates and when they end, and which ports use TLS. No key is returned."})

type KeysRequest struct {
	Here bool `json:"node" doc:"Report only the node that receives the request, not the others."`
}

type KeysAnswer struct {
	Nodes []NodeKeys `json:"nodes" doc:"The nodes, by number."`
}

// NodeKeys holds the keys and certificates of one member.
type NodeKeys struct {
	NodeID       uint32        `json:"node_id" doc:"The node's number."`
	Error        string        `json:"error,omitempty" doc:"Why the node did not answer."`
	Encrypted    bool          `json:"encrypted" doc:"Whether its home is encrypted."`
	Keys         []DataKey     `json:"keys" doc:"The data keys of its home, oldest first."`
	Rewriting    []string      `json:"rewriting" doc:"Parts of its home that are still under a replaced data key: the node rewrites them under the active one, then drops the replaced one."`
	Certificates []Certificate `json:"certificates" doc:"The certificates that it presents."`
	Ports        []Port        `json:"ports" doc:"The ports that it listens on for clients and members, without those of same-host dialects."`
}

// A DataKey describes a data key by its id. No answer has the key itself.
type DataKey struct {
	ID      string  `json:"id" doc:"Its id."`
	Master  string  `json:"master" doc:"Id of the master key that wraps it."`
	Active  bool    `json:"active" doc:"Whether new writes are encrypted with it."`
	Created float64 `json:"created_at" is:"time" doc:"When it was made, in Unix seconds."`
}

// A Certificate describes a certificate that a node presents on its ports.
type Certificate struct {
	To      string   `json:"shown_to" is:"string{clients,peers}" doc:"clients: on the wire port and the gateway; peers: on the port for members."`
	Subject string   `json:"subject" doc:"Its subject."`
	Issuer  string   `json:"issuer" doc:"The authority that signed it."`
	Names   []string `json:"names" doc:"The host names and addresses that it is valid for."`
	From    float64  `json:"not_before" is:"time" doc:"When it begins to be valid, in Unix seconds."`
	Until   float64  `json:"not_after" is:"time" doc:"When it ends, in Unix seconds."`
	State   string   `json:"state" is:"string{valid,ends_soon,ended,not_yet}" doc:"ends_soon: within 14 days."`
	Fault   string   `json:"fault,omitempty" doc:"Why the node uses this certificate and not the files as they are now. It does not start with these files."`
}

// A Port describes a port that the node listens on.
type Port struct {
	Name     string `json:"name" is:"string{wire,http,peers}" doc:"The protocol."`
	Addr     string `json:"addr" doc:"Its address."`
	TLS      bool   `json:"tls" doc:"Whether it uses TLS."`
	Loopback bool   `json:"loopback" doc:"Whether only this machine reaches it."`
}
