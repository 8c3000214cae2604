// Package sfmd reads String-flavoured Markdown: Markdown with front matter, blocks, menus, includes, shortcuts and
// actions.
//
//	---                              front matter: only on line 1; YAML
//	title: Home
//	---
//	<!-- #intro -->                  a block: everything up to its closing mark
//	text
//	<!-- /intro -->
//	## Setup {#setup}                a heading is a block too: up to the next of its level
//	[!nav:main](nav.md)              a menu: the shortcuts of another file
//	[!include:intro](other.md)       another file's block in place of the line
//	[@docs Documentation](docs.md)   a shortcut: @docs stands for the link
//	```act.greet                     an action, here a shell command with one field
//	CLI echo {name}
//	  name, -n: string (required) "whom"
//	```
//	```act.greet.response            what an action's answer is turned into
//	{Response.body}
//	```
//
// Nothing in fences or inline code is read. A document is never rejected: its faults become warnings.
// The package is functions of text: it opens no files, runs no action, and is called by package command.
package sfmd
