package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/project"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// open returns the project on which this call works.
func open() (*project.Project, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("cannot get the working directory: %w", err)
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
		Owner: digest.Hex([]byte(os.Getenv("BULKHEAD_STATE")))[:16],
		Warn:  func(text string) { sdk.Log(sdk.LevelWarn, "%s", text) },
	}, nil
}

// openToRead opens the project. It first recovers an interrupted archive, so that the call does not read the files of
// an incomplete archive. If the recovery fails, the call reads the files in their current state.
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

// openToWrite opens and locks the project. The call must have the lock before it reads files that it changes.
func openToWrite() (*project.Project, error) {
	p, err := open()
	if err != nil {
		return nil, err
	}
	return p, lock(p)
}

// lock waits until no other call on this machine writes to the same project. The lock on the name excludes calls with
// the same state directory, and the lock on the project's directory excludes all other calls. lock does not lock a
// directory that is not writable. On a host without locks, lock does nothing, and interrupted calls are not recovered.
func lock(p *project.Project) error {
	name := "project " + digest.Hex([]byte(p.Place()))[:16]
	err := sdk.LockFolder(name, p.Place())
	if sdk.ErrorCode(err) == abi.HostDenied {
		err = sdk.Lock(name)
	}
	if sdk.ErrorCode(err) == abi.HostUnavailable {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot lock the project: %w", err)
	}
	p.Alone = true
	return nil
}
