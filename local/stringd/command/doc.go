// Package command is the command language of the stringd protocol: the commands that a client sends to a topic, and
// their answers.
//
//	/word[.sub][:sub] arguments      one line
//	further lines                    the body: text, an edit, a template
//
// Words are folded to lower case, and a command that begins with // is read as if it began with /. In a bash topic
// the input is the shell's, but for the commands that are named there with one slash and //help, //info, //close. A
// hub (app, bash, tool, event, system, agent) has commands of its own, which go before the others.
//
// # What a command answers
//
// A system line, and below a line of --- the content. A failure has a Code (package lang), and a text that says what
// to do; EXIT_n is a program that ended with n. Codes of the memory are those of package oplog in this protocol's
// words: where the outcome of a write is not known, TIMEOUT says to repeat it with the same --key.
//
// # Who calls what
//
// A Session (package state) is one topic of one agent: its document and history, variables, the files it has seen,
// the last edit that /undo takes back, and its shell. Its owner runs one command at a time, with Run. A program that
// a command runs has Settings.Timeout, and ends with the context. Sessions know the daemon only as the interface
// Host, and the node as a database behind its door (Settings.Memory). stringd makes them and nothing else does.
//
// A command is a line of the table (def) and a method of call; /help prints the table.
//
// # What an agent may reach
//
// Documents and edits stay below the agent's home and its further directories, links resolved, unless
// Settings.FullAccess is set; files are opened without following a last link. Programs run as this user. Actions ask
// this host alone unless the scope api.Network lets them ask others.
package command
