package serve

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// undumpable denies everyone but root access to this process's memory and environment in /proc and by debuggers. It
// also disables core dumps.
func undumpable() error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_DUMPABLE, 0, 0); errno != 0 {
		return fmt.Errorf("prctl: %w", errno)
	}
	return nil
}

// envStart is the index, after the process name, of the environment's address in /proc/PID/stat; see proc(5), field
// 50.
const envStart = 50 - 3

// wipeEnviron overwrites the values of variables in the process's initial environment, which /proc/PID/environ shows
// as long as the process lives. os.Getenv still returns them, because Go uses its own copy.
func wipeEnviron(names []string) error {
	env, err := os.ReadFile("/proc/self/environ")
	if err != nil || len(env) == 0 {
		return err
	}
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) <= envStart {
		return errors.New("/proc/self/stat does not say where the environment is")
	}
	start, err := strconv.ParseInt(fields[envStart], 10, 64)
	if err != nil {
		return fmt.Errorf("/proc/self/stat: %w", err)
	}
	mem, err := os.OpenFile("/proc/self/mem", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer mem.Close()
	at := int64(0)
	for v := range bytes.SplitSeq(env, []byte{0}) {
		for _, name := range names {
			value, is := bytes.CutPrefix(v, []byte(name+"="))
			if name == "" || !is || len(value) == 0 {
				continue
			}
			if _, err := mem.WriteAt(make([]byte, len(value)), start+at+int64(len(name))+1); err != nil {
				return err
			}
		}
		at += int64(len(v)) + 1
	}
	return nil
}
