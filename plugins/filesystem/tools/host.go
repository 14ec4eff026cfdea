package tools

import (
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/filesystem/disk"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// open asks the host what is granted.
func open() (disk.Disk, error) {
	d := disk.Disk{Home: os.Getenv("HOME"), Mode: mode, CopyMode: copyMode}
	var grants abi.FileGrants
	if err := sdk.HostCall(abi.OpFSGrants, nil, &grants); err != nil {
		return d, err
	}
	for _, g := range grants.Directories {
		for _, alias := range g.Aliases {
			d.Allowed = append(d.Allowed, disk.Directory{Path: alias, Real: g.Path})
		}
		d.Allowed = append(d.Allowed, disk.Directory{Path: g.Path, Real: g.Path})
	}
	return d, nil
}

func mode(path string) (fs.FileMode, time.Time, error) {
	var has abi.FileModeResult
	var created time.Time
	err := hostError(sdk.HostCall(abi.OpFSMode, abi.FileMode{Path: path}, &has))
	if has.Created != nil {
		created = time.UnixMilli(*has.Created)
	}
	return fs.FileMode(has.Mode), created, err
}

// copyMode gives a file the permission bits of another one. WASI has none.
func copyMode(from, to string) error {
	has, _, err := mode(from)
	if err != nil {
		return err
	}
	bits := uint32(has)
	return hostError(sdk.HostCall(abi.OpFSMode, abi.FileMode{Path: to, Mode: &bits}, nil))
}

// hostError makes a refusal of the host match fs.ErrPermission.
func hostError(err error) error {
	if sdk.ErrorCode(err) == abi.HostDenied {
		return fmt.Errorf("%w: %w", fs.ErrPermission, err)
	}
	return err
}
