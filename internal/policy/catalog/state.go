package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/internal/base/platform"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

// placesOf returns the values of path variables for one plugin. State is empty if the state directory does not exist and
// cannot be created. An existing directory is granted even if it is not writable, since it can be read.
func placesOf(places config.Places, plugin string) config.Places {
	if places.State == "" {
		return places
	}
	if err := canMake(places.StateDir(plugin)); err != nil {
		places.State, places.NoState = "", err.Error()
	}
	return places
}

// canMake returns an error if a directory neither exists nor can be created. It creates nothing.
func canMake(dir string) error {
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist) && at != filepath.Dir(at):
			continue
		case err == nil && !info.IsDir():
			err = errors.New("not a directory")
		case err == nil && at != dir:
			err = platform.CheckCreateIn(at)
		}
		if err != nil {
			return fmt.Errorf("the state directory %s cannot be created: %s: %w: make it writable for the user, or set XDG_STATE_HOME", dir, at, usage.Cause(err))
		}
		return nil
	}
}
