package covenant

import (
	"time"
)

// What the audit log holds: the kinds of its events, with the fields consumers know.
type (
	intentDispatched struct {
		Type   string  `json:"type"`
		Intent string  `json:"intent_id"`
		Text   string  `json:"intent_text"`
		Agent  *string `json:"matched_agent"`
		Hash   string  `json:"result_hash_hex"`
		Status string  `json:"status"`
	}
	intentIgnored struct {
		Type    string `json:"type"`
		Intent  string `json:"intent_id"`
		Text    string `json:"intent_text"`
		Pattern string `json:"matched_pattern"`
	}
	capabilityCheck struct {
		Type       string       `json:"type"`
		Agent      string       `json:"agent_id"`
		Required   []string     `json:"required_actions"`
		Missing    []string     `json:"missing_actions"`
		Passed     bool         `json:"passed"`
		Authorized []authorized `json:"authorized_by"`
	}
	authorized struct {
		Action    string `json:"action"`
		GrantedBy string `json:"granted_by_display"`
		Signature string `json:"signature_b58"`
	}
	capabilityGranted struct {
		Type      string `json:"type"`
		Subject   string `json:"subject_display"`
		Action    string `json:"action"`
		GrantedBy string `json:"granted_by_display"`
		Signature string `json:"signature_b58"`
	}
	capabilityGrantRejected struct {
		Type    string `json:"type"`
		Subject string `json:"subject_display"`
		Action  string `json:"action"`
		Reason  string `json:"reason"`
	}
	capabilityScopeRejected struct {
		Type   string `json:"type"`
		Agent  string `json:"agent_id"`
		Action string `json:"action"`
		Reason string `json:"reason"`
	}
	capabilityRevoked struct {
		Type      string `json:"type"`
		Subject   string `json:"subject_display"`
		Action    string `json:"action"`
		Signature string `json:"signature_b58"`
		Removed   bool   `json:"removed"`
	}
	capabilityRevokeRejected struct {
		Type      string `json:"type"`
		Signature string `json:"signature_b58"`
		Reason    string `json:"reason"`
	}
	authenticationFailed struct {
		Type      string `json:"type"`
		Transport string `json:"transport"`
		Reason    string `json:"reason"`
	}
	senderMismatch struct {
		Type    string `json:"type"`
		Peer    string `json:"peer_display"`
		Claimed string `json:"claimed_sender_display"`
	}
	recipientRejected struct {
		Type      string `json:"type"`
		Sender    string `json:"sender_display"`
		Recipient string `json:"recipient_display"`
		Action    string `json:"action"`
	}
	resultRejected struct {
		Type   string `json:"type"`
		Task   string `json:"task_id"`
		Reason string `json:"reason"`
	}
	tokenRotated struct {
		Type string `json:"type"`
		Peer string `json:"peer_display"`
		Old  string `json:"old_token_prefix"`
		New  string `json:"new_token_prefix"`
	}
	peerRevoked struct {
		Type   string `json:"type"`
		Peer   string `json:"peer_display"`
		Pubkey string `json:"peer_pubkey_b58"`
		Prefix string `json:"token_prefix"`
	}
	purgeDone struct {
		Type   string  `json:"type"`
		Tier   *string `json:"tier"`
		Before uint64  `json:"before_ms"`
		Purged uint64  `json:"purged"`
	}
)

// record writes an audit row.
func (s *Server) record(issuer AgentID, kind any) error {
	err := s.audit.Append(newID(), time.Now(), issuer, kind)
	if err != nil {
		s.log.Error("audit row not written", "err", err)
	}
	return err
}

// refuse records a rejection and gives the reply for it; without the row the reply says only that.
func (s *session) refuse(kind any, message string) any {
	if s.srv.record(s.peer, kind) != nil {
		return fault(textAudit)
	}
	return fault(message)
}
