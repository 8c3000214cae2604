// Package models knows embedding models by name and brings their files from the model hub, or from a mirror of it,
// into a folder.
//
// A model is fetched into NAME.part, file by file. A partial file is continued, and a complete one is not requested.
// Each must have the length and the SHA-256 of the table. When all are there, the folder becomes NAME: a folder of that
// name is complete. Files that were copied by hand into NAME.part are checked and used in the same way, so that a
// machine without a network gets its model by the same command.
//
// A mirror has the hub's paths, REPOSITORY/resolve/REVISION/FILE, below its own URL. It need not be trusted: the
// checksums are not its.
package models
