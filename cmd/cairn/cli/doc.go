// Package cli is shared by all verbs of cairn. It contains the streams, the target node (from flags, environment or
// the node's home), tables and JSON output, and errors with exit codes and hints. It opens no node and knows no verb.
package cli
