package api

// Ops is the table: every operation of every surface.
var Ops = []*Op{
	Remember.Op, RememberBatch.Op, Recall.Op, RecallAsOf.Op, Forget.Op, Correct.Op, Get.Op, Revisions.Op, Current.Op,
	Memories.Op, Records.Op, Stats.Op,
	Stale.Op, Upcoming.Op, Chronology.Op, Profile.Op,
	StartSession.Op, EndSession.Op, SessionHistory.Op, Sessions.Op, DraftSummary.Op,
	Timeline.Op, Entities.Op, Compare.Op, Around.Op, Status.Op, Message.Op,
	Think.Op, Reflect.Op, Conflicts.Op, Resolve.Op, Triggers.Op, TriggerHistory.Op, DeliverTriggers.Op, MoveTrigger.Op, Personality.Op, Patterns.Op, Feedback.Op,
	CreateDatabase.Op, Databases.Op, DropDatabase.Op, Quota.Op, SetQuota.Op, Settings.Op, SetSettings.Op, Purge.Op,
	Me.Op, CreateToken.Op, Tokens.Op, RevokeToken.Op, LimitToken.Op, Audits.Op, Log.Op,
	Cluster.Op, Topology.Op, Raft.Op, ChangeMembers.Op, ControlSnapshot.Op,
	MakeBackup.Op, FetchBackup.Op, DropBackup.Op, Export.Op, Import.Op,
	Events.Op, Gaps.Op, Digest.Op, RunMaintenance.Op, MaintenanceStatus.Op,
	Alive.Op, DeepHealth.Op, Ready.Op, PackContext.Op, Embedding.Op, Reembed.Op,
	Relate.Op, Edges.Op, Graph.Op, Unrelate.Op, Claim.Op, Claims.Op, Alias.Op,

	View.Op, Search.Op, Place.Op, Capture.Op, ForgetMany.Op, PurgeStep.Op, KeepIntent.Op, KeepIdentity.Op, Grant.Op, Revoke.Op, PurgeGrants.Op,
	RunProgram.Op, UseFiles.Op, StopNode.Op, LoseStream.Op,
}
