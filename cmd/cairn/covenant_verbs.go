package main

import (
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"
)

// covenantVerbs are the commands below `cairn covenant`.
var covenantVerbs = []covenantVerb{
	{use: "ping", short: "Ask whether the daemon answers", kind: "ping", envelope: "daemon_ping", args: cobra.NoArgs, show: "pong\n"},
	{use: "version", short: "Show the protocol's versions", kind: "protocol_info", args: cobra.NoArgs, show: showVersion},
	{use: "intent TEXT", short: "Submit an intent", kind: "submit_intent", args: cobra.MinimumNArgs(1), fields: oneText("text"), flags: []string{"stream"}, show: showIntent},
	{use: "verify", short: "Compare memories, receipts, capabilities and audit", kind: "verify", args: cobra.NoArgs, flags: []string{"window"}, show: showVerify},
	{group: "memory", use: "recent", short: "List the newest memories", kind: "recent_memory", args: cobra.NoArgs, flags: []string{"tier", "limit"}, echo: []string{"limit"}, show: showMemories},
	{group: "memory", use: "search QUERY", short: "Search memories", kind: "search_memory", args: cobra.MinimumNArgs(1), fields: oneText("query"),
		flags: []string{"tier", "limit", "min-relevance"}, echo: []string{"query", "limit"}, show: showMemories},
	{group: "memory", use: "purge", short: "Erase old memories", kind: "purge_memory", args: cobra.NoArgs, flags: []string{"tier", "before-ms"}, echo: []string{"before_ms"}, show: showPurged},
	{group: "capabilities", use: "recent", short: "List live capabilities", kind: "recent_capabilities", envelope: "capability_list", args: cobra.NoArgs, flags: []string{"limit"}, echo: []string{"limit"}, show: showCapabilities},
	{group: "capabilities", use: "grant ACTION", short: "Grant a capability", kind: "grant_capability", args: cobra.ExactArgs(1), fields: oneText("action"), flags: []string{"scope"}, show: showGranted},
	{group: "capabilities", use: "revoke SIGNATURE", short: "Revoke a capability", kind: "revoke_capability", args: cobra.ExactArgs(1), fields: oneText("signature_b58"), show: showRevoked},
	{group: "capabilities", use: "purge", short: "Drop capabilities that were revoked long ago", kind: "purge_capabilities", args: cobra.NoArgs, flags: []string{"before-ms"}, echo: []string{"before_ms"}, show: showPurged},
	{group: "receipts", use: "recent", short: "List the newest receipts", kind: "recent_receipts", envelope: "receipt_list", args: cobra.NoArgs, flags: []string{"limit", "since-ms"}, echo: []string{"limit", "since_ms"}, show: showReceipts},
	{group: "audit", use: "recent", short: "List the newest audit rows", kind: "recent_audit", args: cobra.NoArgs, flags: []string{"limit", "since-ms"}, echo: []string{"limit", "since_ms"}, show: showAudit},
	{group: "audit", use: "verify", short: "Check the chain of the audit files", kind: "verify_audit_integrity", args: cobra.NoArgs, show: showIntegrity},
	{group: "audit", use: "purge", short: "Drop old audit rows", kind: "purge_audit", args: cobra.NoArgs, flags: []string{"before-ms"}, echo: []string{"before_ms"}, show: showPurged},
	{group: "ignore", use: "check TEXT", short: "Ask whether an intent would be ignored", kind: "ignore_check", args: cobra.MinimumNArgs(1), fields: oneText("text"), show: showIgnored},
	{group: "tools", use: "list", short: "List tools", kind: "list_tools", args: cobra.NoArgs, show: showTools},
	{group: "tools", use: "call NAME [ARGUMENTS]", short: "Call a tool; arguments are JSON", kind: "call_tool", args: cobra.RangeArgs(1, 2), fields: toolCall, show: showTool},
	{group: "a2a", use: "status", short: "Show tasks and results that wait", kind: "a2_a_queue", envelope: "a2a_status", args: cobra.NoArgs, flags: []string{"limit", "queue"}, echo: []string{"limit"}, show: showQueue},
	{group: "a2a", use: "requeue TASK", short: "Take a task from a worker that died; its recipient gets it again", kind: "repair_a2_a_task", args: cobra.ExactArgs(1), fields: repair("requeue"), show: showRepaired},
	{group: "a2a", use: "force-error TASK [REASON]", short: "End a task whose worker died with an error", kind: "repair_a2_a_task", args: cobra.RangeArgs(1, 2), fields: repair("force_error"), show: showRepaired},
	{group: "peers", use: "list", short: "List registered tokens", kind: "list_peers", envelope: "peer_list", args: cobra.NoArgs, flags: []string{"limit"}, echo: []string{"limit"}, show: showPeers},
	{group: "peers", use: "enroll DISPLAY [ACTION...]", short: "Make an identity with a token and capabilities", kind: "enroll_peer", args: cobra.MinimumNArgs(1), fields: enrolment, show: showEnrolled},
	{group: "peers", use: "revoke TOKEN_PREFIX", short: "End a token, named by its beginning as the list shows it", kind: "revoke_peer", envelope: "peer_revoke", args: cobra.ExactArgs(1), fields: oneText("token_prefix"), show: showPeerRevoked},
	{group: "peers", use: "rotate", short: "Give the operator a new token", kind: "rotate_operator_token", envelope: "peer_token_rotated", args: cobra.NoArgs, show: "the operator has a new token, in peers/operator.token\n"},
	{group: "peers", use: "purge", short: "Drop tokens that were revoked long ago", kind: "purge_peers", args: cobra.NoArgs, flags: []string{"before-ms"}, echo: []string{"before_ms"}, show: showPurged},
}

