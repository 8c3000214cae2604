package recovery

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// AsideName is where something damaged is moved to. What was moved there before stays.
func AsideName(path string) string {
	for at := time.Now().Unix(); ; at++ {
		aside := fmt.Sprintf("%s.corrupt-%d", path, at)
		if _, err := os.Lstat(aside); err != nil {
			return aside
		}
	}
}

// SetAside renames a log; there may be none.
func SetAside(from, to string) error {
	if err := os.Rename(from, to); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
