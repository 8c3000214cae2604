package oplog

// MaxKey bounds the key of a row, in bytes as operations make it. The bound is part of what Apply is, the same on every replica.
const MaxKey = 16 << 10
