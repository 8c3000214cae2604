// Package command is the command language of the stringd protocol: the commands that a client sends to a topic, and
// their answers.
//
//	/word[.sub][:sub] arguments      one line
//	further lines                    the body: text, an edit, a template
//
// Words are folded to lower case, and a command that begins with // is read as if it began with /. In a bash topic
// the input goes to the shell, except the commands that work there, and //help, //info and //close. A hub (app, bash,
// tool, event, system, agent) has its own commands, which precede the others.
//
// # Answers
//
// An answer is a system line, a line ---, and the content. A failure has a Code (package lang) and a text that says
// what to do; EXIT_n means that a program ended with status n. Errors of the memory (package oplog) are mapped to
// such codes. If the outcome of a write is unknown, the code is TIMEOUT, and the text says to repeat it with the same
// --key.
//
// # Sessions
//
// A Session (package state) is one topic of one agent: its document and history, variables, the files it has seen,
// the last edit for /undo, and its shell. Package stringd creates it, and runs one command at a time with Run. A
// program that a command runs is limited by Settings.Timeout, and ends with the context. A session uses the daemon
// through the interface Host, and the node through its door (Settings.Memory).
//
// A command is a line of the table (def) and a method of call; /help prints the table.
//
// # Access
//
// Documents and edits stay below the agent's home and its allowed directories, after resolving links, unless
// Settings.FullAccess is set. A file is opened without following a link at the end of its path. Programs run as this
// user. Actions send HTTP requests to this host only, unless the scope api.Network allows others.
package command
