package oplog

import (
	bolt "go.etcd.io/bbolt"

	"github.com/cairndb/cairn/oplog/seal"
)

// keySealed holds, in the meta bucket of an encrypted file, the data key that its names are sealed under.
var keySealed = []byte("sealed")

// newCodec marks a new file as what it is going to be.
func newCodec(meta *bolt.Bucket, keys *seal.Ring) (*codec, error) {
	if keys == nil {
		return &codec{}, meta.Put(keyFmt, be64(summedFormat))
	}
	id := keys.Active()
	names, err := keys.Names(id)
	if err != nil {
		return nil, err
	}
	if err := meta.Put(keySealed, be64(uint64(id))); err != nil {
		return nil, err
	}
	return &codec{ring: keys, names: names, sums: true}, meta.Put(keyFmt, be64(sealedSummedFormat))
}

// codecOf is the codec of a file that is there. A key that is missing is no damage: nothing is to be moved aside for it.
func codecOf(meta *bolt.Bucket, format uint64, keys *seal.Ring) (*codec, error) {
	switch {
	case (format == bareFormat || format == summedFormat) && keys != nil:
		return nil, seal.ErrPlain
	case format == bareFormat:
		return nil, nil
	case format == summedFormat:
		return &codec{}, nil
	case (format == sealedFormat || format == sealedSummedFormat) && keys == nil:
		return nil, seal.ErrSealed
	case format == sealedFormat || format == sealedSummedFormat:
		names, err := keys.Names(seal.KeyID(beUint64(meta.Get(keySealed))))
		if err != nil {
			return nil, err
		}
		return &codec{ring: keys, names: names, sums: format == sealedSummedFormat}, nil
	}
	return nil, Errorf(TooOld, "format %d, and this version reads up to %d: run the version that wrote it, or a later one", format, newestFormat)
}
