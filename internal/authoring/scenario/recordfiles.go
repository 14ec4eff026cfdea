package scenario

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	slashpath "path"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/platform"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/worktree/ignore"
)

// maxRecorded bounds the files whose content is recorded, in bytes.
const maxRecorded = 256 << 10

// secretNames are patterns of names in lower case. Files with such names usually contain secrets, and a recorded scenario is committed.
var secretNames = []string{"*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.gpg", "*.asc", "*.age", "*.env", "*.tfvars", "*.tfstate",
	"id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "credential*", "secret*", "*_secret*", "*-secret*", "*.secret*", "password*", "*.password*", "htpasswd", "_netrc",
	"token", "token.*", "tokens", "tokens.*", "service-account*.json", "service_account*.json"}

// whyLeftOut returns the reason why a file or directory with that name is not recorded; empty if it is.
func whyLeftOut(name string) string {
	lower := strings.ToLower(name)
	if strings.HasPrefix(name, ".") {
		return "hidden"
	}
	for _, pattern := range secretNames {
		if match, _ := slashpath.Match(pattern, lower); match { // the patterns are valid
			return "may contain a secret"
		}
	}
	return ""
}

// recordFiles writes the table [scenario.files] with the files of a directory, except those that are hidden, ignored by Git or secret by
// their names. It returns the files that were written and those that were left out, each with the reason.
func recordFiles(ctx context.Context, b *strings.Builder, dir string) (files, leftOut []string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	if dir, err = filepath.Abs(dir); err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, nil, err
	}
	// The repository of a linked worktree is elsewhere, so that it is searched in the whole file system.
	top, err := os.Open(filepath.VolumeName(dir) + string(filepath.Separator))
	if err != nil {
		return nil, nil, err
	}
	defer top.Close()
	ignored, err := ignoredIn(ctx, top, dir)
	if err != nil {
		return nil, nil, err
	}
	b.WriteString("\n[scenario.files]\n")
	size := 0
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		why := whyLeftOut(entry.Name())
		if why == "" {
			is, err := ignored(name, entry.IsDir())
			if err != nil {
				return err
			}
			if is {
				why = "ignored by Git"
			}
		}
		if why != "" {
			leftOut = append(leftOut, fmt.Sprintf("%s (%s)", name, why))
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if entry.IsDir() {
			return nil
		}
		data, err := readRecorded(root, name, &size)
		if err != nil {
			return tomlfile.Problems{{File: filepath.Join(dir, name), What: "cannot be part of a scenario file: " + err.Error(),
				Remedy: "move the directory into " + Dir + "/ of the plugin, so that the scenario can name it with from"}}
		}
		files = append(files, name)
		fmt.Fprintf(b, "%s = %s\n", tomlfile.Key(name), contentValue(data, escapePlaceholders))
		return nil
	})
	return files, leftOut, err
}

// readRecorded reads a regular file, and adds its size to that of the files before.
func readRecorded(root *os.Root, name string, size *int) ([]byte, error) {
	data, err := readRegular(root, name, int64(maxRecorded-*size))
	if *size += len(data); err == nil && *size > maxRecorded {
		err = fmt.Errorf("the files have more than %d KiB in total", maxRecorded>>10)
	}
	return data, err
}

// ignoredIn returns a function that reports whether Git ignores a file or directory of dir, whose repository is below the directory top.
// Outside of a repository nothing is ignored.
func ignoredIn(ctx context.Context, top *os.File, dir string) (func(name string, isDir bool) (bool, error), error) {
	below, err := beneath.New(top)
	if err != nil {
		return nil, err
	}
	at := platform.TreePath(top.Name())
	found, err := repo.NewRoot(below.Following(), at, at).Find(platform.TreePath(dir))
	if err != nil {
		return nil, err
	}
	if found == nil {
		return func(string, bool) (bool, error) { return false, nil }, nil
	}
	config, err := found.Config()
	if err != nil {
		return nil, err
	}
	matcher, err := ignore.New(ctx, found, config.Bool("core", "ignorecase", false), nil)
	if err != nil {
		return nil, err
	}
	prefix := strings.TrimPrefix(strings.TrimPrefix(platform.TreePath(dir), found.Work.Abs(found.Top)), "/")
	return func(name string, isDir bool) (bool, error) {
		return matcher.IgnoresPath(slashpath.Join(prefix, name), isDir)
	}, nil
}
