package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/cairndb/cairn/local/stringd/command/lang"
	"github.com/cairndb/cairn/local/stringd/command/state"
	"github.com/cairndb/cairn/local/stringd/sfmd"
	"github.com/cairndb/cairn/oplog/syncwriter"
)

// edit is a file to change, with its current content.
type edit struct {
	path, display string
	block         string
	text          string
	exists        bool
	stamp         state.Stamp
}

// name returns the name of the file, or of its block, for answers.
func (e edit) name() string {
	if e.block != "" {
		return e.display + "#" + e.block
	}
	return e.display
}

// openEdit reads the file that an edit command names.
func (c *call) openEdit(typed string) (e edit, err error) {
	if strings.HasPrefix(typed, "mem:") {
		return e, lang.Errorf(lang.Unsupported, "mem: documents are read-only.")
	}
	if typed == "" {
		return e, lang.Errorf(lang.InvalidPayload, "Usage: %s <path>", c.typed)
	}
	var path string
	path, e.block = state.SplitBlock(typed)
	if path == "" && c.Doc != nil {
		path = c.Doc.Path
	}
	if e.path, err = c.Locate(path, c.WorkDir()); err != nil {
		return e, err
	}
	e.display = c.Display(e.path)
	e.text, e.stamp, err = c.ReadFile(e.path)
	var f *lang.Error
	if errors.As(err, &f) && f.Code == lang.NotFound {
		return e, nil
	}
	e.exists = err == nil
	return e, err
}

// pathAndText returns the path of a command, and the text after it on the same line or in the body.
func (c *call) pathAndText() (path, content string, hasText bool) {
	line := c.args
	if len(line) > 0 && (line[0] == '"' || line[0] == '\'') {
		if end := strings.IndexByte(line[1:], line[0]); end >= 0 {
			path, line = line[1:end+1], line[end+2:]
		}
	}
	if path == "" {
		path, line, _ = strings.Cut(line, " ")
	}
	line = strings.TrimSpace(line)
	switch {
	case c.hasBody && line != "":
		return path, line + "\n" + c.body, true
	case c.hasBody:
		return path, c.body, true
	}
	return path, line, line != ""
}

// openExisting is like openEdit, but returns an error if the file does not exist.
func (c *call) openExisting(typed string) (edit, error) {
	e, err := c.openEdit(typed)
	if err == nil && !e.exists {
		err = lang.Errorf(lang.NotFound, "File not found: %s", e.display)
	}
	return e, err
}

func (c *call) edit() (string, error) {
	path, content, hasText := c.pathAndText()
	e, err := c.openExisting(path)
	if err != nil {
		return "", err
	}
	start, end, err := e.span()
	if err != nil {
		return "", err
	}
	if !hasText {
		c.Seen[e.path] = e.stamp
		return numberLines(e, e.text[start:end]), nil
	}
	if e.block != "" {
		return c.editBlock(e, start, end, content)
	}
	if err := c.checkSeen(e); err != nil {
		return "", err
	}
	return c.save(e, fmt.Sprintf("Edited %s (%d lines, whole file)", e.display, countLines(content)), content)
}

// span returns the part of the file that the edit changes.
func (e edit) span() (start, end int, err error) {
	if e.block == "" {
		return 0, len(e.text), nil
	}
	d := sfmd.Parse(e.text)
	start, end, ok := d.Find(e.block)
	if !ok {
		return 0, 0, lang.Errorf(lang.BlockNotFound, "Block not found: #%s in %s\n%s", e.block, e.display, state.BlocksLine(d))
	}
	if strings.HasPrefix(e.text[start:end], "#") { // keep the line of a heading
		if i := strings.IndexByte(e.text[start:end], '\n'); i >= 0 {
			start += i + 1
		} else {
			start = end
		}
	}
	return start, end, nil
}

