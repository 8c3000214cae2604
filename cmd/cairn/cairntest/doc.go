// Package cairntest starts nodes and commands as real processes, for the tests of cmd/cairn and the packages below
// it. It manages their ports, homes and logs, and ends every process. Only tests import it.
package cairntest
