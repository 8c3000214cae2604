// Package sfmd reads String-flavoured Markdown: Markdown with front matter, blocks, menus, includes, shortcuts and
// actions.
//
//	---                              front matter: only on line 1; YAML
//	title: Home
//	---
//	<!-- #intro -->                  a block: all text up to its closing mark
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
//	```act.greet.response            a template for the answer of an action
//	{Response.body}
//	```
//
// Marks in fences and inline code have no meaning. A document is never rejected: its errors become warnings. The
// package only processes text. It opens no files and runs no actions.
package sfmd
