// Package memory sets a soft bound for the memory of a process, from the memory of its machine or container. Near the
// bound the runtime collects garbage more often; exceeding it does not end the process. GOMEMLIMIT overrides the bound.
package memory

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
)

// share is the part of the machine's or container's memory that the process may use. The system and the page cache need
// the rest.
const share = .8

// Limit sets the bound, unless GOMEMLIMIT sets it, and returns it in bytes; 0 if unknown.
func Limit() int64 {
	if os.Getenv("GOMEMLIMIT") == "" {
		if most := available("/"); most > 0 {
			debug.SetMemoryLimit(int64(float64(most) * share))
		}
	}
	return Set()
}

// Set returns the bound that is in force; 0 for none.
func Set() int64 {
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return limit
	}
	return 0
}

// available returns the memory of the machine or of this process's control group, whichever is less; 0 if neither is
// known. root is the directory with the system's proc and sys.
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
			kib, _ := strconv.ParseInt(f[1], 10, 64) // 0 if it is not a number
			return kib << 10
		}
	}
	return 0
}

// groups returns the bounds of the process's control groups and of their parents, of both versions.
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
			if err == nil && limit > 0 { // "max" means no bound
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
	b, _ := os.ReadFile(path) // empty on a system without the file
	return string(b)
}
