package store

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
)

const (
	defaultBuffer = 8 << 20 // default of Options.Buffer

	// buffers bounds the buffers that are being flushed. The writer waits if the disk is slower.
	buffers = 2

	// cacheSize is the size of the cache of verified blocks. The kernel's page cache is below it.
	cacheSize = 64 << 20

	// scanCache is the cache of a store that is read once, from its first row to its last.
	scanCache = 8 << 20

	// listSize bounds the list of tables, and with it what a checkpoint copies: a longer one is written again without
	// the tables that are gone.
	listSize = 256 << 10

	// l0MergeThreshold is the number of overlapping tables in level 0 at which they are merged into the levels below.
	// Most rows' keys are in no order, so each merge writes all tables below again: fewer merges cost writers less,
	// and a reader checks one filter more for each table.
	l0MergeThreshold = 8

	// indexBlock is so large that a table has one: every look into a table goes through it, and it stays in the
	// cache.
	indexBlock = 256 << 10

	openFiles = 512

	// noLimit disables the limits at which pebble makes writers wait: the store does that itself (awaitBuffer).
	noLimit = 1 << 20
)

func (s *Store) options(o Options) *pebble.Options {
	if o.Buffer == 0 {
		o.Buffer = defaultBuffer
	}
	s.buffer, s.counters.tables = o.Buffer, map[uint64]tableInfo{}
	p := &pebble.Options{
		FS:                          s.disk.files(),
		DisableWAL:                  true,
		FormatMajorVersion:          pebble.FormatNewest,
		CacheSize:                   cacheSize,
		MaxOpenFiles:                openFiles,
		MaxManifestFileSize:         listSize,
		MemTableSize:                2 * uint64(o.Buffer), // rows take more room in one than in a batch
		MemTableStopWritesThreshold: noLimit,
		L0CompactionThreshold:       l0MergeThreshold,
		L0StopWritesThreshold:       noLimit, // a late merge slows reads; a writer that waits for it blocks every client
		CompactionConcurrencyRange:  func() (int, int) { return 1, 1 },
		Logger:                      (*logger)(s),
		EventListener: &pebble.EventListener{
			BackgroundError: s.backgroundError,
			FlushEnd:        s.counters.flush,
			CompactionEnd:   s.counters.merge,
			DataCorruption: func(i pebble.DataCorruptionInfo) {
				s.counters.damage(i.Path)
				s.reportDamage(fmt.Errorf("%s: %w", i.Path, i.Details))
			},
		},
	}
	if o.ReadOnly {
		p.ReadOnly, p.CacheSize, p.MemTableSize = true, scanCache, scanCache
	}
	for i := range p.Levels {
		p.Levels[i].FilterPolicy, p.Levels[i].IndexBlockSize = bloom.FilterPolicy(10), indexBlock
	}
	// Pebble's default asks ten times a second whether more merges may run by now, and leaks the goroutine that does
	// when Open fails. How many may run never changes here.
	p.Experimental.CompactionScheduler = pebble.NewConcurrencyLimitSchedulerWithNoPeriodicGrantingForTest()
	p.EnsureDefaults()
	return p
}

// backgroundError gets the errors of flushes and merges, which pebble tries again. Pebble holds its locks meanwhile.
func (s *Store) backgroundError(err error) {
	s.counters.failure()
	if pebble.IsCorruptionError(err) {
		s.reportDamage(err)
	}
}

// fatalError is the error with which pebble would end the process.
type fatalError struct {
	text string
	args []any
}

func (e fatalError) Error() string { return e.text }

// Unwrap returns the errors of the file system.
func (e fatalError) Unwrap() (errs []error) {
	for _, a := range e.args {
		if err, ok := a.(error); ok {
			errs = append(errs, err)
		}
	}
	return errs
}

// logger drops pebble's messages: errors reach the owner otherwise.
type logger Store

// Infof implements pebble.Logger.
func (*logger) Infof(string, ...any) {}

// Errorf implements pebble.Logger.
func (*logger) Errorf(string, ...any) {}

// Fatalf implements pebble.Logger. It is called when the list of tables (the manifest) could not be written; pebble
// unwinds when this returns, and the disk rejects what it would change from then on (disk.go).
func (l *logger) Fatalf(format string, args ...any) {
	l.disk.fail(fatalError{fmt.Sprintf(format, args...), args})
	l.disk.stop()
}
