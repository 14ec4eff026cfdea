// Package store is the folder on disk that holds prompts and resources, by workspace and project. Open a
// project, then read it with List and Load, and change it with Create, Find and Replace or Delete, and Import.
//
// Readers need no lock: each file is whole or not there at every moment, and so is an import. Who changes
// something holds the lock called Project.LockName from before the first read that the change rests on.
// Rules for names and contents are those of package item; nothing is checked here but what keeps the
// store in order.
package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// format is the version of all files of a store. One with a higher number is not touched.
const format = 1

// MaxItems is the most that a project holds, prompts and resources together.
const MaxItems = 10_000

// Why something was not read or changed.
var (
	ErrNotFound  = errors.New("there is no such item")
	ErrNameTaken = errors.New("an item has that name")
	ErrURITaken  = errors.New("a resource has that URI")
	ErrFull      = fmt.Errorf("a project holds at most %d items", MaxItems)
	ErrNewer     = errors.New("the store was written by a newer version")
	ErrDamaged   = errors.New("stored item is damaged")
)

// Project is one project's place in the store.
type Project struct {
	workspace, name string
	dir             string // the project's folder
	warn            func(text string)
	files           filesystem.FS
}

// Open returns the place of a project in the state folder; it touches no file. What is damaged is told to
// warn, by its path.
func Open(state, workspace, project string, warn func(text string)) *Project {
	return &Project{
		workspace: workspace,
		name:      project,
		dir:       filepath.Join(state, key(workspace), key(project)),
		warn:      warn,
		files:     filesystem.OS{},
	}
}

// now is the time as the store writes it.
func now() string { return time.Now().UTC().Format(time.RFC3339Nano) }

// key stands for a name in paths: any name is as good as another, on any file system.
func key(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}

// LockName names the lock that a writer of this project holds.
func (p *Project) LockName() string { return "store " + key(p.workspace) + "/" + key(p.name) }

// What lies in the folders of a workspace and of a project beside projects and items.
const (
	workspaceFile = "workspace.json"
	projectFile   = "project.json"
	importFolder  = "import"
)

func (p *Project) workspaceFile() string { return filepath.Join(filepath.Dir(p.dir), workspaceFile) }

func (p *Project) projectFile() string { return filepath.Join(p.dir, projectFile) }

// label is what workspace.json and project.json hold.
type label struct {
	Format  int    `json:"format"`
	Name    string `json:"name"`
	Created string `json:"created_at"`
}

// Exists tells whether the project is in the store. The error says why the store cannot be used.
func (p *Project) Exists() (bool, error) {
	if _, err := p.readLabel(p.workspaceFile(), p.workspace); err != nil {
		return false, err
	}
	return p.readLabel(p.projectFile(), p.name)
}

// maxHeader is the most that a label or an item's header takes, in bytes.
const maxHeader = 64 << 10

// readLabel tells whether a label is there, and refuses one that is not name's.
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
	if newer(data) {
		return false, ErrNewer
	}
	var l label
	if err := json.Unmarshal(data, &l); err != nil {
		return false, p.damagedLabel(path, err.Error())
	}
	if l.Format != format || l.Name != name {
		return false, p.damagedLabel(path, fmt.Sprintf("it has format %d and the name %q, and should have %d and %q", l.Format, l.Name, format, name))
	}
	return true, nil
}

func (p *Project) damagedLabel(path, why string) error {
	p.warn(fmt.Sprintf("%s is damaged: %s", path, why))
	return fmt.Errorf("the store is damaged: %s cannot be read (the log has its path)", filepath.Base(path))
}

// newer tells whether a label or header is of a later format, whatever else it holds.
func newer(data []byte) bool {
	var of struct {
		Format int `json:"format"`
	}
	// One whose format is no number is damaged, which the caller finds out.
	return json.Unmarshal(data, &of) == nil && of.Format > format
}

// make lays the project out in the store, if it is not there yet. The label comes last: without it there
// is no project.
func (p *Project) make() error {
	if err := atomicfile.MkdirAll(p.dir, p.options()); err != nil {
		return err
	}
	for _, place := range []struct{ path, name string }{{p.workspaceFile(), p.workspace}, {p.projectFile(), p.name}} {
		there, err := p.readLabel(place.path, place.name)
		if err != nil {
			return err
		}
		if there {
			continue
		}
		data, err := json.Marshal(label{format, place.name, now()})
		if err != nil {
			return err
		}
		if err := p.put(place.path, append(data, '\n')); err != nil {
			return err
		}
	}
	return nil
}
