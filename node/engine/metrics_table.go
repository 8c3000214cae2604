package engine

import (
	"math"
	"strconv"
	"time"

	"github.com/cairndb/cairn/index/breaker"
	"github.com/cairndb/cairn/index/embed"
	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/engine/operate"
	"github.com/cairndb/cairn/node/memory"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/damage"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/raft"
)

var requestBuckets = []float64{0.0001, 0.0005, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}

const stageHelp = "Time of the steps of a write (commit: from proposal to applied; readable: until this node finds it) and of a recall (fresh: waiting for freshness; search)."

// MetricTable lists all that /metrics shows in addition to the Go runtime's metrics: dashboards and alerts are checked
// against it.
var MetricTable = []Metric{
	nodeMetric("cairn_applied_index", gaugeKind, "Log index this node has applied.",
		func(s *Service) float64 { return float64(s.commit.Applied()) }),
	nodeMetric("cairn_indexed_index", gaugeKind, "Log index up to which this node's search index is complete.",
		func(s *Service) float64 { return float64(s.commit.Indexed()) }),
	nodeMetric("cairn_commit_index", gaugeKind, "Log index known to be committed.",
		func(s *Service) float64 { return float64(s.raft.Status().CommitIndex) }),
	nodeMetric("cairn_apply_lag_entries", gaugeKind,
		"Entries acknowledged and not yet applied here; NaN while no leader is heard.", func(s *Service) float64 {
			if n := s.cluster.LagEntries(); n != nil {
				return float64(*n)
			}
			return math.NaN()
		}),
	nodeMetric("cairn_index_lag_entries", gaugeKind, "Entries applied and not yet in the search index.", func(s *Service) float64 {
		return float64(less(uint64(s.commit.Applied()), uint64(s.commit.Indexed())))
	}),
	nodeMetric("cairn_lag_seconds", gaugeKind,
		"Time for which this node has been behind what is acknowledged; NaN while no leader is heard.", func(s *Service) float64 {
			if lag := s.cluster.LagSeconds(); lag != nil {
				return *lag
			}
			return math.NaN()
		}),
	nodeMetric("cairn_clock_offset_seconds", gaugeKind, "How far this node's clock is from the median of the members' clocks.",
		func(s *Service) float64 { return s.raft.Clock().Offset.Seconds() }),
	nodeMetric("cairn_clock_off", gaugeKind,
		"1 when this node's clock is off by more than the limit: it uses the others' time and transfers leadership.",
		func(s *Service) float64 { return boolValue(s.raft.Clock().Off) }),
	nodeMetric("cairn_term", gaugeKind, "Current term.", func(s *Service) float64 { return float64(s.raft.Term()) }),
	nodeMetric("cairn_is_leader", gaugeKind, "1 when this node accepts writes.", func(s *Service) float64 { return boolValue(s.commit.Leads()) }),
	nodeMetric("cairn_has_leader", gaugeKind, "1 when this node knows of a leader.",
		func(s *Service) float64 { _, ok := s.commit.Leader(); return boolValue(ok) }),
	nodeMetric("cairn_state_agreement", gaugeKind,
		"1 when the members' state hashes were equal at the last comparison, 0 when they could not be compared, -1 when they differ.",
		func(s *Service) float64 { return float64(s.cluster.Agreed.Load()) }),
	nodeMetric("cairn_disputes_total", counterKind,
		"Requests and answers of other members that this node rejected, because they contradict what it has applied or are not messages of a member.",
		func(s *Service) float64 { return float64(s.raft.Disputed()) }),
	nodeMetric("cairn_state_damaged_total", counterKind, "Verifications of the state that found damage.",
		func(s *Service) float64 { return float64(s.cluster.DamageFound.Load()) }),
	storeMetric("cairn_damaged_blocks_total", counterKind,
		"Damaged blocks read from the state's tables; nothing is returned from them.",
		func(s state.StoreStats) float64 { return float64(s.Damaged) }),
	storeMetric("cairn_store_tables", gaugeKind, "Tables of the state.", func(s state.StoreStats) float64 { return float64(s.Tables) }),
	storeMetric("cairn_store_table_bytes", gaugeKind, "Bytes of the state's tables.",
		func(s state.StoreStats) float64 { return float64(s.TableBytes) }),
	storeMetric("cairn_store_unmerged_bytes", gaugeKind,
		"Bytes of tables above the lowest level: compaction has yet to merge at least these.",
		func(s state.StoreStats) float64 { return float64(s.Unmerged) }),
	storeMetric("cairn_store_read_amplification", gaugeKind, "Tables of the state that a read may have to look into.",
		func(s state.StoreStats) float64 { return float64(s.ReadAmplification) }),
	storeMetric("cairn_store_flushes_total", counterKind, "Flushes of the state's buffers into tables.",
		func(s state.StoreStats) float64 { return float64(s.Flushes) }),
	storeMetric("cairn_store_flushed_bytes_total", counterKind, "Bytes written by flushes of the state.",
		func(s state.StoreStats) float64 { return float64(s.FlushedBytes) }),
	storeMetric("cairn_store_merges_total", counterKind, "Merges of the state's tables.",
		func(s state.StoreStats) float64 { return float64(s.Merges) }),
	storeMetric("cairn_store_merged_bytes_total", counterKind, "Bytes written by merges of the state.",
		func(s state.StoreStats) float64 { return float64(s.MergedBytes) }),
	storeMetric("cairn_store_cache_hits_total", counterKind, "Blocks of the state that were in memory when they were read.",
		func(s state.StoreStats) float64 { return float64(s.CacheHits) }),
	storeMetric("cairn_store_cache_misses_total", counterKind, "Blocks of the state that had to be read from the disk.",
		func(s state.StoreStats) float64 { return float64(s.CacheMisses) }),
	storeMetric("cairn_store_stalls_total", counterKind, "Times that Apply waited because the disk was too slow.",
		func(s state.StoreStats) float64 { return float64(s.Stalls) }),
	storeMetric("cairn_store_stall_seconds_total", counterKind, "Time that Apply waited for the disk, in total.",
		func(s state.StoreStats) float64 { return s.StallTime.Seconds() }),
	storeMetric("cairn_store_failures_total", counterKind, "Flushes and merges of the state that failed and were tried again.",
		func(s state.StoreStats) float64 { return float64(s.Failures) }),
	nodeMetric("cairn_peer_frames_damaged_total", counterKind,
		"Frames from other members whose checksum did not match: they are rejected and sent again.",
		func(s *Service) float64 { return float64(s.raft.DamagedFrames()) }),
	nodeMetric("cairn_log_records_lost_total", counterKind,
		"Times that records which the log keeps for its readers were found damaged; afterwards it has only newer ones.",
		func(s *Service) float64 { return float64(s.raft.Damaged().Times(damage.Log)) }),
	nodeMetric("cairn_snapshots_damaged_total", counterKind,
		"Snapshots that were found damaged: each was moved aside, and another is made from the state.",
		func(s *Service) float64 { return float64(s.raft.Damaged().Times(damage.Snapshot)) }),
	nodeMetric("cairn_snapshots_refused_total", counterKind,
		"Snapshots of a leader that this node rejected, because their rows do not match the checksum of the leader.",
		func(s *Service) float64 { return float64(s.commit.RejectedSnapshots()) }),
	nodeMetric("cairn_index_damaged_total", counterKind,
		"Times that a file of the index was found damaged, when it was opened or verified: its content is read from the state again.",
		func(s *Service) float64 { return float64(s.index.Damaged().Times(damage.Index)) }),
	nodeMetric("cairn_set_aside", gaugeKind,
		"States, logs and snapshots in this node's home that it moved aside, because they were damaged or differed from what a majority of the voters holds.",
		func(s *Service) float64 { return float64(len(s.cfg.Home.Leftovers().SetAside)) }),
	nodeMetric("cairn_lost_records", gaugeKind, "Acknowledged records that this node's home keeps and the cluster lacks.",
		func(s *Service) (n float64) {
			for _, l := range s.cfg.Home.Leftovers().Lost {
				n += float64(l.Acknowledged)
			}
			return n
		}),
	nodeMetric("cairn_hold_purge", gaugeKind, "1 while this node's files may hold what was purged, until it has rewritten them.",
		func(s *Service) float64 { return boolValue(s.cfg.Home.Leftovers().HoldPurge) }),
	nodeMetric("cairn_old_keys", gaugeKind, "Parts of this node's home that it has yet to rewrite under its active data key.",
		func(s *Service) float64 { return float64(len(s.cfg.Home.Leftovers().OldKeys)) }),
	nodeMetric("cairn_write_queue", gaugeKind, "Entries waiting to be proposed.",
		func(s *Service) float64 { n, _ := s.commit.Queued(); return float64(n) }),
	nodeMetric("cairn_follow_queue", gaugeKind, "Batches applied and waiting for the index.",
		func(s *Service) float64 { _, n := s.commit.Queued(); return float64(n) }),
	{Name: "cairn_stage_busy_seconds_total",
		Help: "Time for which this node was at work in the steps of a write that take one batch at a time: log (writing and syncing records), apply, index. One that grows by nearly a second each second limits the writes.",
		Kind: counterKind, Labels: []string{"stage"}, read: func(m scrape, put func(float64, ...string)) {
			applying, indexing := m.s.commit.Busy()
			put(m.s.raft.LogBusy().Seconds(), "log")
			put(applying.Seconds(), "apply")
			put(indexing.Seconds(), "index")
		}},
	nodeMetric("cairn_subscribers", gaugeKind, "Readers of the feed of this node.",
		func(s *Service) float64 { return float64(s.commit.Subscribers()) }),
	nodeMetric("cairn_memory_limit_bytes", gaugeKind,
		"Memory that the process keeps within, if it can: GOMEMLIMIT, or four fifths of what the machine or its container has; 0 for no bound.",
		func(*Service) float64 { return float64(memory.Set()) }),
	nodeMetric("cairn_request_bytes", gaugeKind, "Bytes of large requests and answers that this node holds, of 96 MiB.",
		func(s *Service) float64 { return float64(s.cfg.Budget.Used()) }),
	nodeMetric("cairn_disk_free_bytes", gaugeKind, "Least room on the disks of this node's home.",
		func(s *Service) float64 { return float64(s.cfg.Disk.Free()) }),
	nodeMetric("cairn_disk_full", gaugeKind, "1 when this node rejects writes because its disk is full.",
		func(s *Service) float64 { return boolValue(s.cfg.Disk.Full()) }),
	backupMetric("cairn_backup_interval_seconds", gaugeKind, "How often this node makes a backup by itself.",
		func(p *operate.Planned) float64 { return p.Interval.Seconds() }),
	backupMetric("cairn_backup_covered_timestamp_seconds", gaugeKind,
		"When this node's backups last held all that was written; 0: never.",
		func(p *operate.Planned) float64 { return float64(p.Covered.Load()) }),
	backupMetric("cairn_backup_bytes", gaugeKind, "Size of the newest of its backups.",
		func(p *operate.Planned) float64 { return float64(p.Bytes.Load()) }),
	backupMetric("cairn_backup_failures_total", counterKind, "Backups that this node could not make.",
		func(p *operate.Planned) float64 { return float64(p.Failed.Load()) }),
	backupMetric("cairn_backup_verified_timestamp_seconds", gaugeKind,
		"When this node last restored its backups into a scratch state and found the hashes they name; 0: never.",
		func(p *operate.Planned) float64 { return float64(p.Verified.Load()) }),
	backupMetric("cairn_backup_verify_failures_total", counterKind, "Times that restoring these backups failed.",
		func(p *operate.Planned) float64 { return float64(p.Unverifiable.Load()) }),
	nodeMetric("cairn_slow_operations_total", counterKind, "Operations that took longer than [log] slow_ms.",
		func(s *Service) float64 { return float64(s.measured.slow.Load()) }),
	embedderMetric("cairn_embedder_up", gaugeKind, "1 when this node's embedder answered its last request.",
		func(e embed.State) float64 { return boolValue(!e.Down) }),
	embedderMetric("cairn_embedder_failures_total", counterKind, "Calls of the embedder that failed or took too long.",
		func(e embed.State) float64 { return float64(e.Failures) }),
	rerankerMetric("cairn_reranker_up", gaugeKind, "1 when this node's reranker answered its last request.",
		func(r breaker.State) float64 { return boolValue(!r.Down) }),
	rerankerMetric("cairn_reranker_failures_total", counterKind, "Calls of the reranker that failed or took too long.",
		func(r breaker.State) float64 { return float64(r.Failures) }),
	embedderMetric("cairn_embedder_questions_total", counterKind, "Questions that were to be embedded.",
		func(e embed.State) float64 { return float64(e.Asked) }),
	embedderMetric("cairn_embedder_questions_cached_total", counterKind, "Questions whose vector was in the cache.",
		func(e embed.State) float64 { return float64(e.Known) }),
	databaseMetric("cairn_memories_without_vector", gaugeKind, "Memories that wait for a vector of this node's embedder.",
		func(s *Service, _ *state.View, d oplog.Database) (float64, bool) {
			n, has := s.vectors.Waiting(d)
			return float64(n), has
		}),
	nodeMetric("cairn_failed_logins_total", counterKind, "Wrong tokens shown to the wire port and the gateway.",
		func(s *Service) float64 { return float64(s.access.FailedLogins()) }),
	nodeMetric("cairn_uptime_seconds", gaugeKind, "Time since the node started.",
		func(s *Service) float64 { return time.Since(s.cluster.Started).Seconds() }),
	{Name: "cairn_certificate_seconds",
		Help: "Time until this node's certificate ends, by who is shown it; negative when it has ended.", Kind: gaugeKind,
		Labels: []string{"shown_to"},
		read: func(m scrape, put func(float64, ...string)) {
			for to, cert := range m.s.cfg.Home.Certificates() {
				put(time.Until(cert.Leaf.NotAfter).Seconds(), to)
			}
		}},
	{Name: "cairn_build_info", Help: "1, with the version.", Kind: gaugeKind, Labels: []string{"version"},
		read: func(m scrape, put func(float64, ...string)) { put(1, m.s.cfg.Member.Version) }},
	{Name: "cairn_connections", Help: "Open connections of clients.", Kind: gaugeKind, Labels: []string{"surface"},
		read: func(m scrape, put func(float64, ...string)) {
			put(float64(m.wire.Open()), "wire")
			put(float64(m.Gateway.Connections()), "http")
		}},
	{Name: "cairn_event_streams", Help: "Open event streams of the gateway.", Kind: gaugeKind,
		read: func(m scrape, put func(float64, ...string)) { put(float64(m.Gateway.Streams())) }},
	{Name: "cairn_streams_dropped_total", Help: "Event streams ended because their clients did not keep up.",
		Kind: counterKind, Labels: []string{"surface"},
		read: func(m scrape, put func(float64, ...string)) { put(float64(m.s.measured.dropped.Load()), "string") }},
	{Name: "cairn_http_inflight", Help: "Requests of the gateway in progress.", Kind: gaugeKind,
		read: func(m scrape, put func(float64, ...string)) { put(float64(m.Gateway.Busy())) }},
	{Name: "cairn_http_responses_total", Help: "Answers of the gateway by status.", Kind: counterKind, Labels: []string{"status"}},
	{Name: "cairn_refusals_total", Help: "Requests that the gateway rejected, by kind.", Kind: counterKind, Labels: []string{"kind"}},
	{Name: stageSeconds, Help: stageHelp, Kind: histogramKind, Labels: []string{"stage"}},
	perMember("cairn_peer_log_index", "Log index that the peer is known to have; reported by the leader.",
		func(m raft.Member, _ *Service) float64 { return float64(m.LastLog) }),

	nodeMetric("yantrikdb_engines_loaded", gaugeKind, "Databases.", func(s *Service) float64 { return float64(s.cluster.Databases()) }),
	perNode("yantrikdb_cluster_term", "Current term.", func(s *Service) float64 { return float64(s.raft.Term()) }),
	perNode("yantrikdb_cluster_is_leader", "1 when this node accepts writes.",
		func(s *Service) float64 { return boolValue(s.commit.Leads()) }),
	perNode("yantrikdb_cluster_healthy", "1 when this node knows of a leader.",
		func(s *Service) float64 { _, ok := s.commit.Leader(); return boolValue(ok) }),
	{Name: "cairn_cluster_condition",
		Help: "1 for what the cluster is: healthy, degraded (it accepts writes and a member does not answer), or not healthy.",
		Kind: gaugeKind, Labels: []string{"condition"}, read: conditions},
	perMember("yantrikdb_cluster_peer_reachable", "1 when the peer answered lately; reported by the leader.",
		func(m raft.Member, s *Service) float64 {
			return boolValue(time.Since(m.LastSeen) < 2*s.cfg.Member.Election)
		}),
	perDatabase("yantrikdb_active_memories", gaugeKind, "Active memories.", func(st oplog.Stats) uint64 { return st.Active }),
	perDatabase("yantrikdb_consolidated_memories", gaugeKind, "Memories merged into others.",
		func(st oplog.Stats) uint64 { return st.Consolidated }),
	perDatabase("cairn_tombstoned_memories", gaugeKind, "Forgotten memories.", func(st oplog.Stats) uint64 { return st.Tombstoned }),
	perDatabase("cairn_quarantined_memories", gaugeKind, "Memories that wait in quarantine.",
		func(st oplog.Stats) uint64 { return st.Quarantined }),
	perDatabase("yantrikdb_edges", gaugeKind, "Relations.", func(st oplog.Stats) uint64 { return st.Edges }),
	perDatabase("cairn_entities", gaugeKind, "Entities.", func(st oplog.Stats) uint64 { return st.Entities }),
	perDatabase("yantrikdb_open_conflicts", gaugeKind, "Open conflicts.", func(st oplog.Stats) uint64 { return st.OpenConflicts }),
	perDatabase("cairn_pending_triggers", gaugeKind, "Triggers that no client has acknowledged, dismissed or acted on.",
		func(st oplog.Stats) uint64 { return st.PendingTriggers }),
	perDatabase("yantrikdb_operations_total", counterKind, "Operations applied.", func(st oplog.Stats) uint64 { return st.Operations }),
	{Name: "yantrikdb_requests_total", Help: "Requests answered.", Kind: counterKind, Labels: []string{"handler"}},
	{Name: "yantrikdb_handler_duration_seconds", Help: "Time to answer a request.", Kind: histogramKind,
		Labels: []string{"handler"}, buckets: requestBuckets},
}

