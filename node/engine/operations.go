package engine

import (
	"context"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/engine/embedding"
	"github.com/cairndb/cairn/node/engine/operate"
	"github.com/cairndb/cairn/node/engine/thinking"
)

// vectors returns the part of the service that makes embeddings.
func vectors(s *Service) *embedding.Vectors { return s.vectors }

// thinker returns the part of the service for cognition.
func thinker(s *Service) *thinking.Thinker { return s.thinker }

// admin returns the part of the service for administration.
func admin(s *Service) *operate.Admin { return s.admin }

// operations are the functions behind the table's rows.
var operations = operationTable([]function{
	on(api.Remember, (*Service).rememberOne),
	on(api.RememberBatch, (*Service).rememberBatch),
	on(api.Recall, (*Service).recall),
	on(api.RecallAsOf, (*Service).recallAsOf),
	on(api.Forget, (*Service).forget),
	on(api.Correct, (*Service).correct),
	on(api.Merge, (*Service).merge),
	on(api.Split, (*Service).split),
	on(api.Move, (*Service).move),
	on(api.Undo, (*Service).undo),
	onView(api.Get, (*Service).get),
	onView(api.Revisions, (*Service).revisions),
	onView(api.Current, (*Service).newestOf),
	onView(api.Quarantine, (*Service).quarantined),
	on(api.Release, (*Service).release),

	on(api.Put, (*Service).put),
	onView(api.GetKey, (*Service).getKey),
	on(api.Rename, (*Service).rename),
	on(api.Delete, (*Service).deleteKey),
	onView(api.ListKeys, (*Service).listKeys),
	on(api.Batch, (*Service).batch),

	on(api.RecordTurn, (*Service).recordTurn),
	onView(api.RecentTurns, (*Service).recentTurns),
	on(api.ClearTurns, (*Service).clearTurns),
	on(api.AddTask, (*Service).addTask),
	onView(api.Tasks, (*Service).tasks),
	onView(api.GetTask, (*Service).task),
	on(api.ChangeTask, (*Service).changeTask),
	on(api.DropTask, (*Service).dropTask),
	on(api.SearchSkills, (*Service).searchSkills),
	on(api.DefineSkill, (*Service).defineSkill),
	on(api.NoteOutcome, (*Service).noteOutcome),

	onView(api.Memories, (*Service).memories),
	onView(api.Records, (*Service).records),
	onView(api.Namespaces, (*Service).namespaces),
	onView(api.Stats, (*Service).stats),

	onView(api.Stale, (*Service).staleMemories),
	onView(api.Upcoming, (*Service).upcoming),
	onView(api.Chronology, (*Service).chronology),
	onView(api.Profile, (*Service).profile),
	onView(api.Timeline, (*Service).timeline),
	onView(api.Entities, (*Service).entities),
	on(api.Compare, (*Service).compareRecalls),
	onView(api.Around, (*Service).around),
	onView(api.Status, (*Service).tellStatus),
	on(api.Message, func(*Service, context.Context, api.Caller, *api.Nothing) (*api.Nothing, error) {
		return &api.Nothing{}, nil
	}),

	onPart(api.Think, thinker, (*thinking.Thinker).Think),
	onPart(api.Reflect, thinker, (*thinking.Thinker).Reflect),
	onPartView(api.Conflicts, thinker, (*thinking.Thinker).Conflicts),
	onPart(api.Resolve, thinker, (*thinking.Thinker).Resolve),
	onPartView(api.Triggers, thinker, (*thinking.Thinker).Triggers),
	onPartView(api.TriggerHistory, thinker, (*thinking.Thinker).TriggerHistory),
	onPart(api.DeliverTriggers, thinker, (*thinking.Thinker).DeliverTriggers),
	onPart(api.MoveTrigger, thinker, (*thinking.Thinker).MoveTrigger),
	onPart(api.PruneTriggers, thinker, (*thinking.Thinker).PruneTriggers),
	onPart(api.Categories, thinker, (*thinking.Thinker).Categories),
	onPart(api.CategoryMembers, thinker, (*thinking.Thinker).CategoryMembers),
	onPartView(api.Personality, thinker, (*thinking.Thinker).Personality),
	onPartView(api.Patterns, thinker, (*thinking.Thinker).Patterns),
	on(api.Feedback, (*Service).feedback),

	on(api.StartSession, (*Service).startSession),
	on(api.EndSession, (*Service).endSession),
	onView(api.SessionHistory, (*Service).sessionHistory),
	onView(api.Sessions, (*Service).sessions),
	on(api.DraftSummary, (*Service).draftSummary),

	onPart(api.CreateDatabase, admin, (*operate.Admin).CreateDatabase),
	onPartView(api.Databases, admin, (*operate.Admin).Databases),
	onPart(api.DropDatabase, admin, (*operate.Admin).DropDatabase),
	onPart(api.Quota, admin, (*operate.Admin).Quota),
	onPart(api.SetQuota, admin, (*operate.Admin).SetQuota),
	onPartView(api.Settings, admin, (*operate.Admin).Settings),
	onPart(api.SetSettings, admin, (*operate.Admin).SetSettings),
	on(api.Purge, (*Service).purge),
	on(api.Erase, (*Service).eraseForGood),
	onView(api.Erased, (*Service).erased),

	onPart(api.Me, admin, (*operate.Admin).Me),
	onPart(api.CreateToken, admin, (*operate.Admin).CreateToken),
	onPartView(api.Tokens, admin, (*operate.Admin).Tokens),
	onPart(api.RevokeToken, admin, (*operate.Admin).RevokeToken),
	onPart(api.LimitToken, admin, (*operate.Admin).LimitToken),
	onPart(api.GiveConsent, admin, (*operate.Admin).GiveConsent),
	onPart(api.RenewConsent, admin, (*operate.Admin).RenewConsent),
	onPart(api.EndConsent, admin, (*operate.Admin).EndConsent),
	onPartView(api.Audits, admin, (*operate.Admin).Audits),
	onPart(api.Log, admin, (*operate.Admin).Log),

	onPart(api.Cluster, (*Service).Cluster, (*operate.Cluster).Report),
	onPart(api.Up, (*Service).Cluster, (*operate.Cluster).Up),
	onPart(api.Topology, (*Service).Cluster, (*operate.Cluster).Topology),
	onPart(api.Raft, (*Service).Cluster, (*operate.Cluster).Raft),
	onPart(api.Past, (*Service).Cluster, (*operate.Cluster).Past),
	onPart(api.Keys, (*Service).Cluster, (*operate.Cluster).Keys),
	onPart(api.ChangeMembers, (*Service).Cluster, (*operate.Cluster).ChangeMembers),
	onPartView(api.ControlSnapshot, admin, (*operate.Admin).ControlSnapshot),

	onPart(api.MakeBackup, (*Service).Backups, (*operate.Backups).Make),
	onPart(api.FetchBackup, (*Service).Backups, (*operate.Backups).Fetch),
	onPart(api.DropBackup, (*Service).Backups, (*operate.Backups).Drop),
	on(api.Export, (*Service).export),
	onView(api.IDs, (*Service).ids),
	on(api.Count, (*Service).countMatching),
	on(api.Values, (*Service).values),
	on(api.ForgetMatching, (*Service).forgetMatching),
	on(api.Import, (*Service).importLines),

	on(api.Events, (*Service).events),
	on(api.Gaps, (*Service).gaps),
	on(api.Digest, (*Service).digest),
	onPart(api.RunMaintenance, thinker, (*thinking.Thinker).RunMaintenance),
	onPart(api.MaintenanceStatus, thinker, (*thinking.Thinker).MaintenanceStatus),

	onPart(api.Alive, (*Service).Cluster, (*operate.Cluster).Alive),
	onPart(api.DeepHealth, (*Service).Cluster, (*operate.Cluster).DeepHealth),
	onPart(api.Ready, (*Service).Cluster, (*operate.Cluster).TellReady),
	on(api.Prompt, (*Service).prompt),
	on(api.PackContext, (*Service).packContext),
	onPart(api.Embedding, vectors, (*embedding.Vectors).Progress),
	onPart(api.Reembed, vectors, (*embedding.Vectors).Change),

	on(api.Relate, (*Service).relate),
	onView(api.Edges, (*Service).edges),
	onView(api.Graph, (*Service).graph),
	onView(api.OneEdge, (*Service).edge),
	on(api.Unrelate, (*Service).unrelate),
	on(api.Claim, (*Service).claim),
	onView(api.Claims, (*Service).claims),
	on(api.Alias, (*Service).alias),

	on(api.Await, (*Service).awaitFound),
	on(api.Search, (*Service).hostSearch),
	onPart(api.Place, (*Service).Cluster, (*operate.Cluster).Place),
	on(api.Capture, (*Service).capture),
	on(api.ForgetMany, (*Service).forgetMany),
	on(api.SweepNow, (*Service).sweepNow),
	on(api.PurgeStep, (*Service).purgeStep),
	on(api.KeepIntent, (*Service).keepIntent),
	on(api.KeepIdentity, (*Service).keepIdentity),
	on(api.Grant, (*Service).grant),
	on(api.Revoke, (*Service).revoke),
	on(api.PurgeGrants, (*Service).purgeGrants),
	on(api.RunProgram, (*Service).onHost),
	on(api.UseFiles, (*Service).onHost),
	on(api.RunGit, (*Service).onHost),
	on(api.AskHosts, (*Service).onHost),
	on(api.StopNode, (*Service).onHost),
	on(api.LoseStream, (*Service).loseStream),
})
