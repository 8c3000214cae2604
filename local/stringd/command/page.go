package command

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/cairndb/cairn/local/stringd/sfmd"
)

// A page is the document of a session.
type page struct {
	uri   string
	path  string // of its file; empty for mem: documents
	block string
	doc   *sfmd.Document
	menus []menu
	auto  []sfmd.Link // of the last view
	text  string      // the last view, for when the file cannot be read again
}

// A menu is the shortcuts of another file.
type menu struct {
	name, dir string
	links     []sfmd.Link
}

// load reads a document and finds the block in it.
func (s *Session) load(path, block string) (*page, error) {
	text, st, err := s.readFile(path)
	if err != nil {
		return nil, err
	}
	p := &page{uri: fileURI(path), path: path, block: block, doc: sfmd.Parse(text)}
	if err := s.checkBlock(p); err != nil {
		return nil, err
	}
	for _, d := range p.doc.Menus {
		p.menus = append(p.menus, s.loadMenu(p, d))
	}
	s.seen[path] = st
	return p, nil
}

func (s *Session) checkBlock(p *page) error {
	if p.block == "" {
		return nil
	}
	if _, _, ok := p.doc.Find(p.block); ok {
		return nil
	}
	return failf(BlockNotFound, "Block not found: #%s in %s\n%s", p.block, s.nameOf(p), blocksLine(p.doc))
}

func blocksLine(d *sfmd.Document) string {
	if ids := d.BlockIDs(); len(ids) > 0 {
		return "Available blocks: " + strings.Join(ids, ", ")
	}
	return "This document has no blocks."
}

// nameOf is a document as answers name it.
func (s *Session) nameOf(p *page) string {
	if p.path == "" {
		return p.uri
	}
	return s.display(p.path)
}

// loadMenu reads a menu's file. A menu whose file cannot be read has no entries.
func (s *Session) loadMenu(p *page, d sfmd.Directive) menu {
	m := menu{name: d.Name}
	path, err := s.locate(d.Path, filepath.Dir(p.path))
	if err == nil {
		var text string
		if text, _, err = s.readFile(path); err == nil {
			m.dir, m.links = filepath.Dir(path), sfmd.Parse(text).Links
		}
	}
	if err != nil {
		p.doc.Warnings = append(p.doc.Warnings, "MENU_NOT_LOADED: "+d.Name)
	}
	return m
}

// describe is the meta of an answer.
func (s *Session) describe() *Meta {
	p := s.doc
	if p == nil {
		return nil
	}
	m := &Meta{URI: p.uri, Menus: p.menuNames(), Actions: actionIDs(p.doc), HistoryLength: len(s.history), Warnings: append([]string{}, p.doc.Warnings...)}
	if t := p.doc.Front.Text("title"); t != "" {
		m.Title = &t
	}
	if p.block != "" {
		anchor := "#" + p.block
		m.CurrentBlock, m.BlockID = &anchor, &p.block
	}
	return m
}

func (p *page) menuNames() []string { return each(p.menus, func(m menu) string { return m.name }) }

// entries are a menu's lines.
func (m menu) entries() []string {
	return each(m.links, func(l sfmd.Link) string { return fmt.Sprintf("[%s][@%s.%s]", l.Label, m.name, l.ID) })
}

func actionIDs(d *sfmd.Document) []string {
	return each(d.Actions, func(a sfmd.Action) string { return a.ID })
}
