package oplog

// Relate relates two entities. The same (source, target, type) again updates the weight.
type Relate struct {
	ID     string  `msgpack:"id" subject:""` // used when the edge is new
	Src    string  `msgpack:"s" max:"name"`
	Dst    string  `msgpack:"d" max:"name"`
	Type   string  `msgpack:"t" max:"name"`
	Weight float64 `msgpack:"w"`
	At     Time    `msgpack:"at"`
	Since  Time    `msgpack:"si,omitempty"` // when an imported edge was created; 0: At

	Links []Link `msgpack:"-"` // memories stored before that name one of the two: they travel in a Linked next to it
}

// Unrelate takes an edge away.
type Unrelate struct {
	ID string `msgpack:"id" subject:""`
	At Time   `msgpack:"at"`
}

// Claim states a relation with its evidence: polarity, modality, validity, extractor.
type Claim struct {
	ID        string   `msgpack:"id" subject:""`
	Namespace string   `msgpack:"ns" max:"name"`
	Src       string   `msgpack:"s" max:"name"`
	Type      string   `msgpack:"t" max:"name"`
	Dst       string   `msgpack:"d" max:"name"`
	Polarity  int8     `msgpack:"p"`
	Modality  string   `msgpack:"m" max:"name"`
	ValidFrom *float64 `msgpack:"vf,omitempty"` // unix seconds
	ValidTo   *float64 `msgpack:"vt,omitempty"`
	Extractor string   `msgpack:"x" max:"name"`
	Version   string   `msgpack:"xv,omitempty"`
	Band      string   `msgpack:"b" max:"name"`
	SourceRID string   `msgpack:"r,omitempty"`
	SpanStart *int64   `msgpack:"ss,omitempty"`
	SpanEnd   *int64   `msgpack:"sn,omitempty"`
	Weight    float64  `msgpack:"w"`
	At        Time     `msgpack:"at"`
	Trust     string   `msgpack:"wt,omitempty" max:"name"` // the class of whoever states it, or of its source if that is lower
}

// Alias makes a name mean another one in a namespace.
type Alias struct {
	Namespace string `msgpack:"ns" max:"name"`
	Alias     string `msgpack:"a" max:"name"`
	Canonical string `msgpack:"c" max:"name"`
	Source    string `msgpack:"s" max:"name"`
	At        Time   `msgpack:"at"`
}
