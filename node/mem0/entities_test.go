package mem0

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// users is a door to a database with n users and no other entities.
type users struct {
	api.Door
	n     int
	asked int
}

func (u *users) Do(_ context.Context, _ api.Caller, op *api.Op, request any) (any, error) {
	q, ok := request.(*api.ValuesRequest)
	if !ok {
		return nil, fmt.Errorf("%s was asked for", op.Name)
	}
	if u.asked++; q.Attribute != "user_id" {
		return &api.ValuePage{Values: []api.AttributeValue{}}, nil
	}
	page, from := &api.ValuePage{Total: u.n}, 0
	if q.After != "" {
		if _, err := fmt.Sscan(q.After, &from); err != nil {
			return nil, err
		}
	}
	for i := from; i < min(from+q.Limit, u.n); i++ {
		page.Values = append(page.Values, api.AttributeValue{Value: json.RawMessage(fmt.Sprintf(`"u%06d"`, i)), Count: 1})
	}
	if next := from + q.Limit; next < u.n {
		text := fmt.Sprint(next)
		page.Next = &text
	}
	return page, nil
}

// TestAListOfEntitiesIsBounded checks that the list of the self-hosted server, which has no pages, is complete or
// rejected, and that a page of the platform contains only its own rows.
func TestAListOfEntitiesIsBounded(t *testing.T) {
	t.Parallel()
	list := func(u *users, pattern, path string) (any, error) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Pattern = pattern
		_, answer, err := New(u).Serve(r, api.Caller{Database: "default"}, func(any) error { return nil })
		return answer, err
	}
	u := &users{n: maxEntities}
	if all, err := list(u, "GET /entities", "/entities"); err != nil || len(all.([]object)) != maxEntities {
		t.Errorf("%d entities: %v", maxEntities, err)
	}
	u = &users{n: 50 * maxEntities}
	if _, err := list(u, "GET /entities", "/entities"); !errors.Is(err, &oplog.Error{Kind: oplog.TooLarge}) || u.asked > 1 {
		t.Errorf("%d entities: %v after %d questions", u.n, err, u.asked)
	}
	page, err := list(&users{n: 2500}, "GET /v1/entities/{$}", "/v1/entities/?page=3&page_size=1000")
	if err != nil {
		t.Fatal(err)
	}
	rows := page.(object)["results"].([]object)
	if len(rows) != 500 || rows[0]["id"] != "u002000" || page.(object)["count"] != 2500 || page.(object)["total_users"] != 2500 {
		t.Errorf("page 3: %d rows, %v", len(rows), page.(object)["count"])
	}
}
