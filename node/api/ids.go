package api

import (
	"fmt"
	"strings"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// An IDsRequest resolves short forms of ids: a number, as in #812, or the beginning of an id.
type IDsRequest struct {
	RIDs  []string `json:"rids" names:"-" doc:"Full ids to find the numbers of."`
	Short []string `json:"short" doc:"Short forms to find the ids of: #812, or at least the first 4 characters of an id."`
	Fresh
}

type IDsAnswer struct {
	Numbers []oplog.Seq `json:"numbers" doc:"The number of each of rids; 0 when no memory has the id."`
	Full    []Begun     `json:"full" doc:"The matches of each of short."`
}

// Begun holds the ids that a short form stands for.
type Begun struct {
	RIDs []string `json:"rids" doc:"The matching ids: none, one, or two of several."`
}

// wholeID is the length of an id that this server makes. A shorter value may be a short form.
const wholeID = 36

// MayBeShort reports whether a value may be the short form of a memory's id.
func MayBeShort(f field.Field, id string) bool {
	return (f.Kind.RID || f.Kind.Item != nil && f.Kind.Item.RID) && id != "" && len(id) < wholeID
}

// Whole returns the id that the i-th short form stands for. If there is none, it returns the short form unchanged, and
// the operation reports that the memory is missing. The errors name the field.
func (a *IDsAnswer) Whole(i int, name, short string) (string, error) {
	switch full := a.Full[i].RIDs; {
	case len(full) == 1:
		return full[0], nil
	case len(full) > 1:
		return "", oplog.Errorf(oplog.Invalid,
			"%s: %q begins the ids of several memories, such as %s and %s: write more of it", name, short, full[0], full[1])
	case strings.HasPrefix(short, "/"):
		return "", oplog.Errorf(oplog.NotFound,
			"%s: no memory has the id %s; if it is a key, read the key: the answer has the id", name, OneLine(fmt.Sprintf("%.40s", short)))
	case strings.HasPrefix(short, "#"):
		return "", oplog.Errorf(oplog.NotFound, "%s: no memory %s in this database", name, OneLine(fmt.Sprintf("%.40s", short)))
	}
	return short, nil
}