func (c *call) editBlock(e edit, start, end int, content string) (string, error) {
	old := e.text[start:end]
	lead := old[:len(old)-len(strings.TrimLeft(old, "\n"))]
	tail := old[len(strings.TrimRight(old, "\n")):]
	if strings.TrimSpace(old) == "" {
		lead, tail = "", "\n"
	}
	if tail == "" && end < len(e.text) {
		tail = "\n"
	}
	if start > 0 && e.text[start-1] != '\n' {
		lead = "\n" + lead
	}
	next := e.text[:start] + lead + strings.Trim(content, "\n") + tail + e.text[end:]
	return c.save(e, fmt.Sprintf("Edited %s (%d lines)", e.name(), countLines(content)), next)
}

func countLines(s string) int { return len(splitLines(s)) }

func numberLines(e edit, text string) string {
	rows := splitLines(text)
	width := len(fmt.Sprint(len(rows)))
	for i := range rows {
		rows[i] = fmt.Sprintf("%*d | %s", width, i+1, rows[i])
	}
	return fmt.Sprintf("[editing: %s]\n---\n%s\n\n(%d lines)", e.name(), strings.Join(rows, "\n"), len(rows))
}

// checkSeen rejects overwriting content that the client has not read.
func (c *call) checkSeen(e edit) error {
	if !e.exists {
		return nil
	}
	if st, ok := c.Seen[e.path]; !ok || st != e.stamp {
		why := "was not read in this topic"
		if ok {
			why = "has changed since it was read"
		}
		return lang.Errorf(lang.Conflict, "%s %s. Use /edit %s first, or /write --force.", e.display, why, e.display)
	}
	return nil
}

// save writes a file, keeps its old content for /undo, and returns the title and the diff.
func (c *call) save(e edit, title, content string) (string, error) {
	if len(content) > state.MaxFile {
		return "", lang.Errorf(lang.InvalidPayload, "%d bytes are more than %d", len(content), state.MaxFile)
	}
	if err := c.writeFile(e.path, content); err != nil {
		return "", lang.Errorf(lang.LoadError, "Cannot write %s: %v", e.display, state.Cause(err))
	}
	c.Undo = &state.Undo{Path: e.path, Before: e.text, After: content, Created: !e.exists}
	return title + "\n---\n" + diff(e.text, content) + "\n---\nUse /undo to revert.", nil
}

// writeFile replaces the content of a file and keeps its mode.
func (c *call) writeFile(path, content string) error {
	return c.WithFiles(func() error {
		mode := fs.FileMode(0o644)
		if fi, err := os.Stat(path); err == nil {
			mode = fi.Mode().Perm()
		} else if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := syncwriter.Replace(path, []byte(content), mode); err != nil {
			return err
		}
		fi, err := os.Stat(path)
		if err == nil {
			c.Seen[path] = state.StampOf(fi)
		}
		return err
	})
}

func (c *call) write() (string, error) {
	rest, force := strings.CutPrefix(c.args, "--force")
	if force {
		c.args = strings.TrimSpace(rest)
	}
	path, content, _ := c.pathAndText()
	e, err := c.openEdit(path)
	if err != nil {
		return "", err
	}
	if e.block != "" {
		return c.edit()
	}
	if !force {
		if err := c.checkSeen(e); err != nil {
			return "", err
		}
	}
	verb := "Written"
	if !e.exists {
		verb = "Created"
	}
	return c.save(e, fmt.Sprintf("%s: %s (%d bytes, %d lines)", verb, e.display, len(content), countLines(content)), content)
}

func (c *call) appendTo() (string, error) {
	path, content, hasText := c.pathAndText()
	e, err := c.openExisting(path)
	if err != nil {
		return "", err
	}
	if !hasText {
		return "", lang.Errorf(lang.InvalidPayload, "Usage: /append <path> <text>")
	}
	next := e.text
	if next != "" && !strings.HasSuffix(next, "\n") {
		next += "\n"
	}
	next += content
	return c.save(e, fmt.Sprintf("Appended to: %s (now %d bytes)", e.display, len(next)), next)
}

var lineRange = regexp.MustCompile(`^(.+):L(\d+)(?:-L?(\d+))?$`)

