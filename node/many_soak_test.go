//go:build soak

package node_test

import "testing"

// TestTenThousandDatabases runs manyDatabases with as many databases as a node should support.
func TestTenThousandDatabases(t *testing.T) { manyDatabases(t, 10_000, 5) }
