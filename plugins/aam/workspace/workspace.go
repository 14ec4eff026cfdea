// Package workspace is the folder .aam of a project: what is installed (the lock file and the packages' folders)
// and where it was deployed (a ledger of our own). Read says what is there; Install and Uninstall change it,
// together with what is deployed, whole or not at all.
//
// Callers of Install and Uninstall hold a lock: one of them runs at a time.
package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/deploy"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/journal"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/lockfile"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/pkgname"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/registry"
)

// Workspace is that of one project.
type Workspace struct {
	Files   files.System
	Project string
	Home    string // "" for none: only what is deployed to codex goes there
	Now     time.Time
}

const folder = ".aam"

// Dir returns the workspace's folder.
func (w *Workspace) Dir() string { return filepath.Join(w.Project, folder) }

// PackagesDir returns the folder that packages are in.
func (w *Workspace) PackagesDir() string { return filepath.Join(w.Dir(), "packages") }

// PackageDir returns the folder of one package.
func (w *Workspace) PackageDir(name string) string {
	return filepath.Join(w.PackagesDir(), pkgname.Folder(name))
}

// StageDir returns the folder that holds what is not finished. Anything in it is left from something that was
// interrupted.
func (w *Workspace) StageDir() string { return filepath.Join(w.Dir(), ".tmp") }

// DownloadsDir returns the folder in which other programs keep what they download.
func (w *Workspace) DownloadsDir() string { return filepath.Join(w.PackagesDir(), ".downloads") }

// Exists tells whether the project has a workspace.
func (w *Workspace) Exists() bool { return files.IsDir(w.Files, w.Dir()) }

// Manifest reads the manifest of an installed package.
func (w *Workspace) Manifest(name string) (*manifest.Manifest, error) {
	return manifest.Load(w.Files, w.PackageDir(name))
}

// Lock reads what is installed.
func (w *Workspace) Lock() (*lockfile.Lock, error) { return lockfile.Load(w.Files, w.Project) }

// Recover undoes an install or uninstall that was stopped half way, and clears what was staged.
func (w *Workspace) Recover() error { return w.journal().Recover() }

// Interrupted tells whether an install or uninstall was stopped half way.
func (w *Workspace) Interrupted() bool { return w.journal().Interrupted() }

// journal is where changes of the project, and of what codex has in the home folder, are made.
func (w *Workspace) journal() journal.Journal {
	roots := []journal.Root{{Dir: w.Project, Stage: w.StageDir(), Only: append([]string{folder}, deploy.InProject...)}}
	if w.Home != "" {
		codex := filepath.Join(w.Home, ".codex")
		// Of this project: others deploy to the same folder.
		sum := sha256.Sum256([]byte(w.Project))
		stage := filepath.Join(codex, ".aam-"+hex.EncodeToString(sum[:8]))
		roots = append(roots, journal.Root{Dir: codex, Stage: stage, Only: deploy.InHome})
	}
	return journal.Journal{Files: w.Files, Roots: roots}
}

// state is what a change begins with: what is installed and deployed, and the files that say so.
type state struct {
	lock      *lockfile.Lock
	ledger    *ledger
	lockWas   []byte // nil where there was no file
	ledgerWas []byte
	manifests map[string]*manifest.Manifest // of installed packages, once read; nil if that cannot be done
}

// read undoes what was interrupted, and reads what then is there.
func (w *Workspace) read() (*state, error) {
	if err := w.journal().Recover(); err != nil {
		return nil, err
	}
	s := &state{manifests: map[string]*manifest.Manifest{}}
	var err error
	if s.lockWas, err = w.readFile(lockfile.Path(w.Project), lockfile.MaxSize); err != nil {
		return nil, fmt.Errorf("lock file: %w", err)
	}
	if s.lock, err = lockfile.Parse(s.lockWas); err != nil {
		_, err := w.Lock() // the same again, and it says which file and what to do
		return nil, err
	}
	s.ledger, s.ledgerWas, err = w.readLedger()
	return s, err
}

// readFile returns a file's content; nil if it is not there. A link must not lead out of the project: its content
// would be shown, or written over.
func (w *Workspace) readFile(path string, limit int64) ([]byte, error) {
	data, err := files.ReadInside(w.Files, w.Project, path, limit)
	if files.Absent(err) {
		return nil, nil
	}
	if err == nil && data == nil {
		data = []byte{}
	}
	return data, err
}

// write adds the lock file and the ledger to a change.
func (w *Workspace) write(c *journal.Change, s *state) error {
	lock, err := s.lock.Encode(registry.Timestamp(w.Now))
	if err != nil {
		return err
	}
	ledger, err := s.ledger.encode()
	if err != nil {
		return err
	}
	if err := w.fits(lock, ledger); err != nil {
		return err
	}
	if err := c.File(lockfile.Path(w.Project), s.lockWas, lock); err != nil {
		return err
	}
	if string(ledger) == string(s.ledgerWas) {
		return nil
	}
	return c.File(w.ledgerPath(), s.ledgerWas, ledger)
}

// fits refuses what could not be read again: it would lock the project up.
func (w *Workspace) fits(lock, ledger []byte) error {
	if len(lock) > lockfile.MaxSize || len(ledger) > maxLedger {
		return fault.New(fault.InvalidArgument, "so much would be installed that what is in %s could not be read again", w.Dir())
	}
	return nil
}

// manifest returns the manifest of an installed package; nil where that cannot be read.
func (w *Workspace) manifest(s *state, name string) *manifest.Manifest {
	m, known := s.manifests[name]
	if !known {
		m, _ = w.Manifest(name) // a package that is damaged can be replaced and removed all the same
		s.manifests[name] = m
	}
	return m
}

// shared tells whether an installed package other than name has an artifact of that type and name.
func (w *Workspace) shared(s *state, name string, t manifest.Type, artifact string) bool {
	for _, entry := range s.lock.Packages {
		if entry.Name == name {
			continue
		}
		if m := w.manifest(s, entry.Name); m != nil && declares(m, t, artifact) {
			return true
		}
	}
	return false
}

func declares(m *manifest.Manifest, t manifest.Type, name string) bool {
	for _, a := range m.Artifacts {
		if a.Type == t && a.Name == name {
			return true
		}
	}
	return false
}
