package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/index/embed/models"
)

// listedModel is a row of `embed list --json`.
type listedModel struct {
	models.Model
	Size int64  `json:"size"`
	Dir  string `json:"dir,omitempty"` // where it is already
}

func (a *app) embedList() *cobra.Command {
	var home string
	var asJSON bool
	c := &cobra.Command{Use: "list", Short: "List the known models", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		rows := make([]listedModel, len(models.Known))
		for i, m := range models.Known {
			rows[i] = listedModel{Model: m, Size: m.Size()}
			if dir := (&models.Fetcher{Folder: modelsFolder(home)}).Dir(&m); isDir(dir) {
				rows[i].Dir = dir
			}
		}
		cells := make([][]string, len(rows))
		for i, r := range rows {
			here := "-"
			if r.Dir != "" {
				here = "yes"
			}
			cells[i] = []string{r.Name, r.Kind, fmt.Sprint(r.Dim), cli.Megabytes(r.Size), r.Licence, here, r.For}
		}
		if err := a.List(asJSON, rows, "NAME|KIND|DIMENSIONS|SIZE|LICENCE|HERE|FOR", cells); err != nil || asJSON {
			return err
		}
		for _, r := range rows {
			fmt.Fprintf(a.Out, "\n%s is %s at %s\n", r.Name, r.Repository, r.Revision)
			for _, f := range r.Files {
				fmt.Fprintf(a.Out, "  %s  %s  %d bytes\n", f.SHA256, f.Name, f.Size)
			}
		}
		return nil
	}}
	modelHome(c, &home)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
