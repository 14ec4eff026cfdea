package workspace

import (
	"errors"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/deploy"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/journal"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/lockfile"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/pkgname"
)

// Uninstalled is the result of Uninstall.
type Uninstalled struct {
	Version      string
	FilesRemoved int      // the number of removed deployed files, without the files of the package itself
	Dependents   []string // names of installed packages that depend on the uninstalled package
	Backups      []deploy.Backup
}

// Uninstall removes a package and its deployments. If another installed package has the same artifact, Uninstall
// deploys the artifact of that package instead. It moves edited content to the backup. If the aam program has
// uninstalled a package that is still in the ledger, Uninstall removes the deployments of that package. If the package
// is neither in the lock file nor in the ledger, the error has the code PackageNotInstalled.
func (w *Workspace) Uninstall(name, defaultPlatform string) (Uninstalled, error) {
	if !w.Exists() {
		return Uninstalled{}, notInstalled(name)
	}
	s, err := w.read(defaultPlatform)
	if err != nil {
		return Uninstalled{}, err
	}
	entry, locked := s.lock.Find(name)
	deployed, err := w.deployedOf(s, name)
	if err != nil {
		return Uninstalled{}, err
	}
	if !locked && len(deployed) == 0 {
		return Uninstalled{}, notInstalled(name)
	}
	if err := ownFolder(s.lock, name); err != nil {
		return Uninstalled{}, err
	}
	done := Uninstalled{Version: entry.Version, Dependents: s.lock.Dependents(name)}
	if !locked {
		done.Version = s.ledger.of(name).version
	}
	p := &planning{Workspace: w, state: s, plan: w.plan(), force: true}
	for _, d := range deployed {
		if err := p.withdraw(name, d); err != nil {
			return Uninstalled{}, err
		}
	}
	s.lock.Remove(name)
	s.ledger.remove(name)
	p.record()
	err = w.change(s, func(c *journal.Change) error {
		if err := p.plan.Stage(c); err != nil || !locked {
			return err
		}
		return c.Remove(w.PackageDir(name))
	})
	done.FilesRemoved, done.Backups = p.plan.Removed(), p.plan.Backups()
	return done, err
}

func notInstalled(name string) error {
	return fault.New(fault.PackageNotInstalled, "package %.200q is not installed", name).WithHint("List installed packages with aam_list")
}

// ownFolder returns an error if another installed package uses the directory of the package called name. Packages with
// different names can have the same directory.
func ownFolder(lock *lockfile.Lock, name string) error {
	for _, entry := range lock.Packages {
		if entry.Name != name && pkgname.Folder(entry.Name) == pkgname.Folder(name) {
			return fault.New(fault.InvalidArgument, "package %s would use the directory %s, which belongs to the installed package %s", name, pkgname.Folder(name), entry.Name)
		}
	}
	return nil
}

func (w *Workspace) plan() *deploy.Plan {
	return &deploy.Plan{Files: w.Files, Project: w.Project, Home: w.Home}
}

// change commits a transaction with the changes that stage adds. The transaction also writes the lock file and the
// ledger, as they are in s after the call of stage.
func (w *Workspace) change(s *state, stage func(*journal.Change) error) error {
	c, err := w.journal().Begin()
	if err != nil {
		return err
	}
	err = stage(c)
	if err == nil {
		err = w.write(c, s)
	}
	if err != nil {
		return inTheWay(errors.Join(err, c.Abort()))
	}
	return inTheWay(c.Commit())
}

// inTheWay adds a hint to err if a file exists at the path of a required directory.
func inTheWay(err error) error {
	if !errors.Is(err, syscall.ENOTDIR) {
		return err
	}
	return fault.New(fault.InvalidArgument, "%w", err).WithHint("A file is in the place of a required directory: move the file")
}
