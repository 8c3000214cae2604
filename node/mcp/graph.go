package mcp

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire/field"
)

// The tools of @modelcontextprotocol/server-memory, with the same names, arguments and answers, for models that
// already know them. Package api documents how the graph is stored.

// The JSON objects of that server, with its order of fields.
type (
	graphEntity struct {
		Name         string   `json:"name" is:"string!" doc:"The name of the entity"`
		Type         string   `json:"entityType" is:"string!" doc:"The type of the entity"`
		Observations []string `json:"observations" is:"[]string!" doc:"An array of observation contents associated with the entity"`
	}
	graphRelation struct {
		From string `json:"from" is:"string!" doc:"The name of the entity where the relation starts"`
		To   string `json:"to" is:"string!" doc:"The name of the entity where the relation ends"`
		Type string `json:"relationType" is:"string!" doc:"The type of the relation"`
	}
	graphAddition struct {
		Entity   string   `json:"entityName" is:"string!" doc:"The name of the entity to add the observations to"`
		Contents []string `json:"contents" is:"[]string!" doc:"An array of observation contents to add"`
	}
	graphAdded struct {
		Entity string   `json:"entityName" doc:"The name of the entity"`
		Added  []string `json:"addedObservations" doc:"The observations that were new"`
	}
	graphDeletion struct {
		Entity       string   `json:"entityName" is:"string!" doc:"The name of the entity containing the observations"`
		Observations []string `json:"observations" is:"[]string!" doc:"An array of observations to delete"`
	}

	graphEntities struct {
		Entities []graphEntity `json:"entities" is:"!" doc:"Entities"`
	}
	graphRelations struct {
		Relations []graphRelation `json:"relations" is:"!" doc:"Relations"`
	}
	graphAdditions struct {
		Observations []graphAddition `json:"observations" is:"!" doc:"What to add, and where"`
	}
	graphAllAdded struct {
		Results []graphAdded `json:"results" doc:"What was added, and where"`
	}
	graphNames struct {
		Names []string `json:"entityNames" is:"[]string!" doc:"An array of entity names to delete"`
	}
	graphDeletions struct {
		Deletions []graphDeletion `json:"deletions" is:"!" doc:"What to delete, and where"`
	}
	graphQuery struct {
		Query string `json:"query" is:"string!" doc:"The search query to match against entity names, types, and observation content"`
	}
	graphOpened struct {
		Names []string `json:"names" is:"[]string!" doc:"An array of entity names to retrieve"`
	}
	knowledge struct {
		Entities  []graphEntity   `json:"entities" doc:"Entities"`
		Relations []graphRelation `json:"relations" doc:"Relations"`
	}
	graphDone struct {
		Success bool   `json:"success" doc:"true"`
		Message string `json:"message" doc:"What was done"`
	}
)

// addGraph adds the nine tools, and the graph as a resource.
func (s *Server) addGraph(srv *mcp.Server) {
	create, remove, read := api.Tool{}, api.Tool{Destructive: true, Idempotent: true}, api.Tool{ReadOnly: true, Idempotent: true}
	addGraphTool(s, srv, create, "create_entities", "Create Entities", "Create multiple new entities in the knowledge graph",
		(*graphCall).createEntities)
	addGraphTool(s, srv, create, "create_relations", "Create Relations",
		"Create multiple new relations between entities in the knowledge graph. Relations should be in active voice",
		(*graphCall).createRelations)
	addGraphTool(s, srv, create, "add_observations", "Add Observations",
		"Add new observations to existing entities in the knowledge graph", (*graphCall).addObservations)
	addGraphTool(s, srv, remove, "delete_entities", "Delete Entities",
		"Delete multiple entities and their associated relations from the knowledge graph", (*graphCall).deleteEntities)
	addGraphTool(s, srv, remove, "delete_observations", "Delete Observations",
		"Delete specific observations from entities in the knowledge graph", (*graphCall).deleteObservations)
	addGraphTool(s, srv, remove, "delete_relations", "Delete Relations", "Delete multiple relations from the knowledge graph",
		(*graphCall).deleteRelations)
	addGraphTool(s, srv, read, "read_graph", "Read Graph", "Read the entire knowledge graph", (*graphCall).readGraph)
	addGraphTool(s, srv, read, "search_nodes", "Search Nodes", "Search for nodes in the knowledge graph based on a query", (*graphCall).searchNodes)
	addGraphTool(s, srv, read, "open_nodes", "Open Nodes", "Open specific nodes in the knowledge graph by their names", (*graphCall).openNodes)
	srv.AddResource(&mcp.Resource{URI: "memory://knowledge-graph", Name: "knowledge-graph", Title: "Knowledge Graph",
		Description: "The full knowledge graph with all entities and relations", MIMEType: "application/json"},
		func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			g := &graphCall{ctx, s.cfg.Door, callerOf(ctx)}
			all, err := g.readGraph(&api.Nothing{})
			if err != nil {
				return nil, s.publicError(err)
			}
			return resource(req.Params.URI, all)
		})
}

// addGraphTool adds a tool of the graph. Its text is the message of the answer, or the answer's only list, or else
// the whole answer.
func addGraphTool[Q, A any](s *Server, srv *mcp.Server, kind api.Tool, name, title, text string, call func(*graphCall, *Q) (*A, error)) {
	kind.Name, kind.Title, kind.Text = name, title, text
	takes := field.Of(reflect.TypeFor[Q]())
	s.addTool(srv, tool{Tool: kind, takes: takes, gives: field.Of(reflect.TypeFor[A]()).Answered(),
		call: func(ctx context.Context, c api.Caller, args map[string]json.RawMessage) (a answer, err error) {
			q := new(Q)
			if err := s.decode(ctx, takes, q, args); err != nil {
				return a, err
			}
			got, err := call(&graphCall{ctx, s.cfg.Door, c}, q)
			if err != nil {
				return a, err
			}
			if a.structured, err = json.Marshal(got); err != nil {
				return a, err
			}
			if done, ok := any(got).(*graphDone); ok {
				a.text = done.Message
				return a, nil
			}
			var shown any = got
			if v := reflect.ValueOf(got).Elem(); v.NumField() == 1 {
				shown = v.Field(0).Interface()
			}
			b, err := json.MarshalIndent(shown, "", "  ")
			a.text = string(b)
			return a, err
		}})
}
