package api

// A Subject groups operations under a heading of the reference.
type Subject struct {
	Name  string
	About string
	Ops   []*Op
}

// Subjects is the table: every operation of every surface, by subject.
var Subjects = []Subject{
	{"memories", "Storing, recalling, correcting, curating and forgetting.",
		[]*Op{Remember.Op, RememberBatch.Op, Recall.Op, RecallAsOf.Op, Prompt.Op, PackContext.Op, Forget.Op,
			ForgetMatching.Op, Erase.Op, Erased.Op, Correct.Op, Merge.Op, Split.Op, Move.Op, Undo.Op, Get.Op, Revisions.Op,
			Current.Op, Quarantine.Op, Release.Op}},
	{"keys", "Memories under keys, with conditions: one memory for several writers without lost writes.",
		[]*Op{Put.Op, GetKey.Op, Rename.Op, Delete.Op, ListKeys.Op, Batch.Op}},
	{"lists", "Memories page by page, and how many there are.",
		[]*Op{Memories.Op, Records.Op, Namespaces.Op, IDs.Op, Count.Op, Values.Op, Stats.Op}},
	{"time", "Memories by when they were created, are due or were last accessed; what is known of an entity.",
		[]*Op{Stale.Op, Upcoming.Op, Chronology.Op, Profile.Op, Timeline.Op, Entities.Op, Around.Op}},
	{"sessions", "Sessions: stretches of a client's work.",
		[]*Op{StartSession.Op, EndSession.Op, SessionHistory.Op, Sessions.Op, DraftSummary.Op}},
	{"work", "What agents keep of their work: the last turns of a conversation, tasks, and skills with their outcomes.",
		[]*Op{RecordTurn.Op, RecentTurns.Op, ClearTurns.Op, AddTask.Op, Tasks.Op, GetTask.Op, ChangeTask.Op, DropTask.Op,
			SearchSkills.Op, DefineSkill.Op, NoteOutcome.Op}},
	{"graph", "Relations, claims and names of entities.",
		[]*Op{Relate.Op, Edges.Op, Graph.Op, OneEdge.Op, Unrelate.Op, Claim.Op, Claims.Op, Alias.Op}},
	{"mind", "What cognition finds: contradictions, triggers, traits and patterns.",
		[]*Op{Think.Op, Reflect.Op, Conflicts.Op, Resolve.Op, Triggers.Op, TriggerHistory.Op, DeliverTriggers.Op,
			MoveTrigger.Op, PruneTriggers.Op, Categories.Op, CategoryMembers.Op, Personality.Op, Patterns.Op, Feedback.Op,
			Gaps.Op, Digest.Op}},
	{"events", "Changes, as they happen.", []*Op{Events.Op, Message.Op}},
	{"databases", "Databases, their quotas, settings and embedders, and erasing from them.",
		[]*Op{CreateDatabase.Op, Databases.Op, DropDatabase.Op, Quota.Op, SetQuota.Op, Settings.Op, SetSettings.Op, Purge.Op,
			Embedding.Op, Reembed.Op, RunMaintenance.Op, MaintenanceStatus.Op}},
	{"tokens", "Tokens, and what each may do.",
		[]*Op{Me.Op, CreateToken.Op, Tokens.Op, RevokeToken.Op, LimitToken.Op, GiveConsent.Op, RenewConsent.Op, EndConsent.Op}},
	{"transfer", "Backups, exports and imports.", []*Op{MakeBackup.Op, FetchBackup.Op, DropBackup.Op, Export.Op, Import.Op}},
	{"cluster", "The members, the log, and who changed what.",
		[]*Op{Status.Op, Cluster.Op, Up.Op, Topology.Op, Raft.Op, Past.Op, Keys.Op, ChangeMembers.Op, ControlSnapshot.Op,
			Compare.Op, Audits.Op, Log.Op}},
	{"health", "The health of a node. Needs no token.", []*Op{Alive.Op, DeepHealth.Op, Ready.Op}},
	{"host", "Further operations, for the dialects of this host.",
		[]*Op{Await.Op, EdgesOf.Op, Numbered.Op, Neighbours.Op, Workspace.Op, KnownEvents.Op, Captures.Op, Alike.Op,
			Owned.Op, Receipts.Op, Grants.Op, Identified.Op, Census.Op,
			Recent.Op, LookUp.Op, Tiers.Op, Search.Op, Place.Op, Capture.Op, ForgetMany.Op, SweepNow.Op, PurgeStep.Op,
			KeepIntent.Op, KeepIdentity.Op, Grant.Op, Revoke.Op, PurgeGrants.Op,
			RunProgram.Op, UseFiles.Op, RunGit.Op, AskHosts.Op, StopNode.Op, LoseStream.Op}},
}

// Ops lists all operations.
var Ops = func() (all []*Op) {
	for _, s := range Subjects {
		all = append(all, s.Ops...)
	}
	return all
}()
