package index

import (
	"sync/atomic"

	"github.com/cairndb/cairn/oplog/filter"
)

// attributes holds the memories' own attributes for filters: for each name its distinct values, and for each value
// the rows that have it. A row without attributes costs nothing. A row keeps its attributes until it dies: a
// correction makes another row. One goroutine changes them. A reader looks up a name under the database's lock, and
// reads the rest without it.
type attributes struct {
	named   map[string]*attribute
	entries int // rows of all values together
	dead    int // rows that died since the last sweep, with attributes or without
}

// An attribute has the values of one name.
type attribute struct {
	number map[string]int // a value's place in values, by its canonical form; read under the lock
	values atomic.Pointer[[]*attributeValue]
	lists  atomic.Bool // some value is, or was, a list
}

// An attributeValue is a value with the rows that have it, dead ones among them, in no order.
type attributeValue struct {
	filter.Value
	rows atomic.Pointer[[]uint32]
	capturing
}

// add adds an attribute to a row, and returns its value.
func (a *attributes) add(named filter.Attribute, row uint32) *attributeValue {
	attr := a.named[named.Name]
	if attr == nil {
		if a.named == nil {
			a.named = map[string]*attribute{}
		}
		attr = newAttribute()
		a.named[named.Name] = attr
	}
	list, form := *attr.values.Load(), named.Value.String()
	n, known := attr.number[form]
	if !known {
		n = len(list)
		v := &attributeValue{Value: named.Value}
		v.rows.Store(new([]uint32))
		list = append(list, v)
		attr.number[form] = n
		if named.Value.IsList() {
			attr.lists.Store(true)
		}
		attr.values.Store(&list)
	}
	rows := append(*list[n].rows.Load(), row) // searches under way have the shorter one
	list[n].rows.Store(&rows)
	a.entries++
	return list[n]
}

func newAttribute() *attribute {
	attr := &attribute{number: map[string]int{}}
	attr.values.Store(new([]*attributeValue))
	return attr
}

// rowDied counts a row that died.
func (a *attributes) rowDied() {
	if a.entries > 0 {
		a.dead++
	}
}

// sweepSlack bounds the dead rows that stay in the lists: half of all entries, plus this number.
const sweepSlack = 1024

// sweep removes dead rows from the lists once there are enough of them, and values without rows. Searches under way
// keep the lists that they have.
func (a *attributes) sweep(rows columnView) bool {
	if a.dead < sweepSlack+a.entries/2 {
		return false
	}
	old := a.named
	*a = attributes{}
	for name, attr := range old {
		for _, v := range *attr.values.Load() {
			for _, row := range *v.rows.Load() {
				if rows.died(row).Load() == 0 {
					a.add(filter.Attribute{Name: name, Value: v.Value}, row)
				}
			}
		}
	}
	return true
}
