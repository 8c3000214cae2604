package node

// shapes are the objects that stand in lists of answers and requests, in the shorthand of the route table, where a kind
// that begins with a capital names one of these and [] before a kind makes a list.
var shapes = map[string]string{
	"Memory": "rid:string! type:string! memory_type:string! text:string! created_at:number! created_at_iso:string! updated_at:number! updated_at_iso:string! " +
		"importance:number! half_life:number! last_access:number! access_count:integer! valence:number! consolidated_into:string? consolidation_status:string! " +
		"storage_tier:string! metadata_json:string! metadata:any! namespace:string! certainty:number! domain:string! source:string! emotional_state:string? " +
		"session_id:string? due_at:number? temporal_kind:string? tombstone_reason:string? revision:integer! embedding_model:string? embedding_bytes:integer? " +
		"consolidation_sources:[]string! entities:[]string! claims:[]string!",
	"Result": "rid:string! text:string! memory_type:string! score:number! importance:number! created_at:number! why_retrieved:[]string! metadata:any! namespace:string! " +
		"domain:string! source:string! certainty:number! valence:number! emotional_state:string| session_id:string status:string scores:Scores factors:Factors parts:Parts",
	"Scores":  "words:number! passage:number! around:number! session:number! vector:number! graph:number!",
	"Factors": "fresh:number! importance:number! valence:number! recency:number! decay:number!",
	"Parts": "words:number! passage:number! around:number! session:number! factor:number! speaker:boolean! date:number! vector:number! words_z:number! vector_z:number! " +
		"graph:number! relevance:number! alike:number!",
	"Hint":     "hint_type:string! suggestion:string! related_entities:[]string!",
	"Gap":      "query:string! count:integer! avg_top_score:number! avg_results:number! last_seen:number! last_seen_iso:string!",
	"Revision": "revision:integer! text:string! importance:number! valence:number! certainty:number! reason:string! until:number!",
	"Edge":     "edge_id:string! src:string! dst:string! rel_type:string! weight:number!",
	"Entity":   "name:string! type:string! mentions:integer! last_seen:number!",
	"Maintained": "tenant:string! consolidation_count:integer! conflicts_found:integer! patterns_new:integer! patterns_updated:integer! personality_updated:boolean! duration_ms:integer! " +
		"triggers:[]Attention!",
	"Upkeep":   "tenant:string! last_maintenance:number? active_memories:integer! open_conflicts:integer! pending_triggers:integer!",
	"Decision": "rid:string! snippet:string! memory_type:string! importance:number! created_at:number!",
	"Compared": "node_id:integer! index:integer total:integer! digest:string error:string",
	"Claim": "claim_id:string! src:string! dst:string! rel_type:string! weight:number! created_at:number! polarity:integer! modality:string! valid_from:number? valid_to:number? " +
		"extractor:string! confidence_band:string! source_memory_rid:string? namespace:string! status_suggestion:string!",
	"Session": "session_id:string! namespace:string! client_id:string! started_at:number! ended_at:number? status:string! summary:string! memory_count:integer! topics:[]string!",
}
