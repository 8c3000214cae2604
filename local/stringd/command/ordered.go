package command

import "slices"

// ordered is a map that remembers the order of its keys: lists of variables read as they were set.
type ordered struct {
	keys []string
	m    map[string]string
}

func newOrdered() *ordered { return &ordered{m: map[string]string{}} }

func (o *ordered) set(k, v string) {
	if _, ok := o.m[k]; !ok {
		o.keys = append(o.keys, k)
	}
	o.m[k] = v
}

func (o *ordered) del(k string) {
	delete(o.m, k)
	o.keys = slices.DeleteFunc(o.keys, func(x string) bool { return x == k })
}
