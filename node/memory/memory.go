// Package memory bounds the memory of a process by what its machine or its container has: the runtime collects garbage
// sooner when the heap comes near the bound. The bound is soft, so the process is not ended by it. GOMEMLIMIT overrides
// it.
package memory

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
)

// share is the part of the machine's or container's memory that the process may take: the system and the page cache
// need the rest.
const share = .8

// Limit sets the bound, unless the operator's GOMEMLIMIT has, and returns it in bytes; 0 where none is known.
func Limit() int64 {
	if os.Getenv("GOMEMLIMIT") == "" {
		if most := available("/"); most > 0 {
			debug.SetMemoryLimit(int64(float64(most) * share))
		}
	}
	return Set()
}

// Set is the bound that holds; 0 for none.
func Set() int64 {
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return limit
	}
	return 0
}

// available returns the memory of the machine, or of the control group of this process if that is less; 0 when neither
// is known. root is the folder that holds the system's proc and sys.
func available(root string) int64 {
	most := machine(filepath.Join(root, "proc/meminfo"))
	for _, limit := range groups(root) {
		if most == 0 || limit < most {
			most = limit
		}
	}
	return most
}

// machine reads MemTotal.
func machine(meminfo string) int64 {
	for line := range strings.Lines(text(meminfo)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == "MemTotal:" {
			kib, _ := strconv.ParseInt(f[1], 10, 64) // none where it is not a number
			return kib << 10
		}
	}
	return 0
}

// groups are the bounds of the process's control groups and of those above them, of either version.
func groups(root string) (all []int64) {
	for line := range strings.Lines(text(filepath.Join(root, "proc/self/cgroup"))) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		dir, file := filepath.Join(root, "sys/fs/cgroup"), "memory.max"
		if parts[1] == "memory" {
			dir, file = filepath.Join(dir, "memory"), "memory.limit_in_bytes"
		} else if parts[0] != "0" {
			continue
		}
		for at := filepath.Clean("/" + parts[2]); ; at = filepath.Dir(at) {
			limit, err := strconv.ParseInt(strings.TrimSpace(text(filepath.Join(dir, at, file))), 10, 64)
			if err == nil && limit > 0 { // "max" is none
				all = append(all, limit)
			}
			if at == "/" {
				break
			}
		}
	}
	return all
}

func text(path string) string {
	b, _ := os.ReadFile(path) // a system without the file tells nothing
	return string(b)
}
