// Archive packs a folder into NAME.tar.gz and writes NAME.cdx.json, a CycloneDX list of what its binary cairn was
// linked from. Equal input gives equal bytes: files are sorted, owned by root and as old as the commit.
//
//	go run .ci/archive.go NAME FOLDER UNIX_TIME
package main

import (
	"archive/tar"
	"compress/gzip"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "archive:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return errors.New("want NAME FOLDER UNIX_TIME")
	}
	seconds, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return err
	}
	at := time.Unix(seconds, 0).UTC()
	if err := pack(args[0], args[1], at); err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(filepath.Join(args[1], "cairn"))
	if err != nil {
		return err
	}
	return list(args[0], info, at)
}

// pack writes the archive; WalkDir visits files in the order of their names.
func pack(name, folder string, at time.Time) (err error) {
	f, err := os.Create(name + ".tar.gz")
	if err != nil {
		return err
	}
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	defer func() { err = errors.Join(err, t.Close(), z.Close(), f.Close()) }()
	return filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		h := &tar.Header{Name: filepath.ToSlash(filepath.Join(filepath.Base(name), inside)), Typeflag: tar.TypeReg,
			Mode: 0o644, ModTime: at, Format: tar.FormatUSTAR}
		if d.IsDir() {
			h.Typeflag, h.Mode, h.Name = tar.TypeDir, 0o755, h.Name+"/"
			return t.WriteHeader(h)
		}
		if inside == "cairn" {
			h.Mode = 0o755
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		h.Size = int64(len(b))
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		_, err = t.Write(b)
		return err
	})
}

// A component is a module, or the program itself.
type component struct {
	Type       string     `json:"type"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// list writes what `go version -m` says of the binary.
func list(name string, info *debug.BuildInfo, at time.Time) error {
	var settings []property
	for _, s := range info.Settings {
		settings = append(settings, property{"go:build:" + s.Key, s.Value})
	}
	version, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(name), "cairn_"), "_")
	components := []component{module("std", strings.TrimPrefix(info.GoVersion, "go"), "")}
	for _, m := range info.Deps {
		if r := m.Replace; r != nil && r.Version == "" { // a folder of the checkout
			m = &debug.Module{Path: path.Join(info.Main.Path, r.Path), Version: "v" + version}
		} else if r != nil {
			m = r
		}
		components = append(components, module(m.Path, m.Version, m.Sum))
	}
	program := module(info.Main.Path, "v"+version, "")
	program.Type, program.Properties = "application", settings
	b, err := json.MarshalIndent(map[string]any{"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
		"metadata": map[string]any{"timestamp": at.Format(time.RFC3339), "component": program}, "components": components}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(name+".cdx.json", append(b, '\n'), 0o644)
}

func module(path, version, sum string) component {
	c := component{Type: "library", Name: path, Version: version, PURL: "pkg:golang/" + path + "@" + version}
	if sum != "" {
		c.Properties = []property{{"go:sum", sum}}
	}
	return c
}