// less returns a - b, or 0 if b is greater.
func less(a, b uint64) uint64 { return a - min(a, b) }

// metricsOf returns a constructor of metrics of a part of the node. A node without the part does not show them.
func metricsOf[T any](part func(*Service) (x T, has bool)) func(name, kind, help string, value func(T) float64) Metric {
	return func(name, kind, help string, value func(T) float64) Metric {
		return Metric{Name: name, Help: help, Kind: kind, read: func(m scrape, put func(float64, ...string)) {
			if x, has := part(m.s); has {
				put(value(x))
			}
		}}
	}
}

var (
	nodeMetric     = metricsOf(func(s *Service) (*Service, bool) { return s, true })
	storeMetric    = metricsOf(func(s *Service) (state.StoreStats, bool) { return s.state.StoreStats(), true })
	backupMetric   = metricsOf(func(s *Service) (*operate.Planned, bool) { p := s.backups.Planned(); return p, p != nil })
	embedderMetric = metricsOf(func(s *Service) (embed.State, bool) { return s.vectors.State() })
	rerankerMetric = metricsOf(func(s *Service) (is breaker.State, has bool) {
		if r := s.cfg.Reranker; r != nil {
			return r.State(), true
		}
		return is, false
	})
)

// perNode returns a metric of this node, labelled with its id.
func perNode(name, help string, value func(*Service) float64) Metric {
	return Metric{Name: name, Help: help, Kind: gaugeKind, Labels: []string{"node_id"}, read: func(m scrape, put func(float64, ...string)) {
		put(value(m.s), strconv.FormatUint(uint64(m.s.cfg.Member.NodeID), 10))
	}}
}

