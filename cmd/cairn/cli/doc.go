// Package cli holds what every verb of cairn shares: its streams, the node that it talks to (flags, environment, the
// node's home), and errors that become exit codes and hints. It opens no node and knows no verb.
package cli
