package oplog

// Relate relates two entities. The same (source, target, type) again updates the weight.
type Relate struct {
	ID     string  `msgpack:"id" subject:""` // used when the edge is new
	Src    string  `msgpack:"s"`
	Dst    string  `msgpack:"d"`
	Type   string  `msgpack:"t"`
	Weight float64 `msgpack:"w"`
	At     Time    `msgpack:"at"`
	Since  Time    `msgpack:"si,omitempty"` // when an imported edge was created; 0: At

	Links []Link `msgpack:"-"` // memories stored before that name one of the two: they travel in a Linked beside it
}

// Unrelate takes an edge away.
type Unrelate struct {
	ID string `msgpack:"id" subject:""`
	At Time   `msgpack:"at"`
}

// Claim states a relation with its evidence: polarity, modality, validity, extractor.
type Claim struct {
	ID        string   `msgpack:"id" subject:""`
	Namespace string   `msgpack:"ns"`
	Src       string   `msgpack:"s"`
	Type      string   `msgpack:"t"`
	Dst       string   `msgpack:"d"`
	Polarity  int8     `msgpack:"p"`
	Modality  string   `msgpack:"m"`
	ValidFrom *float64 `msgpack:"vf,omitempty"` // unix seconds
	ValidTo   *float64 `msgpack:"vt,omitempty"`
	Extractor string   `msgpack:"x"`
	Version   string   `msgpack:"xv,omitempty"`
	Band      string   `msgpack:"b"`
	SourceRID string   `msgpack:"r,omitempty"`
	SpanStart *int64   `msgpack:"ss,omitempty"`
	SpanEnd   *int64   `msgpack:"sn,omitempty"`
	Weight    float64  `msgpack:"w"`
	At        Time     `msgpack:"at"`
}

// Alias makes a name mean another one in a namespace.
type Alias struct {
	Namespace string `msgpack:"ns"`
	Alias     string `msgpack:"a"`
	Canonical string `msgpack:"c"`
	Source    string `msgpack:"s"`
	At        Time   `msgpack:"at"`
}
