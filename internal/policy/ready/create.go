package ready

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// File is a file or directory to create.
type File struct {
	Path    string `json:"path"`
	Content string `json:"content,omitempty"`
	IsDir   bool   `json:"is_directory,omitempty"`

	root   string // the project, the home directory or the state directory, which contains Path
	rel    string // Path relative to root, with slashes
	permit Permit
}

// Permit returns an error if the plugin may not write the file at an absolute path, which need not exist. It decides on the
// resolved path, since a manifest could name a symbolic link, or a file that the host hides from the plugin, such as a Git hook
// or a config.
type Permit func(path string) error

// Missing returns what Create has to create so that the requirement is met: only what does not exist, and only what permit
// allows. Create calls permit again, since permissions may change while the user decides whether to consent.
func Missing(m *manifest.Manifest, r manifest.Requirement, places config.Places, permit Permit) ([]File, error) {
	var files []File
	for _, c := range r.Create {
		f, err := locate(m, c, places)
		if err != nil {
			return nil, err
		}
		if err := permit(f.Path); err != nil {
			return nil, fmt.Errorf("plugin %s: %w", m.Name, err)
		}
		f.permit = permit
		if !exists(f.root, f.Path) {
			files = append(files, f)
		}
	}
	return files, nil
}

func locate(m *manifest.Manifest, c manifest.Creation, places config.Places) (File, error) {
	variable, rest, err := manifest.SplitPath(c.Path)
	if err != nil {
		return File{}, fmt.Errorf("plugin %s: %s %w", m.Name, c.Path, err)
	}
	if variable == "" {
		return File{}, fmt.Errorf("plugin %s: %s is absolute: only paths in the project, the home or the state directory can be created", m.Name, c.Path)
	}
	root, missing := places.Resolve("${"+variable+"}", m.Name)
	if missing != "" {
		return File{}, fmt.Errorf("plugin %s: %s cannot be created: ${%s} is unset here", m.Name, c.Path, missing)
	}
	content := strings.ReplaceAll(c.Content, manifest.ProjectPlaceholder, ProjectName(places))
	return File{Path: filepath.Join(root, rest), Content: content, IsDir: c.IsDir, root: root, rel: strings.TrimPrefix(rest, "/")}, nil
}

// ProjectName returns the name of the project's directory, with - for each character that might need quotes in a file.
func ProjectName(places config.Places) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r) {
			return r
		}
		return '-'
	}, filepath.Base(places.Project))
	return cmp.Or(strings.Trim(name, ".-_"), "project")
}

// Value returns the value that bulkhead init writes for the variable of a requirement; empty if the manifest has none.
func Value(r manifest.Requirement, places config.Places) string {
	return strings.ReplaceAll(r.Value, manifest.ProjectPlaceholder, ProjectName(places))
}

// Create creates the files in order, with their parents. It returns the paths that it has created, even if it fails. It overwrites
// nothing, and follows no symbolic link out of the root of a file.
func Create(files []File) (created []string, err error) {
	for _, f := range files {
		if err := f.permit(f.Path); err != nil {
			return created, err
		}
		root, err := os.OpenRoot(f.root)
		if err != nil {
			return created, err
		}
		made, err := f.create(root)
		created = append(created, made...)
		if link := f.outwardLink(root); err != nil && link != "" {
			err = fmt.Errorf("%s is a symbolic link to a path outside of %s: replace it with a directory", link, f.root)
		}
		if err = errors.Join(err, root.Close()); err != nil {
			return created, fmt.Errorf("%s cannot be created: %w", f.Path, err)
		}
	}
	return created, nil
}

func (f File) create(root *os.Root) (created []string, err error) {
	dirs := f.rel
	if !f.IsDir {
		dirs = path.Dir(f.rel)
	}
	for i, c := range dirs + "/" {
		if c != '/' || dirs == "." {
			continue
		}
		switch err := root.Mkdir(dirs[:i], 0o755); {
		case err == nil:
			created = append(created, filepath.Join(f.root, dirs[:i]))
		case !errors.Is(err, fs.ErrExist):
			return created, usage.Cause(err)
		}
	}
	if f.IsDir {
		return created, nil
	}
	made, err := f.write(root)
	if made {
		created = append(created, f.Path)
	}
	return created, err
}

// outwardLink returns the symbolic link in the path that resolves to a path outside of the root, or to nothing; "" if there is
// none.
func (f File) outwardLink(root *os.Root) string {
	for at := f.rel; at != "."; at = path.Dir(at) {
		info, err := root.Lstat(at)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		if _, err := root.Stat(at); err != nil {
			return filepath.Join(f.root, at)
		}
	}
	return ""
}

// write creates the file under a temporary name and then links it to its final name, which therefore never refers to a partial
// file. made is false if a file with the final name exists.
func (f File) write(root *os.Root) (made bool, err error) {
	temporary := path.Join(path.Dir(f.rel), config.HolderPrefix+rand.Text()+".tmp")
	file, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return false, usage.Cause(err)
	}
	_, err = file.WriteString(f.Content)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = root.Link(temporary, f.rel)
	}
	made = err == nil
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return made, errors.Join(err, root.Remove(temporary))
}
