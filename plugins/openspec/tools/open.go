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

// open returns the project of this call.
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

// openToRead opens the project. It recovers an interrupted archive first, so that a reader does not see a part of one; if
// that fails, the call reads the files as they are.
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

// openToWrite locks and opens the project, before the call reads what it will change.
func openToWrite() (*project.Project, error) {
	p, err := open()
	if err != nil {
		return nil, err
	}
	return p, lock(p)
}

// lock waits until no other call that writes to the same project runs, in this server or any other one on this machine: the
// name excludes those with the same state directory, and the lock on the project's directory all others. A directory that
// is not writable needs no lock. On a host without locks, interrupted calls are not recovered.
func lock(p *project.Project) error {
	name := "project " + sum(p.Place())
	err := sdk.LockFolder(name, p.Place())
	if code(err) == abi.HostDenied {
		err = sdk.Lock(name)
	}
	if code(err) == abi.HostUnavailable {
		return nil
	}
	if err != nil {
		return fmt.Errorf("lock the project: %w", err)
	}
	p.Alone = true
	return nil
}

// code returns the code of an error of the host; "" for other errors.
func code(err error) string {
	var refused *sdk.HostError
	if errors.As(err, &refused) {
		return refused.Code
	}
	return ""
}

// sum returns a short digest of a path.
func sum(path string) string {
	digest := sha256.Sum256([]byte(path))
	return hex.EncodeToString(digest[:8])
}
