// Package store keeps prompts and resources in a directory on disk, which has one subdirectory for each workspace, with
// one for each project. Open a project, then read it with List and Load, and change it with Create, Find and Replace or
// Delete, and Import.
//
// Readers need no lock, because changes and imports are atomic. A writer takes the lock Project.LockName before its
// first read. Package item validates names and contents; package store checks only that the files of the store are
// consistent.
package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// format is the version of the format of all files in a store. This plugin does not change files of a higher version.
const format = 1

// MaxItems is the maximum number of items in a project, prompts and resources together.
const MaxItems = 10_000

// The errors that the methods of Project return.
var (
	ErrNotFound  = errors.New("there is no such item")
	ErrNameTaken = errors.New("an item has that name")
	ErrURITaken  = errors.New("a resource has that URI")
	ErrFull      = fmt.Errorf("a project holds at most %d items", MaxItems)
	ErrNewer     = errors.New("the store was written by a newer version")
	ErrDamaged   = errors.New("stored item is damaged")
)

// Project is a project in the store.
type Project struct {
	workspace, name string
	dir             string // the directory with the project's files
	warn            func(text string)
	files           filesystem.FS
}

// Open returns a project of the store in the directory state. Open accesses no file. The project calls warn with
// messages about damaged files, which contain the paths of the files.
func Open(state, workspace, project string, warn func(text string)) *Project {
	return &Project{
		workspace: workspace,
		name:      project,
		dir:       filepath.Join(state, key(workspace), key(project)),
		warn:      warn,
		files:     filesystem.OS{},
	}
}

// now returns the current time in the format of item headers and labels.
func now() string { return time.Now().UTC().Format(time.RFC3339Nano) }

// key returns the SHA-256 hash of name in hexadecimal, which is a valid file name on every file system.
func key(name string) string { return digest.Hex([]byte(name)) }

// LockName returns the name of the lock that a writer of this project holds.
func (p *Project) LockName() string { return "store " + key(p.workspace) + "/" + key(p.name) }

// Names of files and directories in the directory of a workspace or of a project that are neither a project nor an
// item.
const (
	workspaceFile = "workspace.json"
	projectFile   = "project.json"
	importFolder  = "import"
)

func (p *Project) workspaceFile() string { return filepath.Join(filepath.Dir(p.dir), workspaceFile) }

func (p *Project) projectFile() string { return filepath.Join(p.dir, projectFile) }

// label is the content of the files workspace.json and project.json, which hold the name of a workspace or of a
// project.
type label struct {
	Format  int    `json:"format"`
	Name    string `json:"name"`
	Created string `json:"created_at"`
}

// Exists reports whether the project is in the store. It returns an error if the label of the workspace or of the
// project is damaged.
func (p *Project) Exists() (bool, error) {
	if _, err := p.readLabel(p.workspaceFile(), p.workspace); err != nil {
		return false, err
	}
	return p.readLabel(p.projectFile(), p.name)
}

// maxHeader is the maximum size of a label and of an item's header, in bytes.
const maxHeader = 64 << 10

// readLabel reports whether the label at path exists. A damaged label and a label with another name than the argument
// are errors.
func (p *Project) readLabel(path, name string) (bool, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxHeader+1))
	if err != nil {
		return false, err
	}
	if isNewer(data) {
		return false, ErrNewer
	}
	var l label
	if err := json.Unmarshal(data, &l); err != nil {
		return false, p.damagedLabel(path, err.Error())
	}
	if l.Format != format || l.Name != name {
		return false, p.damagedLabel(path, fmt.Sprintf("format %d and name %q, expected format %d and name %q", l.Format, l.Name, format, name))
	}
	return true, nil
}

func (p *Project) damagedLabel(path, why string) error {
	p.warn(fmt.Sprintf("%s is damaged: %s; restore the file from a backup", path, why))
	return fmt.Errorf("the store is damaged: %s is invalid (the log contains its path)", filepath.Base(path))
}

// isNewer reports whether data, the JSON of a label or of a header, states a format higher than format. The other
// members of the JSON may be invalid.
func isNewer(data []byte) bool {
	var of struct {
		Format int `json:"format"`
	}
	// Unmarshal fails if the format is not a number. The file is then damaged, which the caller detects.
	return json.Unmarshal(data, &of) == nil && of.Format > format
}

// ensure creates the project if the project does not exist. It writes the project's label last, because Exists looks
// for that label.
func (p *Project) ensure() error {
	if err := atomicfile.MkdirAll(p.dir, p.options()); err != nil {
		return err
	}
	if err := p.ensureLabel(p.workspaceFile(), p.workspace); err != nil {
		return err
	}
	return p.ensureLabel(p.projectFile(), p.name)
}

// ensureLabel writes the label with name to path if no file exists there.
func (p *Project) ensureLabel(path, name string) error {
	if there, err := p.readLabel(path, name); there || err != nil {
		return err
	}
	line, err := newLabel(name)
	if err != nil {
		return err
	}
	return p.put(path, line)
}

// newLabel returns the content of a new label with name.
func newLabel(name string) ([]byte, error) {
	line, err := json.Marshal(label{format, name, now()})
	return append(line, '\n'), err
}
