package manager

// Uninstalled says what became of a package that was uninstalled.
type Uninstalled struct {
	PackageName       string   `json:"package_name"`
	Version           string   `json:"version"`
	FilesRemoved      int      `json:"files_removed"` // of what was deployed
	DependentsWarning []string `json:"dependents_warning"`
}

// Uninstall takes an installed package away, with what was deployed of it.
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
	return &Uninstalled{name, done.Version, done.FilesRemoved, done.Dependents}, nil
}
