package doctor

import (
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

// TestBackupsThatDoNotGoOnAreFound: a plan whose backups fail, are too old or do not restore is reported.
func TestBackupsThatDoNotGoOnAreFound(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	metrics := func(covered, failures, verified, unverifiable float64) cli.Metrics {
		return cli.Metrics{"cairn_backup_interval_seconds": 60, "cairn_backup_covered_timestamp_seconds": covered,
			"cairn_backup_failures_total": failures, "cairn_backup_verified_timestamp_seconds": verified,
			"cairn_backup_verify_failures_total": unverifiable}
	}
	if fs := backupsOf(cli.Metrics{}, now); fs != nil {
		t.Errorf("of a node without a plan: %+v", fs)
	}
	for want, m := range map[string]cli.Metrics{
		"ok: none yet":                         metrics(0, 0, 0, 0),
		"fail: the node could make no backup":  metrics(0, 2, 0, 0),
		"fail: the backups end at 1970-01-12":  metrics(999_800, 3, 999_800, 0),
		"fail: the backups could not be":       metrics(999_990, 0, 0, 1),
		"ok: all that was written until 1970-": metrics(999_990, 1, 999_990, 0),
	} {
		if got := says(backupsOf(m, now)); !strings.HasPrefix(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
