package ownedpath

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// stateFormat is the version of the layout of the state directory. Version 1 writes no marker file. A version that changes the
// layout must write its number to the marker file.
const stateFormat = 1

const stateMarker = ".format"

// NewerError says that a newer version of the host has written the state directory.
type NewerError struct {
	File   string // path of the marker file
	Format string // content of the marker file
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("%s was written by a newer version of bulkhead: its format is %q, and this version supports %d", filepath.Dir(e.File), e.Format, stateFormat)
}

// Remedy returns what the user can do.
func (e *NewerError) Remedy() string {
	return "use the newer version, or set XDG_STATE_HOME to a different directory; nothing was changed"
}

// CheckState is Check for the host's state directory, whose format must also not be that of a newer version of the host.
func CheckState(dir string) error {
	if err := Check(dir); err != nil {
		return err
	}
	path := filepath.Join(dir, stateMarker)
	data, err := filesystem.ReadFile(filesystem.OS{}, path, 64)
	if err != nil {
		return filesystem.IgnoreAbsent(err)
	}
	text := strings.TrimSpace(string(data))
	if format, err := strconv.Atoi(text); err != nil || format > stateFormat {
		return &NewerError{File: path, Format: text}
	}
	return nil
}
