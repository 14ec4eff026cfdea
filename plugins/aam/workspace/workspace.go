// Package workspace manages the directory .aam of a project. The directory contains the lock file and the directories
// of the installed packages. It also contains the ledger of deployments, which the aam program does not have. Install
// and Uninstall change these files and the deployed files in one transaction. Callers of Install and Uninstall must
// hold a lock.
package workspace

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/deploy"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/journal"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/lockfile"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/pkgname"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/registry"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// Workspace is the directory .aam of a project, together with the deployed files.
type Workspace struct {
	Files   files.System
	Project string
	Home    string // the home directory, which only deployments to codex need; "" if unknown
	Now     time.Time
}

const folder = ".aam"

// Dir returns the directory of the workspace.
func (w *Workspace) Dir() string { return filepath.Join(w.Project, folder) }

// PackagesDir returns the directory of the installed packages.
func (w *Workspace) PackagesDir() string { return filepath.Join(w.Dir(), "packages") }

// PackageDir returns the directory of an installed package.
func (w *Workspace) PackageDir(name string) string {
	return filepath.Join(w.PackagesDir(), pkgname.Folder(name))
}

// StageDir returns the path of the staging directory. Outside of a transaction, the entries of that directory were left
// behind by an interrupted transaction.
func (w *Workspace) StageDir() string { return filepath.Join(w.Dir(), ".tmp") }

// DownloadsDir returns the download directory of the aam program.
func (w *Workspace) DownloadsDir() string { return filepath.Join(w.PackagesDir(), ".downloads") }

// Exists reports whether the project has a directory .aam.
func (w *Workspace) Exists() bool { return files.IsDir(w.Files, w.Dir()) }

// Manifest reads the manifest of an installed package.
func (w *Workspace) Manifest(name string) (*manifest.Manifest, error) {
	return manifest.Load(w.Files, w.PackageDir(name))
}

// Installed holds the artifact counts of the installed packages. With it, a call that lists packages reads all of their
// manifests at once.
type Installed struct {
	workspace *Workspace
	counts    map[string]manifest.Counts // the key is the name of the package's directory
}

// Installed reads the manifests of all packages in a lock file.
func (w *Workspace) Installed(lock *lockfile.Lock) Installed {
	i := Installed{w, make(map[string]manifest.Counts, len(lock.Packages))}
	if len(lock.Packages) == 0 {
		return i
	}
	for folder, counts := range manifest.AllCounts(w.PackagesDir()) {
		i.counts[folder] = counts
	}
	return i
}

// Counts returns the artifact counts of an installed package. The errors are those of Workspace.Manifest.
func (i Installed) Counts(name string) (manifest.Counts, error) {
	if counts, ok := i.counts[pkgname.Folder(name)]; ok {
		return counts, nil
	}
	m, err := i.workspace.Manifest(name)
	if err != nil {
		return manifest.Counts{}, err
	}
	return m.Counts(), nil
}

// Lock reads the lock file of the project.
func (w *Workspace) Lock() (*lockfile.Lock, error) { return lockfile.Load(w.Files, w.Project) }

// Packages reads the lock file for a list of packages, in the same way as lockfile.LoadPackages.
func (w *Workspace) Packages() (*lockfile.Lock, error) {
	return lockfile.LoadPackages(w.Files, w.Project)
}

// Interrupted reports whether a transaction was interrupted and has not been recovered.
func (w *Workspace) Interrupted() bool { return w.journal().Interrupted() }

// journal returns the journal for changes of the project and of .codex in the home directory.
func (w *Workspace) journal() journal.Journal {
	roots := []journal.Root{{
		Dir: w.Project, Stage: w.StageDir(), Only: append([]string{folder}, deploy.InProject...), Backup: filepath.Join(w.Dir(), "backup"),
	}}
	if w.Home != "" {
		codex := filepath.Join(w.Home, ".codex")
		// The name of the stage depends on the project, because other projects deploy to the same directory.
		stage := filepath.Join(codex, ".aam-"+digest.Hex([]byte(w.Project))[:16])
		backup := filepath.Join(codex, folder, "backup")
		roots = append(roots, journal.Root{Dir: codex, Stage: stage, Only: append([]string{folder}, deploy.InHome...), Backup: backup})
	}
	return journal.Journal{Files: w.Files, Roots: roots, Stamp: w.Now.UTC().Format("20060102T150405Z")}
}

