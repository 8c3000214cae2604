package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// covenantVerbs are the commands below `cairn covenant`.
var covenantVerbs = []covenantVerb{
	{use: "ping", short: "Ask whether the daemon answers", kind: "ping", envelope: "daemon_ping", args: cobra.NoArgs,
		show: func(a *app, _ json.RawMessage) error { return a.say("pong") }},
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
	{group: "peers", use: "rotate", short: "Give the operator a new token", kind: "rotate_operator_token", envelope: "peer_token_rotated", args: cobra.NoArgs,
		show: func(a *app, _ json.RawMessage) error {
			return a.say("the operator has a new token, in peers/operator.token")
		}},
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

// repair is what an operator does to a task.
func repair(how string) func([]string) (map[string]any, error) {
	return func(args []string) (map[string]any, error) {
		m := map[string]any{"task_id": args[0], "action": how}
		if len(args) == 2 {
			m["reason"] = args[1]
		}
		return m, nil
	}
}

func showRepaired(a *app, _ json.RawMessage) error { return a.say("done") }

func enrolment(args []string) (map[string]any, error) {
	return map[string]any{"display": args[0], "actions": append([]string{}, args[1:]...)}, nil
}

// say prints a line.
func (a *app) say(format string, args ...any) error {
	_, err := fmt.Fprintf(a.Out, format+"\n", args...)
	return err
}

// answered decodes an answer and prints its lines.
func answered[T any](lines func(a *app, answer T) error) func(*app, json.RawMessage) error {
	return func(a *app, raw json.RawMessage) error {
		var v T
		if err := json.Unmarshal(raw, &v); err != nil {
			return err
		}
		return lines(a, v)
	}
}

type named struct{ Display string }

var (
	showVersion = answered(func(a *app, v struct {
		Info struct {
			Protocol     string
			Version      int
			MaxSupported int `json:"max_supported"`
		}
	}) error {
		return a.say("%s %d (up to %d)", v.Info.Protocol, v.Info.Version, v.Info.MaxSupported)
	})
	showIntent = answered(func(a *app, v struct{ Text string }) error { return a.say("%s", v.Text) })
	showPurged = answered(func(a *app, v struct{ Purged uint64 }) error { return a.say("purged %d", v.Purged) })
	showVerify = answered(func(a *app, v struct {
		Checks []struct {
			Name, Message string
			Passed        bool
		}
		Drift []struct{ Kind, ID, Message, Repair string }
	}) error {
		for _, c := range v.Checks {
			if err := a.say("%s %s: %s", map[bool]string{true: "ok", false: "DRIFT"}[c.Passed], c.Name, c.Message); err != nil {
				return err
			}
		}
		for _, d := range v.Drift {
			if err := a.say("  %s %s: %s; %s", d.Kind, d.ID, d.Message, d.Repair); err != nil {
				return err
			}
		}
		return nil
	})
	showMemories = answered(func(a *app, v struct {
		Records []struct {
			Created    uint64 `json:"created_at"`
			Tier, Text string
		}
	}) error {
		for _, r := range v.Records {
			if err := a.say("[%d] %s: %s", r.Created, r.Tier, r.Text); err != nil {
				return err
			}
		}
		return nil
	})
	showCapabilities = answered(func(a *app, v struct {
		Capabilities []struct {
			Capability struct {
				Subject named
				Grantor named `json:"granted_by"`
				Action  string
				Expires *uint64 `json:"expires_at"`
			}
			Signature string
		}
	}) error {
		for _, c := range v.Capabilities {
			until := "perpetual"
			if e := c.Capability.Expires; e != nil {
				until = fmt.Sprint(*e)
			}
			if err := a.say("%s → %s (%s) [%s]", c.Capability.Subject.Display, c.Capability.Action, c.Capability.Grantor.Display, until); err != nil {
				return err
			}
		}
		return nil
	})
	showGranted = answered(func(a *app, v struct {
		Subject   string `json:"subject_display"`
		Action    string
		Signature string `json:"signature_b58"`
	}) error {
		return a.say("%s → %s  %s", v.Subject, v.Action, v.Signature)
	})
	showRevoked = answered(func(a *app, v struct{ Removed bool }) error {
		if !v.Removed {
			return a.say("(no live capability with that signature)")
		}
		return a.say("revoked")
	})
	showReceipts = answered(func(a *app, v struct {
		Receipts []struct {
			Settled  uint64 `json:"settled_at"`
			Resource string
			Credits  uint64 `json:"credits_consumed"`
		}
	}) error {
		for _, r := range v.Receipts {
			if err := a.say("[%d] %s: %d credits — (local-only)", r.Settled, r.Resource, r.Credits); err != nil {
				return err
			}
		}
		if len(v.Receipts) == 0 {
			return a.say("(no receipts)")
		}
		return nil
	})
	showAudit = answered(func(a *app, v struct {
		Events []struct {
			At     uint64 `json:"timestamp_ms"`
			Issuer named
			Kind   json.RawMessage
		}
	}) error {
		for _, e := range v.Events {
			if err := a.say("[%d] %s %s", e.At, e.Issuer.Display, e.Kind); err != nil {
				return err
			}
		}
		return nil
	})
	showIntegrity = answered(func(a *app, v struct {
		Report struct {
			Events, Anchors uint64
			Valid           bool
			Root            string `json:"root_hash_hex"`
			Failures        []string
		}
	}) error {
		r := v.Report
		if err := a.say("%d event(s), %d anchor(s), valid: %t, root %s", r.Events, r.Anchors, r.Valid, r.Root); err != nil {
			return err
		}
		for _, f := range r.Failures {
			if err := a.say("  %s", f); err != nil {
				return err
			}
		}
		return nil
	})
	showIgnored = answered(func(a *app, v struct {
		Ignored bool
		Pattern *string `json:"matched_pattern"`
		Rules   int     `json:"rules_loaded"`
	}) error {
		by := "no rule"
		if v.Pattern != nil {
			by = *v.Pattern
		}
		return a.say("ignored: %t (%s; %d rules)", v.Ignored, by, v.Rules)
	})
	showTools = answered(func(a *app, v struct {
		Tools []struct{ Name, Description string }
	}) error {
		for _, t := range v.Tools {
			if err := a.say("%s — %s", t.Name, t.Description); err != nil {
				return err
			}
		}
		return nil
	})
	showTool = answered(func(a *app, v struct {
		Content []struct {
			Text  string
			Value json.RawMessage
		}
		IsError bool `json:"is_error"`
	}) error {
		for _, c := range v.Content {
			if err := a.say("%s%s", c.Text, c.Value); err != nil {
				return err
			}
		}
		if v.IsError {
			return errors.New("the tool failed")
		}
		return nil
	})
	showQueue = answered(func(a *app, v struct {
		Tasks []struct {
			State   string
			Attempt int
			Task    struct {
				ID                string
				Sender, Recipient named
			}
		}
		Results []struct {
			Task   string `json:"task_id"`
			Status string
		}
	}) error {
		for _, t := range v.Tasks {
			if err := a.say("%s %s %s → %s (attempt %d)", t.State, t.Task.ID, t.Task.Sender.Display, t.Task.Recipient.Display, t.Attempt); err != nil {
				return err
			}
		}
		for _, r := range v.Results {
			if err := a.say("result %s %s", r.Task, r.Status); err != nil {
				return err
			}
		}
		return nil
	})
	showPeers = answered(func(a *app, v struct {
		Peers []struct {
			Agent   struct{ Display, Pubkey string } `json:"agent_id"`
			Prefix  string                           `json:"token_prefix"`
			Revoked *uint64                          `json:"revoked_at"`
		}
	}) error {
		for _, p := range v.Peers {
			if err := a.say("%s %s %s… %s", p.Agent.Display, p.Agent.Pubkey, p.Prefix, map[bool]string{true: "live", false: "revoked"}[p.Revoked == nil]); err != nil {
				return err
			}
		}
		return nil
	})
	showEnrolled = answered(func(a *app, v struct {
		Display string
		Token   string `json:"token_b58"`
	}) error {
		return a.say("%s has the token %s", v.Display, v.Token)
	})
	showPeerRevoked = answered(func(a *app, v struct{ Outcome struct{ Type string } }) error {
		return a.say("%s", map[string]string{"revoked": "revoked", "already_revoked": "it was revoked before", "not_found": "(no token begins like that)",
			"ambiguous": "several tokens begin like that: give more of it", "self_revoke_forbidden": "that is the operator's own token: use `peers rotate`"}[v.Outcome.Type])
	})
)