func (c *call) replace() (string, error) {
	args, all := c.args, false
	if rest, ok := strings.CutSuffix(args, "--all"); ok {
		args, all = strings.TrimSpace(rest), true
	}
	path := lang.Unquote(args)
	usage := lang.Errorf(lang.InvalidPayload, "Usage: /replace <path> with the old text, ---, and the new text on the lines below")
	if !c.hasBody {
		return "", usage
	}
	if m := lineRange.FindStringSubmatch(path); m != nil {
		return c.replaceLines(m)
	}
	e, err := c.openExisting(path)
	if err != nil {
		return "", err
	}
	if e.block != "" {
		start, end, err := e.span()
		if err != nil {
			return "", err
		}
		return c.editBlock(e, start, end, c.body)
	}
	old, new, ok := strings.Cut(c.body, "\n---\n")
	if !ok {
		if old, ok = strings.CutSuffix(c.body, "\n---"); !ok {
			return "", usage
		}
	}
	if old == "" {
		return "", lang.Errorf(lang.InvalidPayload, "the text to replace is empty")
	}
	n := strings.Count(e.text, old)
	switch {
	case n == 0:
		return "", lang.Errorf(lang.NotFound, "Text not found in %s", e.display)
	case n > 1 && !all:
		return "", lang.Errorf(lang.Conflict, "Text found %d times in %s. Add --all, or more of the text around it.", n, e.display)
	}
	plural := ""
	if n > 1 {
		plural = "s"
	}
	return c.save(e, fmt.Sprintf("Replaced %d occurrence%s in %s", n, plural, e.display), strings.ReplaceAll(e.text, old, new))
}

func (c *call) replaceLines(m []string) (string, error) {
	e, err := c.openExisting(m[1])
	if err != nil {
		return "", err
	}
	from, err1 := strconv.Atoi(m[2])
	to, err2 := from, error(nil)
	where := "L" + m[2]
	if m[3] != "" {
		to, err2 = strconv.Atoi(m[3])
		where += "-L" + m[3]
	}
	rows := strings.SplitAfter(e.text, "\n")
	if rows[len(rows)-1] == "" {
		rows = rows[:len(rows)-1]
	}
	if err1 != nil || err2 != nil || from < 1 || to < from || to > len(rows) {
		return "", lang.Errorf(lang.InvalidTarget, "Invalid line range: %s (%s has %d lines)", where, e.display, len(rows))
	}
	content := strings.TrimSuffix(c.body, "\n")
	if strings.HasSuffix(rows[to-1], "\n") {
		content += "\n"
	}
	next := strings.Join(rows[:from-1], "") + content + strings.Join(rows[to:], "")
	return c.save(e, fmt.Sprintf("Replaced %s:%s", e.display, where), next)
}

func (c *call) undoLast() (string, error) {
	u := c.Undo
	if u == nil {
		return "", lang.Errorf(lang.NotFound, "Nothing to undo.")
	}
	path, err := c.Locate(u.Path, c.Agent.Home)
	if err != nil {
		return "", err
	}
	now, _, err := c.ReadFile(path)
	if err != nil || now != u.After {
		return "", lang.Errorf(lang.Conflict, "%s has changed since. Nothing was reverted.", c.Display(path))
	}
	c.Undo = nil
	if u.Created {
		delete(c.Seen, path)
		return "Undo: deleted " + c.Display(path) + " (was newly created)", c.WithFiles(func() error { return os.Remove(path) })
	}
	if err := c.writeFile(path, u.Before); err != nil {
		return "", err
	}
	rows := splitLines(u.Before)
	return fmt.Sprintf("Undo: reverted %s (%d lines)\n%s", c.Display(path), len(rows), strings.Join(rows[:min(len(rows), 10)], "\n")), nil
}

func (c *call) verify() (string, error) {
	e, err := c.openExisting(lang.Unquote(c.args))
	if err != nil {
		return "", err
	}
	start, end, err := e.span()
	if err != nil {
		return "", err
	}
	text := []rune(strings.TrimSpace(e.text[start:end]))
	return lang.Titled(fmt.Sprintf("Verified %s (%d lines, %d chars)", e.name(), countLines(string(text)), len(text)),
		string(text[:min(len(text), 200)])), nil
}