// perMember returns a metric with a value for each other member. Only the leader shows it.
func perMember(name, help string, value func(raft.Member, *Service) float64) Metric {
	return Metric{Name: name, Help: help, Kind: gaugeKind, Labels: []string{"addr", "role"},
		read: func(m scrape, put func(float64, ...string)) {
			if !m.s.commit.Leads() {
				return
			}
			for _, x := range m.s.raft.Status().Members {
				if x.ID == m.s.cfg.Member.NodeID {
					continue
				}
				put(value(x, m.s), x.Addr, operate.RoleOf(x.Voter))
			}
		}}
}

// perDatabase returns a metric with a counter for each database that the caller may use.
func perDatabase(name, kind, help string, value func(oplog.Stats) uint64) Metric {
	return databaseMetric(name, kind, help, func(_ *Service, v *state.View, d oplog.Database) (float64, bool) {
		return float64(value(v.Stats(d.ID))), true
	})
}

// databaseMetric returns a metric with a value for each database that has one and that the caller may use. For a caller
// without a token, its value is their sum.
func databaseMetric(name, kind, help string, value func(*Service, *state.View, oplog.Database) (n float64, has bool)) Metric {
	return Metric{Name: name, Help: help, Kind: kind, Labels: []string{"db"}, read: func(m scrape, put func(float64, ...string)) {
		_ = m.s.state.Inspect(func(v *state.View) { // a closing state has nothing to count
			if m.caller != nil {
				for _, d := range access.Visible(*m.caller, v) {
					if n, has := value(m.s, v, d); has {
						put(n, d.Name)
					}
				}
				return
			}
			sum, some := 0.0, false
			for _, d := range v.Databases() {
				if n, has := value(m.s, v, d); has {
					sum, some = sum+n, true
				}
			}
			if some {
				put(sum, anyDatabase)
			}
		})
	}}
}
