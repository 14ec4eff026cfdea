package tools

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/archive"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manager"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/redact"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/fetch"
)

// open returns the Manager for one call.
func open(ctx context.Context) (*manager.Manager, error) {
	project := os.Getenv("BULKHEAD_PROJECT")
	if project == "" {
		cwd, err := os.Getwd()
		if err != nil {
			return nil, fmt.Errorf("cannot find the working directory: %w", err)
		}
		project = cwd
	}
	home := os.Getenv("HOME")
	if !filepath.IsAbs(home) {
		home = ""
	} else {
		home = filepath.Clean(home)
	}
	return &manager.Manager{
		Files:   files.Disk{Modes: modes},
		Project: filepath.Clean(project),
		Home:    home,
		Now:     time.Now(),
		Limits:  archive.DefaultLimits(),
		Lock:    lock,
		Probe:   prober(ctx),
		Warn:    func(text string) { sdk.Log(sdk.LevelWarn, "%s", redact.Text(text)) },
	}, nil
}

// lock takes the plugin's lock called name and the lock on the directory folder, and holds both until the call ends. It
// does not lock a directory that does not exist or is not writable. If the host does not support locks, lock returns
// nil.
func lock(name, folder string) error {
	var err error
	if info, look := os.Stat(folder); look == nil && info.IsDir() {
		err = sdk.LockFolder(name, folder)
	} else {
		err = sdk.Lock(name)
	}
	if sdk.ErrorCode(err) == abi.HostDenied {
		err = sdk.Lock(name)
	}
	if sdk.ErrorCode(err) == abi.HostUnavailable {
		return nil
	}
	return err
}

// modes returns the permission bits of the file at path. If set is not nil, modes sets the bits to *set first. It uses
// host operations, because WASI has no permission bits. If the host does not support these operations, all files seem
// to have the same bits.
func modes(path string, set *fs.FileMode) (fs.FileMode, error) {
	request := abi.FileMode{Path: path}
	if set != nil {
		bits := uint32(set.Perm())
		request.Mode = &bits
	}
	var has abi.FileModeResult
	err := sdk.HostCall(abi.OpFSMode, request, &has)
	switch sdk.ErrorCode(err) {
	case abi.HostUnavailable:
		return 0o644, nil
	case abi.HostDenied:
		return 0, fmt.Errorf("%w: %w", fs.ErrPermission, err)
	case abi.HostFailed:
		if _, look := os.Stat(path); look != nil {
			err = look // the error of Stat tells whether the file exists
		}
	}
	return fs.FileMode(has.Mode), err
}

// patience is the maximum time of all probes in one call together.
const patience = 10 * time.Second

// prober returns a function that reports whether a server responds at a URL, with any status. The function returns
// false if the plugin has no grant for the server.
func prober(ctx context.Context) func(url string) bool {
	until := time.Now().Add(patience)
	return func(url string) bool {
		ctx, cancel := context.WithDeadline(ctx, until)
		defer cancel()
		_, err := fetch.Do(ctx, fetch.Request{URL: url, Method: "HEAD", NoRedirects: true})
		return err == nil
	}
}
