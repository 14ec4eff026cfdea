package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/lockfile"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/pkgname"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/workspace"
)

// packages adds a check of each installed package, and a check that summarizes these checks.
func (d *doctor) packages() {
	const name = "packages_integrity"
	lock, err := d.ws.Packages()
	if err != nil {
		f := fault.From(err)
		d.fail(name, f.Message, f.Hint)
		return
	}
	d.lock = lock
	deployments, err := d.ws.Deployments(lock)
	if err != nil {
		f := fault.From(err)
		d.fail(name, f.Message, f.Hint)
		return
	}
	d.deployments = deployments
	installed, outdated := d.ws.Installed(lock), deployments.Outdated()
	damaged, advice := 0, []string{}
	for _, entry := range lock.Packages {
		if whole := d.pack(entry, installed, outdated[entry.Name]); !whole || entry.Checksum == "" {
			damaged++
			if text := repair(entry, whole); !slices.Contains(advice, text) {
				advice = append(advice, text)
			}
		}
	}
	if damaged > 0 {
		d.warn(name, fmt.Sprintf("%s without checksum, directory or readable manifest", count(damaged, "package")), strings.Join(advice, " "))
		return
	}
	d.pass(name, fmt.Sprintf("%s installed, none damaged", count(len(lock.Packages), "package")))
}

// repair returns the advice for a package that is damaged. If intact is set, the package only lacks a checksum.
func repair(entry lockfile.Entry, intact bool) string {
	fromFolder := entry.Source == lockfile.FromFolder && entry.Checksum == "" // a package with a checksum comes from a registry whose name is FromFolder
	switch {
	case fromFolder && intact:
		return fmt.Sprintf("'%s' was installed from a local directory or archive, which has no checksum; no repair is needed.", entry.Name)
	case fromFolder:
		return fmt.Sprintf("Install '%s' again from its directory or archive with the command line: aam install PATH --force.", entry.Name)
	case entry.Source == lockfile.FromSource:
		return fmt.Sprintf("Install '%s' again from its git source with the command line: aam install %s --force.", entry.Name, entry.Name)
	}
	return fmt.Sprintf("Install '%s' again with aam_install and force.", entry.Name)
}

// pack adds the check of an installed package, and reports whether the package is intact. The argument outdated lists
// the platforms to which another version is deployed.
func (d *doctor) pack(entry lockfile.Entry, installed workspace.Installed, outdated []string) bool {
	name, dir := "package_"+entry.Name, d.ws.PackageDir(entry.Name)
	again := repair(entry, false)
	counts, err := installed.Counts(entry.Name)
	if err != nil && !files.IsDir(d.files, dir) {
		d.warn(name, fmt.Sprintf("Package '%s@%s' directory not found: %s", entry.Name, entry.Version, dir), again)
		return false
	}
	if err != nil {
		d.warn(name, fmt.Sprintf("Package '%s' manifest error: %v", entry.Name, err), again)
		return false
	}
	if len(outdated) > 0 {
		d.warn(name, fmt.Sprintf("Package '%s@%s': the deployments to %s are of another version", entry.Name, entry.Version, strings.Join(outdated, ", ")),
			fmt.Sprintf("Install '%s' with aam_install, force and platform, once for each of these platforms.", entry.Name))
		return true
	}
	d.pass(name, fmt.Sprintf("Package '%s@%s': manifest valid, %s", entry.Name, entry.Version, count(counts.Total(), "artifact")))
	return true
}

// orphans adds checks about deployed files that belong to no installed package. The aam program leaves such files
// behind when it uninstalls or replaces a package, because it removes only the deployments on its default platform.
func (d *doctor) orphans(defaultPlatform string) {
	const name = "orphaned_deployments"
	if d.deployments == nil {
		return // the method packages has already reported the error
	}
	orphans, err := d.deployments.Orphans(defaultPlatform)
	if err != nil {
		f := fault.From(err)
		d.warn(name, "Orphaned deployments cannot be determined: "+f.Message, f.Hint)
		return
	}
	for _, of := range slices.Sorted(maps.Keys(orphans)) {
		paths := some(orphans[of])
		if of == "" {
			d.warn(name, "Sections that belong to no installed package: "+paths, "Remove unneeded sections by hand: each begins with a BEGIN AAM line and ends with the END AAM line of the same name.")
			continue
		}
		d.warn(name, fmt.Sprintf("Deployed by an earlier install of '%s', but not part of any installed package: %s", of, paths),
			fmt.Sprintf("Remove these deployments with aam_uninstall %s, or replace them with aam_install and force.", of))
	}
}

// interrupted adds a check for files that an interrupted install has left behind.
func (d *doctor) interrupted() {
	const name = "incomplete_install"
	var left []string
	for _, dir := range []string{d.ws.StageDir(), d.ws.DownloadsDir()} {
		left = append(left, d.names(dir, nil)...)
	}
	if d.lock != nil { // if lock is nil, the method packages has already reported the error
		known := map[string]bool{}
		for _, entry := range d.lock.Packages {
			known[pkgname.Folder(entry.Name)] = true
		}
		left = append(left, d.names(d.ws.PackagesDir(), known)...)
	}
	switch {
	case d.ws.Interrupted():
		d.warn(name, "An install or uninstall was interrupted", "The next aam_install or aam_uninstall rolls it back first.")
	case len(left) > 0:
		d.warn(name, "Found leftovers: "+some(left),
			"An installation may have been interrupted. The next aam_install clears .aam/.tmp; remove other named files by hand if they are not needed.")
	default:
		d.pass(name, "No incomplete installations detected")
	}
}

// names returns the names of the entries of dir. If known is not nil, it returns only the names of directories that are
// neither hidden nor in known.
func (d *doctor) names(dir string, known map[string]bool) []string {
	entries, err := d.files.ReadDir(dir)
	if err != nil {
		return nil // the directory does not exist or is not accessible
	}
	var names []string
	for _, entry := range entries {
		if known == nil || entry.IsDir() && !known[entry.Name()] && entry.Name()[0] != '.' {
			names = append(names, entry.Name())
		}
	}
	return names
}
