package state

import (
	"path/filepath"
	"testing"
)

// BenchmarkDatabase measures the lookup of a database in each write, in the cache and through a view.
func BenchmarkDatabase(b *testing.B) {
	s := mustOpen(b, filepath.Join(b.TempDir(), "state"))
	defer s.Close()
	mustApply(b, s, markedHistory()...)
	b.Run("known", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = s.Current(1)
		}
	})
	b.Run("view", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = s.Read(func(v *View) error {
				_, _ = v.Database(1)
				_ = v.Stats(1)
				return nil
			})
		}
	})
}
