package memory

import (
	"os"
	"path/filepath"
	"testing"
)

// TestAvailable: the available memory is the minimum of the machine's memory and the limits of the process's control
// group and its ancestors.
func TestAvailable(t *testing.T) {
	t.Parallel()
	const machineHas = "MemTotal:        8388608 kB\nMemFree: 1 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing is told": {nil, 0},
		"a machine":       {map[string]string{"proc/meminfo": machineHas}, 8 << 30},
		"a container": {map[string]string{"proc/meminfo": machineHas, "proc/self/cgroup": "0::/\n",
			"sys/fs/cgroup/memory.max": "536870912\n"}, 512 << 20},
		"no bound": {map[string]string{"proc/meminfo": machineHas, "proc/self/cgroup": "0::/a\n",
			"sys/fs/cgroup/a/memory.max": "max\n"}, 8 << 30},
		"a group above": {map[string]string{"proc/meminfo": machineHas, "proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/memory.max": "1048576\n", "sys/fs/cgroup/a/b/memory.max": "max\n"}, 1 << 20},
		"the old version": {map[string]string{"proc/meminfo": machineHas, "proc/self/cgroup": "5:cpu:/x\n4:memory:/x\n",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "2097152\n"}, 2 << 20},
		"more than all is": {map[string]string{"proc/meminfo": machineHas, "proc/self/cgroup": "4:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 8 << 30},
	} {
		root := t.TempDir()
		for path, said := range c.files {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, path), []byte(said), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := available(root); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
