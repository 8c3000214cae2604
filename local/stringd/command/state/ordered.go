package state

import "slices"

// ordered is a map that remembers the order of its keys: lists of variables read as they were set.
type ordered struct {
	Keys []string
	Of   map[string]string
}

// NewOrdered makes an empty one.
func NewOrdered() *ordered { return &ordered{Of: map[string]string{}} }

// Set gives a key its value.
func (o *ordered) Set(k, v string) {
	if _, ok := o.Of[k]; !ok {
		o.Keys = append(o.Keys, k)
	}
	o.Of[k] = v
}

// Del takes a key away.
func (o *ordered) Del(k string) {
	delete(o.Of, k)
	o.Keys = slices.DeleteFunc(o.Keys, func(x string) bool { return x == k })
}
