// Package models knows embedding models by name and brings their files from the model hub, or from a mirror of it,
// into a folder.
//
// A model is fetched into NAME.part, file by file. A file that is there in part is continued, one that is there whole
// is not asked for, and each has to have the length and the SHA-256 that the table says. When all are there, the
// folder becomes NAME: a folder of that name is whole. Files that were brought by hand into NAME.part are checked and
// taken in the same way, so that a machine without a network gets its model by the same command.
//
// A mirror has the hub's paths, REPOSITORY/resolve/REVISION/FILE, below its own URL. It need not be trusted: the
// checksums are not its.
package models
