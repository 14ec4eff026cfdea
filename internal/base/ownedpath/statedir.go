package ownedpath

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
	if format, err := strconv.Atoi(text); err != nil || format > stateFormat {
		return &NewerError{File: path, Format: text}
	}
	return nil
}
