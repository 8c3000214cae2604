//go:build soak

package node_test

import "testing"

// TestTenThousandDatabases is TestManyDatabases with as many as a node should bear.
func TestTenThousandDatabases(t *testing.T) { manyDatabases(t, 10_000, 5) }
