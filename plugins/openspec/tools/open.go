package tools

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/project"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// open finds where this call works.
func open() (*project.Project, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("working directory: %w", err)
	}
	top := cwd
	if named := os.Getenv("BULKHEAD_PROJECT"); named != "" {
		top = filepath.Clean(named)
	}
	return &project.Project{
		Files: filesystem.OS{},
		Cwd:   cwd,
		Top:   top,
		Now:   time.Now(),
		Owner: sum(os.Getenv("BULKHEAD_STATE")),
		Warn:  func(text string) { sdk.Log(sdk.LevelWarn, "%s", text) },
	}, nil
}

// openToRead opens the project. Where an archive was stopped, it is ended first, so that nobody reads half of
// one; if that cannot be done, what is there is read.
func openToRead() (*project.Project, error) {
	p, err := open()
	if err != nil || !p.Interrupted() {
		return p, err
	}
	if err := lock(p); err == nil {
		err = p.Recover()
		if err != nil {
			p.Warn("openspec: " + err.Error())
		}
	}
	return p, nil
}

// openToWrite opens the project for this call alone, before anything is read that the call will change.
func openToWrite() (*project.Project, error) {
	p, err := open()
	if err != nil {
		return nil, err
	}
	return p, lock(p)
}

// lock keeps other calls that write to the same project, in this server or another of the same user, waiting
// until this one ends. A host without locks does without: what a killed call left then stays for a person to
// see to.
func lock(p *project.Project) error {
	err := sdk.Lock("project " + sum(p.Place()))
	var refused *sdk.HostError
	if errors.As(err, &refused) && refused.Code == abi.HostUnavailable {
		return nil
	}
	if err != nil {
		return fmt.Errorf("lock the project: %w", err)
	}
	p.Alone = true
	return nil
}

// sum shortens a path to what tells it from others.
func sum(path string) string {
	digest := sha256.Sum256([]byte(path))
	return hex.EncodeToString(digest[:8])
}
