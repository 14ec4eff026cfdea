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
	FilesRemoved int      // deployed files only
	Dependents   []string // installed packages that depend on it
}

// Uninstall removes a package with its deployments: those in the ledger or, if it is not there, on the default platform.
// Artifacts that another installed package also has stay. If the package is not installed, the error has the code
// PackageNotInstalled.
func (w *Workspace) Uninstall(name, defaultPlatform string) (Uninstalled, error) {
	if !w.Exists() {
		return Uninstalled{}, notInstalled(name)
	}
	s, err := w.read()
	if err != nil {
		return Uninstalled{}, err
	}
	entry, ok := s.lock.Find(name)
	if !ok {
		return Uninstalled{}, notInstalled(name)
	}
	if err := ownFolder(s.lock, name); err != nil {
		return Uninstalled{}, err
	}
	plan := w.plan()
	if err := w.undeploy(s, plan, name, w.deployedOf(s, name, defaultPlatform)); err != nil {
		return Uninstalled{}, err
	}
	done := Uninstalled{Version: entry.Version, Dependents: s.lock.Dependents(name)}
	s.lock.Remove(name)
	s.ledger.remove(name)
	err = w.change(s, func(c *journal.Change) error {
		if err := plan.Stage(c); err != nil {
			return err
		}
		return c.Remove(w.PackageDir(name))
	})
	done.FilesRemoved = plan.Removed()
	return done, err
}

func notInstalled(name string) error {
	return fault.New(fault.PackageNotInstalled, "package %.200q is not installed", name).WithHint("aam_list says what is")
}

// ownFolder returns an error if another installed package uses the directory for name: two names can have the same one.
func ownFolder(lock *lockfile.Lock, name string) error {
	for _, entry := range lock.Packages {
		if entry.Name != name && pkgname.Folder(entry.Name) == pkgname.Folder(name) {
			return fault.New(fault.InvalidArgument, "package %s would share the folder %s with %s, which is installed", name, pkgname.Folder(name), entry.Name)
		}
	}
	return nil
}

func (w *Workspace) plan() *deploy.Plan {
	return &deploy.Plan{Files: w.Files, Project: w.Project, Home: w.Home}
}

// undeploy plans to remove the deployments of a package, except for artifacts that other packages also have.
func (w *Workspace) undeploy(s *state, plan *deploy.Plan, name string, deployed []deployment) error {
	for _, d := range deployed {
		if w.shared(s, name, d.typ, d.name) {
			continue
		}
		if err := plan.Undeploy(d.platform, d.typ, d.name); err != nil {
			return err
		}
	}
	return nil
}

// change commits a transaction: what stage adds, and the lock file and ledger as s has them afterwards.
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

// inTheWay adds a hint to an error if a file exists where a directory has to be created.
func inTheWay(err error) error {
	if !errors.Is(err, syscall.ENOTDIR) {
		return err
	}
	return fault.New(fault.InvalidArgument, "%w", err).WithHint("A file is where a folder has to be: move it away")
}