func toolCall(args []string) (map[string]any, error) {
	m := map[string]any{"name": args[0]}
	if len(args) == 2 {
		if !json.Valid([]byte(args[1])) {
			return nil, errors.New("arguments are not JSON")
		}
		m["arguments"] = json.RawMessage(args[1])
	}
	return m, nil
}

// repair makes the request that repairs a task.
func repair(how string) func([]string) (map[string]any, error) {
	return func(args []string) (map[string]any, error) {
		m := map[string]any{"task_id": args[0], "action": how}
		if len(args) == 2 {
			m["reason"] = args[1]
		}
		return m, nil
	}
}

func enrolment(args []string) (map[string]any, error) {
	return map[string]any{"display": args[0], "actions": append([]string{}, args[1:]...)}, nil
}

// Templates of answers for people.
const (
	showVersion  = "{{.info.protocol}} {{.info.version}} (up to {{.info.max_supported}})\n"
	showIntent   = "{{.text}}\n"
	showPurged   = "purged {{.purged}}\n"
	showRepaired = "done\n"
	showVerify   = "{{range .checks}}{{if .passed}}ok{{else}}DRIFT{{end}} {{.name}}: {{.message}}\n{{end}}" +
		"{{range .drift}}  {{.kind}} {{or .id \"\"}}: {{.message}}; {{.repair}}\n{{end}}"
	showMemories     = "{{range .records}}[{{.created_at}}] {{.tier}}: {{.text}}\n{{end}}"
	showCapabilities = "{{range .capabilities}}{{with .capability}}{{.subject.display}} → {{.action}} ({{.granted_by.display}}) [{{or .expires_at \"perpetual\"}}]\n{{end}}{{end}}"
	showGranted      = "{{.subject_display}} → {{.action}}  {{.signature_b58}}\n"
	showRevoked      = "{{if .removed}}revoked{{else}}(no live capability with that signature){{end}}\n"
	showReceipts     = "{{range .receipts}}[{{.settled_at}}] {{.resource}}: {{.credits_consumed}} credits — (local-only)\n{{else}}(no receipts)\n{{end}}"
	showAudit        = "{{range .events}}[{{.timestamp_ms}}] {{.issuer.display}} {{.kind_json}}\n{{end}}"
	showIntegrity    = "{{with .report}}{{.events}} event(s), {{.anchors}} anchor(s), valid: {{.valid}}, root {{.root_hash_hex}}\n{{range .failures}}  {{.}}\n{{end}}{{end}}"
	showIgnored      = "ignored: {{.ignored}} ({{or .matched_pattern \"no rule\"}}; {{.rules_loaded}} rules)\n"
	showTools        = "{{range .tools}}{{.name}} — {{.description}}\n{{end}}"
	showTool         = "{{range .content}}{{or .text \"\"}}{{or .value_json \"\"}}\n{{end}}"
	showQueue        = "{{range .tasks}}{{.state}} {{.task.id}} {{.task.sender.display}} → {{.task.recipient.display}} (attempt {{.attempt}})\n{{end}}" +
		"{{range .results}}result {{.task_id}} {{.status}}\n{{end}}"
	showPeers       = "{{range .peers}}{{.agent_id.display}} {{.agent_id.pubkey}} {{.token_prefix}}… {{if .revoked_at}}revoked{{else}}live{{end}}\n{{end}}"
	showEnrolled    = "{{.display}} has the token {{.token_b58}}\n"
	showPeerRevoked = `{{with .outcome.type}}{{if eq . "revoked"}}revoked{{else if eq . "already_revoked"}}it was revoked before{{else if eq . "not_found"}}(no token begins like that)` +
		`{{else if eq . "ambiguous"}}several tokens begin like that: give more of it{{else if eq . "self_revoke_forbidden"}}that is the operator's own token: use ` + "`peers rotate`{{end}}{{end}}\n"
)
