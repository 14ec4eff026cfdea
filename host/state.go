package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/internal/config"
	"github.com/bulkhead-mcp/bulkhead/internal/ownedpath"
)

// placesOf are the places as one plugin has them: without a state folder where it is missing and cannot be
// made. One that exists is granted even where it cannot be written: what it holds can be read.
func placesOf(places config.Places, plugin string) config.Places {
	if places.State == "" {
		return places
	}
	if err := canMake(filepath.Join(places.State, plugin)); err != nil {
		places.State, places.NoState = "", err.Error()
	}
	return places
}

// canMake tells why a directory can be neither used nor made. It makes nothing.
func canMake(dir string) error {
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist) && at != "/":
			continue
		case err == nil && !info.IsDir():
			err = errors.New("not a directory")
		case err == nil && at != dir:
			err = unix.Access(at, unix.W_OK|unix.X_OK)
		}
		if err != nil {
			return fmt.Errorf("the state folder %s cannot be made: %s: %w: see that the user can write there, or set XDG_STATE_HOME", dir, at, reason(err))
		}
		return nil
	}
}

// reason leaves out what an error says of the operation and its path.
func reason(err error) error {
	if part := (*fs.PathError)(nil); errors.As(err, &part) {
		return part.Err
	}
	return err
}

// makeState makes the directory of all state folders, and refuses one that is not the user's own: since the
// start of the host another user may have made it.
func makeState(places config.Places, grant config.Grant) error {
	for _, m := range grant.FS {
		if !m.State {
			continue
		}
		if info, err := os.Stat(m.Path); err == nil && info.IsDir() {
			return ownedpath.Check(places.State)
		}
		return ownedpath.Make(places.State)
	}
	return nil
}
