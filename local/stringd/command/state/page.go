package state

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/cairndb/cairn/local/stringd/command/lang"
	"github.com/cairndb/cairn/local/stringd/sfmd"
	"github.com/cairndb/cairn/node/api"
)

// Page is the document of a session.
type Page struct {
	URI   string
	Path  string // of its file; empty for mem: documents
	Block string
	Doc   *sfmd.Document
	Menus []Menu
	Auto  []sfmd.Link // the automatic shortcuts of the last view
	Text  string      // the last view; /back shows it if the file cannot be read again
}

// Dir returns the directory of the file, or "" for a page without one.
func (p *Page) Dir() string {
	if p == nil || p.Path == "" {
		return ""
	}
	return filepath.Dir(p.Path)
}

// Menu holds the shortcuts of another file.
type Menu struct {
	Name, Dir string
	Links     []sfmd.Link
}

// Load reads a document and checks that it has the block.
func (s *Session) Load(path, block string) (*Page, error) {
	text, st, err := s.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p := &Page{URI: fileURI(path), Path: path, Block: block, Doc: sfmd.Parse(text)}
	if err := s.CheckBlock(p); err != nil {
		return nil, err
	}
	for _, d := range p.Doc.Menus {
		p.Menus = append(p.Menus, s.loadMenu(p, d))
	}
	s.Seen[path] = st
	return p, nil
}

// CheckBlock returns an error if the document lacks the page's block.
func (s *Session) CheckBlock(p *Page) error {
	if p.Block == "" {
		return nil
	}
	if _, _, ok := p.Doc.Find(p.Block); ok {
		return nil
	}
	return lang.Errorf(lang.BlockNotFound, "Block not found: #%s in %s\n%s", p.Block, s.NameOf(p), BlocksLine(p.Doc))
}

// BlocksLine lists a document's blocks, for errors.
func BlocksLine(d *sfmd.Document) string {
	if ids := d.BlockIDs(); len(ids) > 0 {
		return "Available blocks: " + strings.Join(ids, ", ")
	}
	return "This document has no blocks."
}

// NameOf returns the name of a document in answers.
func (s *Session) NameOf(p *Page) string {
	if p.Path == "" {
		return p.URI
	}
	return s.Display(p.Path)
}

// loadMenu reads a menu's file. A menu whose file cannot be read has no entries.
func (s *Session) loadMenu(p *Page, d sfmd.Directive) Menu {
	m := Menu{Name: d.Name}
	path, err := s.Locate(d.Path, filepath.Dir(p.Path))
	if err == nil {
		var text string
		if text, _, err = s.ReadFile(path); err == nil {
			m.Dir, m.Links = filepath.Dir(path), sfmd.Parse(text).Links
		}
	}
	if err != nil {
		p.Doc.Warnings = append(p.Doc.Warnings, "MENU_NOT_LOADED: "+d.Name)
	}
	return m
}

// describe returns the meta of an answer.
func (s *Session) describe() *Meta {
	p := s.Doc
	if p == nil {
		return nil
	}
	m := &Meta{URI: p.URI, Title: api.OrNil(p.Doc.Front.Text("title")), Menus: p.MenuNames(), Actions: ActionIDs(p.Doc),
		HistoryLength: len(s.History), Warnings: append([]string{}, p.Doc.Warnings...)}
	if p.Block != "" {
		m.CurrentBlock, m.BlockID = new("#"+p.Block), &p.Block
	}
	return m
}

// MenuNames lists the page's menus.
func (p *Page) MenuNames() []string { return api.Each(p.Menus, func(m Menu) string { return m.Name }) }

// Entries formats the shortcuts of a menu.
func (m Menu) Entries() []string {
	return api.Each(m.Links, func(l sfmd.Link) string { return fmt.Sprintf("[%s][@%s.%s]", l.Label, m.Name, l.ID) })
}

// ActionIDs lists a document's actions.
func ActionIDs(d *sfmd.Document) []string {
	return api.Each(d.Actions, func(a sfmd.Action) string { return a.ID })
}
