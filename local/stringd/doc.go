// Package stringd serves the stringd protocol, version 0.1, to agents on the same host.
package stringd
