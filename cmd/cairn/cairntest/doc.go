// Package cairntest starts nodes and commands as the processes that users run, for the tests of cmd/cairn and of the
// packages below it. Ports, homes, logs and the end of every process are its business. Nothing that ships imports it.
package cairntest