// state holds the installed packages and their deployments before a transaction, and the content of the lock file and
// of the ledger.
type state struct {
	lock      *lockfile.Lock
	ledger    *ledger
	lockWas   []byte // the content of the lock file; nil if the file did not exist
	ledgerWas []byte
	installed []string                      // names of the packages in the lock file before the transaction
	manifests map[string]*manifest.Manifest // cached manifests of installed packages; nil for a manifest that cannot be read
	otherwise string                        // the default platform, to which the aam program deploys
}

// read recovers from an interrupted transaction, and returns the state. The aam program deploys to the default
// platform.
func (w *Workspace) read(defaultPlatform string) (*state, error) {
	if err := w.journal().Recover(); err != nil {
		return nil, err
	}
	s, err := w.load(defaultPlatform)
	if err != nil {
		return nil, err
	}
	return s, w.adopt(s)
}

// newState returns a state that has no ledger.
func newState(lock *lockfile.Lock, defaultPlatform string) *state {
	s := &state{lock: lock, manifests: map[string]*manifest.Manifest{}, otherwise: defaultPlatform}
	for _, entry := range lock.Packages {
		s.installed = append(s.installed, entry.Name)
	}
	return s
}

// load returns the state of the workspace.
func (w *Workspace) load(defaultPlatform string) (*state, error) {
	data, err := w.readFile(lockfile.Path(w.Project), lockfile.MaxSize)
	if err != nil {
		return nil, fmt.Errorf("lock file: %w", err)
	}
	lock, err := lockfile.Parse(data)
	if err != nil {
		_, err := w.Lock() // Lock returns an error that names the file and a remedy
		return nil, err
	}
	s := newState(lock, defaultPlatform)
	s.lockWas = data
	s.ledger, s.ledgerWas, err = w.readLedger()
	return s, err
}

// readFile returns the content of a file in the project; nil if the file does not exist. It returns an error for a
// symbolic link out of the project, because a call could disclose or overwrite the target of the link.
func (w *Workspace) readFile(path string, limit int64) ([]byte, error) {
	data, err := files.ReadInside(w.Files, w.Project, path, limit)
	if filesystem.IsAbsent(err) {
		return nil, nil
	}
	if err == nil && data == nil {
		data = []byte{}
	}
	return data, err
}

// write adds the new lock file and the new ledger to a transaction.
func (w *Workspace) write(c *journal.Change, s *state) error {
	s.ledger.resolvedAt = registry.Timestamp(w.Now)
	lock, err := s.lock.Encode(s.ledger.resolvedAt)
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

// fits returns an error if the lock file or the ledger would exceed the size that load accepts.
func (w *Workspace) fits(lock, ledger []byte) error {
	if len(lock) > lockfile.MaxSize || len(ledger) > maxLedger {
		return fault.New(fault.InvalidArgument, "too many packages: the files in %s would exceed the size limit", w.Dir())
	}
	return nil
}

// manifest returns the manifest of an installed package; nil if the manifest cannot be read.
func (w *Workspace) manifest(s *state, name string) *manifest.Manifest {
	m, known := s.manifests[name]
	if !known {
		m, _ = w.Manifest(name) // the error is ignored, because a damaged package can still be replaced and removed
		s.manifests[name] = m
	}
	return m
}

// artifact returns the artifact of a manifest that has the given type and name; false if the manifest has no such
// artifact. Of duplicates it returns the last, because the last is deployed.
func artifact(m *manifest.Manifest, t manifest.Type, name string) (manifest.Artifact, bool) {
	for _, a := range slices.Backward(m.Artifacts) {
		if a.Type == t && a.Name == name {
			return a, true
		}
	}
	return manifest.Artifact{}, false
}
