//go:build soak

package main

import "time"

// With the build tag soak every bomb goes off by itself, with all clients: go test -tags soak -run TestBombs -v ./cmd/cairn
const (
	bombsApart   = true
	bombShare    = 100
	bombTime     = 2 * time.Second
	bombPatience = time.Second
	bombMemory   = 640 << 20
)
