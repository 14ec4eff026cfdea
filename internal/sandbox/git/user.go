package git

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/gitconfig"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/worktree/ignore"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// Identity is the author and committer of a commit.
type Identity struct {
	Name, Email string
}

// override takes from a configuration the parts of an identity that it sets.
func (i *Identity) override(config gitconfig.File) {
	for key, to := range map[string]*string{"name": &i.Name, "email": &i.Email} {
		if value, ok := config.Last("user", "", key); ok {
			*to = value
		}
	}
}

// User is the user's own configuration of git. The host reads it, since no operation may open the user's files.
type User struct {
	// Identity is the author for repositories whose configuration names none.
	Identity Identity
	// Excludes is the content of the user's own ignore file.
	Excludes []byte
	// Settings decide whether operations may change a repository.
	Settings Settings
}

// ReadUser reads the user's configuration as git does: user.name, user.email and core.excludesFile from $XDG_CONFIG_HOME/git/config and
// then from ~/.gitconfig, and the ignore file, which by default is $XDG_CONFIG_HOME/git/ignore. It reads neither the system's configuration
// nor included files; Settings says if there are any. If xdg is empty, home/.config is used. An absent file counts as empty. If a file cannot be read, the error names
// that file, and the content of the other files is returned nevertheless. ReadUser opens files by path, so it is for the host process.
func ReadUser(home, xdg string) (User, error) {
	if xdg == "" {
		xdg = filepath.Join(home, ".config")
	}
	var user User
	excludes := filepath.Join(xdg, "git", "ignore")
	var errs []error
	for _, name := range []string{filepath.Join(xdg, "git", "config"), filepath.Join(home, ".gitconfig")} {
		data, err := readUserFile(name, gitconfig.MaxSize)
		config, bad := gitconfig.Parse(data)
		if err = errors.Join(err, bad); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
			user.Settings.set(settingUnreadable, err.Error(), name)
			continue
		}
		user.Settings.override(config, name)
		user.Identity.override(config)
		if value, ok := config.Last("core", "", "excludesfile"); ok {
			if below, ok := strings.CutPrefix(value, "~/"); ok {
				value = filepath.Join(home, below)
			}
			excludes = value
		}
	}
	if filepath.IsAbs(excludes) {
		var err error
		if user.Excludes, err = readUserFile(excludes, ignore.MaxFile); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", excludes, err))
		}
	}
	return user, errors.Join(errs...)
}

// readUserFile reads a file of the user. The file is trusted, so any symbolic link is followed. If the file is absent, there is no content.
func readUserFile(name string, limit int64) ([]byte, error) {
	data, err := filesystem.ReadFile(filesystem.OS{}, name, limit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, filesystem.ErrNotRegular): // such as /dev/null, by which users disable a setting that names a file
		return nil, nil
	case errors.Is(err, filesystem.ErrTooLarge):
		return nil, fmt.Errorf("the file is larger than %d bytes", limit)
	case err != nil:
		return nil, errors.Unwrap(err)
	}
	return data, nil
}
