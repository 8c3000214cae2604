package store

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
)

const (
	buffer = 16 << 20 // default of Options.Buffer

	// buffers bounds how many of them there are while the disk is slower than the writer, who waits then.
	buffers = 4

	// cacheSize is of blocks that were read and found whole. The file cache of the machine is behind it.
	cacheSize = 32 << 20

	openFiles = 512
)

func (s *Store) options(o Options) *pebble.Options {
	if o.Buffer == 0 {
		o.Buffer = buffer
	}
	p := &pebble.Options{
		FS:                          s.disk.files(),
		DisableWAL:                  true,
		FormatMajorVersion:          pebble.FormatNewest,
		CacheSize:                   cacheSize,
		MaxOpenFiles:                openFiles,
		MemTableSize:                uint64(o.Buffer),
		MemTableStopWritesThreshold: buffers,
		L0CompactionThreshold:       4,
		L0StopWritesThreshold:       64, // a merge that is late costs reads; a writer that waits for it costs everybody
		CompactionConcurrencyRange:  func() (int, int) { return 1, 1 },
		Logger:                      (*logger)(s),
		EventListener: &pebble.EventListener{
			BackgroundError: s.background,
			DataCorruption:  func(i pebble.DataCorruptionInfo) { s.notice(fmt.Errorf("%s: %w", i.Path, i.Details)) },
		},
	}
	for i := range p.Levels {
		p.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	p.EnsureDefaults()
	return p
}

// background is told of what a flush or a merge met; pebble tries again. It holds pebble's locks.
func (s *Store) background(err error) {
	if pebble.IsCorruptionError(err) {
		s.notice(err)
	}
}

// fatalError is what pebble says of the error that it gives up with.
type fatalError struct {
	text string
	args []any
}

func (e fatalError) Error() string { return e.text }

// Unwrap gives what was met below.
func (e fatalError) Unwrap() (errs []error) {
	for _, a := range e.args {
		if err, ok := a.(error); ok {
			errs = append(errs, err)
		}
	}
	return errs
}

// logger takes what pebble says: what matters reaches the owner as an error.
type logger Store

// Infof implements pebble.Logger.
func (*logger) Infof(string, ...any) {}

// Errorf implements pebble.Logger.
func (*logger) Errorf(string, ...any) {}

// A fatal is a list of tables that could not be written, in a store that is not being used yet.
type fatal struct{ err error }

// Fatalf implements pebble.Logger. It is called when the list of tables (the manifest) could not be written. In a store that serves, the disk below lets that
// happen only once it is closed, and refuses all else from then on (disk.go): pebble unwinds when this returns. While a store is opened or filled, this does not return.
func (l *logger) Fatalf(format string, args ...any) {
	err := fatalError{fmt.Sprintf(format, args...), args}
	if !l.disk.serves() {
		panic(fatal{err})
	}
	l.disk.fail(err)
}
