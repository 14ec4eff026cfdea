package git

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Identity is whose name a commit bears.
type Identity struct {
	Name, Email string
}

// User is what the host says of the user, since no operation reads the user's own files.
type User struct {
	// Identity is used where the repository's configuration has none.
	Identity Identity
	// Excludes is the content of the user's own ignore file; empty means none.
	Excludes []byte
}

// maxIgnoreFile bounds one file of ignore patterns, in bytes.
const maxIgnoreFile = 1 << 20

// ReadUser is for the host process: it opens files by path. It reads what git itself would of the user's: user.name, user.email and core.excludesFile from
// $XDG_CONFIG_HOME/git/config and then ~/.gitconfig, and that ignore file, which is
// $XDG_CONFIG_HOME/git/ignore if none is named. Of the system's configuration and of included files
// nothing is read. An empty xdg means home/.config. Files that are not there are nothing; the error names
// one that cannot be read, and what could be read comes with it.
func ReadUser(home, xdg string) (User, error) {
	if xdg == "" {
		xdg = filepath.Join(home, ".config")
	}
	var user User
	excludes := filepath.Join(xdg, "git", "ignore")
	var errs []error
	for _, name := range []string{filepath.Join(xdg, "git", "config"), filepath.Join(home, ".gitconfig")} {
		data, err := readUserFile(name, maxSettings)
		s, bad := parseSettings(data)
		if err = errors.Join(err, bad); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
			continue
		}
		for key, to := range map[string]*string{"name": &user.Identity.Name, "email": &user.Identity.Email} {
			if value, ok := s.last("user", "", key); ok {
				*to = value
			}
		}
		if value, ok := s.last("core", "", "excludesfile"); ok {
			if below, ok := strings.CutPrefix(value, "~/"); ok {
				value = filepath.Join(home, below)
			}
			excludes = value
		}
	}
	if filepath.IsAbs(excludes) {
		var err error
		if user.Excludes, err = readUserFile(excludes, maxIgnoreFile); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", excludes, err))
		}
	}
	return user, errors.Join(errs...)
}

// readUserFile reads one of the user's own files, wherever its links lead; an absent one is empty.
func readUserFile(name string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	if !info.Mode().IsRegular() { // such as /dev/null, by which git's own settings are turned off
		return nil, nil
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("over %d bytes", limit)
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}
