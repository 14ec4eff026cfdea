// Package statedir checks the host's state directory: other users must not be able to write to it, and its format must not be
// that of a newer version of the host.
package statedir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
)

// Format is the version of the layout of the state directory. Version 1 writes no marker file. A version that changes the
// layout must write its number to the marker file.
const Format = 1

const marker = ".format"

// NewerError says that a newer version of the host has written the directory.
type NewerError struct {
	File   string // path of the marker file
	Format string // content of the marker file
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("%s was written by a newer version of bulkhead: its format is %q, and this version supports %d", filepath.Dir(e.File), e.Format, Format)
}

// Remedy returns what the user can do.
func (e *NewerError) Remedy() string {
	return "use the newer version, or set XDG_STATE_HOME to a different directory; nothing was changed"
}

// Check returns an error if dir must not be used. It accepts a directory that does not exist.
func Check(dir string) error {
	if err := ownedpath.Check(dir); err != nil {
		return err
	}
	path := filepath.Join(dir, marker)
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, 64))
	if err != nil {
		return err
	}
	text := strings.TrimSpace(string(data))
	if format, err := strconv.Atoi(text); err != nil || format > Format {
		return &NewerError{File: path, Format: text}
	}
	return nil
}

// Explain formats an error of Check with its remedy.
func Explain(err error) string {
	if newer := (*NewerError)(nil); errors.As(err, &newer) {
		return newer.Error() + ": " + newer.Remedy()
	}
	return ownedpath.Explain(err)
}
