package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

// backups says whether the backups that the running node makes by itself go on, and restore.
func (e *examination) backups(ctx context.Context) []Finding {
	if e.running == nil {
		return nil
	}
	base, err := e.t.URL(ctx)
	if err != nil {
		return nil // the check of the node says why
	}
	m, err := e.t.Metrics(ctx, base)
	if err != nil {
		return []Finding{{"", Warn, "not checked: " + err.Error(), ""}}
	}
	return backupsOf(m, time.Now())
}

// lateBackups is the number of intervals after which backups count as old, as in the alert CairnBackupOld.
const lateBackups = 3

// backupsOf reads the metrics of planned backups, which a node without a plan does not have.
func backupsOf(m cli.Metrics, now time.Time) []Finding {
	every, planned := m["cairn_backup_interval_seconds"]
	if !planned {
		return nil
	}
	const do = "the node's log says why; see deploy/runbooks/backups.md"
	at := func(name string) string { return time.Unix(int64(m[name]), 0).UTC().Format(time.DateTime) + " UTC" }
	covered, failed := m["cairn_backup_covered_timestamp_seconds"], m["cairn_backup_failures_total"]
	switch late := float64(now.Unix())-covered > lateBackups*every; {
	case covered == 0 && failed == 0:
		return []Finding{{"", OK, "none yet: the node makes the first one", ""}}
	case covered == 0:
		return []Finding{{"", Fail, fmt.Sprintf("the node could make no backup, %.0f attempts failed", failed), do}}
	case late:
		return []Finding{{"", Fail, "the backups end at " + at("cairn_backup_covered_timestamp_seconds"), do}}
	case m["cairn_backup_verified_timestamp_seconds"] == 0 && m["cairn_backup_verify_failures_total"] > 0:
		return []Finding{{"", Fail, "the backups could not be restored into a scratch state", do}}
	}
	return []Finding{{"", OK, "all that was written until " + at("cairn_backup_covered_timestamp_seconds"), ""}}
}
