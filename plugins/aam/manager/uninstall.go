package manager

import "github.com/bulkhead-mcp/bulkhead/plugins/aam/deploy"

// Uninstalled is the result of Uninstall.
type Uninstalled struct {
	PackageName       string          `json:"package_name"`
	Version           string          `json:"version"`
	FilesRemoved      int             `json:"files_removed"` // number of removed deployed files, without the files of the package itself
	DependentsWarning []string        `json:"dependents_warning"`
	Backups           []deploy.Backup `json:"backups,omitempty"` // deployed files that the user had edited, as in Result
}

// Uninstall removes an installed package and its deployed artifacts.
func (m *Manager) Uninstall(name string) (*Uninstalled, error) {
	if err := m.lockProject(); err != nil {
		return nil, err
	}
	c, _, err := m.config()
	if err != nil {
		return nil, err
	}
	done, err := m.workspace().Uninstall(name, c.DefaultPlatform)
	if err != nil {
		return nil, err
	}
	return &Uninstalled{name, done.Version, done.FilesRemoved, done.Dependents, m.backups(done.Backups)}, nil
}
