package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cairndb/cairn/oplog/private"
	"github.com/cairndb/cairn/oplog/syncwriter"
)

// Addresses is the content of the address file that a running node writes into its home.
type Addresses struct {
	Wire    string `json:"wire"`
	HTTP    string `json:"http"`
	Cluster string `json:"cluster,omitempty"`
	TLS     bool   `json:"tls,omitempty"`
	CA      string `json:"ca,omitempty"` // file with the certificate authority
}

// Write stores the addresses in a node's home.
func (a Addresses) Write(home string) error {
	b, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return syncwriter.Replace(filepath.Join(home, addressFile), append(b, '\n'), 0o600)
}

// HomeAddresses reads the addresses of the home's node, or those of its last run.
func (t *Target) HomeAddresses() (Addresses, error) {
	if err := t.checkHome(); err != nil {
		return Addresses{}, err
	}
	b, err := os.ReadFile(filepath.Join(t.Home, addressFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return Addresses{}, err
	}
	if err != nil {
		if t.activeContext != "" && t.ContextName == "" {
			return Addresses{},
				Hint(fmt.Errorf("context %s: no node found in %s", t.activeContext, t.Home),
					fmt.Sprintf("start it, or go back to this directory's node: `cairn context remove %s`", private.Quote(t.activeContext)))
		}
		return Addresses{},
			Hint(fmt.Errorf("no node found in %s", t.Home), "start one with `cairn dev`, or name one with --endpoints, or with --context")
	}
	var a Addresses
	if err := json.Unmarshal(b, &a); err != nil {
		return a, fmt.Errorf("%s: %w", filepath.Join(t.Home, addressFile), err)
	}
	return a, nil
}

// checkHome rejects the default home, below the working directory, if another user may have created it: their node
// would receive this command's data and token. It accepts a home that the user named.
func (t *Target) checkHome() error {
	if t.Home != DefaultHome {
		return nil
	}
	if err := private.CheckDir(t.Home); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("home: %w", err)
	}
	return nil
}

// Ready is the JSON line that a node prints on stdout once it serves.
type Ready struct {
	Ready        bool   `json:"ready"`
	NodeID       uint32 `json:"node_id"`
	Wire         string `json:"wire"`
	HTTP         string `json:"http"`
	Cluster      string `json:"cluster,omitempty"` // blank without a peer port
	String       string `json:"string,omitempty"`
	Sift         string `json:"sift,omitempty"`
	Covenant     string `json:"covenant,omitempty"`
	CovenantHTTP string `json:"covenant_http,omitempty"`
	Process      string `json:"process,omitempty"`
	Home         string `json:"home"`
}
