package disk

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestAReserveThatCannotBeMade: if the reserve file cannot be created, for example because of a quota, that is
// retried and logged once a minute, not at each measurement of space.
func TestAReserveThatCannotBeMade(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		home, said := t.TempDir(), bytes.Buffer{}
		inTheWay := filepath.Join(home, reserveFile+".new")
		if err := os.MkdirAll(filepath.Join(inTheWay, "a folder"), 0o700); err != nil {
			t.Fatal(err)
		}
		s, err := Open(home, 0, slog.New(slog.NewTextHandler(&said, nil)))
		if err != nil {
			t.Fatal(err)
		}
		for range 400 {
			s.KeepReserve()
			time.Sleep(CheckEvery)
		}
		if n := strings.Count(said.String(), "no disk space is reserved"); n != 2 {
			t.Errorf("in 100 seconds it is logged %d times", n)
		}
		if err := os.RemoveAll(inTheWay); err != nil {
			t.Fatal(err)
		}
		time.Sleep(reserveAgain)
		s.KeepReserve()
		if info, err := os.Stat(filepath.Join(home, reserveFile)); err != nil || info.Size() != reserveBytes {
			t.Errorf("it is not made when it can be: %v", err)
		}
	})
}
