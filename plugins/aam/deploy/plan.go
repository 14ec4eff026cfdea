package deploy

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/journal"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// Plan collects deployments and undeployments. Of several for one path, the last takes precedence.
type Plan struct {
	Files   files.System
	Project string
	Home    string // "" if unknown

	order   []string // the paths in the order in which they were planned
	targets map[string]*target
	removed int
	kept    map[string]bool // the paths whose current content is moved to the backup
	backups []Backup
}

// target is the planned change of the content at one path.
type target struct {
	form form
	// make creates the new directory or file at a staged path. It is nil for a removal, and for a file with sections.
	make func(staged string) error
	// was and text are the old and the new content of a file with sections. If was is nil, the file does not exist.
	was, text []byte
}

// Deploy adds the deployment of an artifact to the plan. The artifact belongs to the package in dir, and platform must
// be supported.
func (p *Plan) Deploy(platform, dir string, a manifest.Artifact) error {
	c, err := p.content(platform, dir, a)
	switch {
	case err != nil:
		return err
	case c.at.form == section:
		return p.deploySection(c.path, a, c.text)
	case c.real == "":
		p.set(c.path, &target{form: file, make: func(staged string) error { return files.Replace(p.Files, staged, []byte(c.text)) }})
		return nil
	}
	p.set(c.path, &target{form: c.at.form, make: func(staged string) error {
		if c.inFolder() {
			if err := p.Files.Mkdir(staged, 0o755); err != nil {
				return err
			}
			staged = filepath.Join(staged, filepath.Base(c.real))
		}
		return files.CopyTree(p.Files, dir, c.real, staged)
	}})
	return nil
}

func (p *Plan) deploySection(path string, a manifest.Artifact, body string) error {
	if HasMarks(body) {
		return fault.New(fault.ArchiveInvalid, "%s %s: the text contains section markers (%s or %s): remove them", a.Type, a.Name, anyBegin, anyEnd)
	}
	_, t, err := p.sections(path)
	if err != nil {
		return err
	}
	t.text = []byte(marksOf(a.Type, a.Name).put(string(t.text), t.text != nil, body))
	return nil
}

// Undeploy adds the removal of a deployed artifact to the plan. If the artifact does not exist at its path, the plan
// changes nothing.
func (p *Plan) Undeploy(platform string, t manifest.Type, name string) error {
	at, path, err := p.place(platform, t, name)
	if err != nil {
		return err
	}
	if at.form != section {
		p.set(path, &target{form: at.form})
		return nil
	}
	_, file, err := p.sections(path)
	if err != nil || file.text == nil {
		return err
	}
	switch left := marksOf(t, name).cut(string(file.text)); left {
	case string(file.text): // the file has no section of this artifact
	case "":
		file.text = nil
	default:
		file.text = []byte(left)
	}
	return nil
}

// sections returns the resolved path and the planned change of the file with sections at path.
func (p *Plan) sections(path string) (string, *target, error) {
	real, err := files.Inside(p.Files, p.Project, path)
	if err != nil {
		return "", nil, err
	}
	if t := p.targets[real]; t != nil {
		return real, t, nil
	}
	t := &target{form: section}
	data, err := files.Read(p.Files, real, maxText)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", nil, err
	default:
		t.was = append([]byte{}, data...)
		t.text = t.was
	}
	p.set(real, t)
	return real, t, nil
}

func (p *Plan) set(path string, t *target) {
	if p.targets == nil {
		p.targets = map[string]*target{}
	}
	if p.targets[path] == nil {
		p.order = append(p.order, path)
	}
	p.targets[path] = t
}

// place returns the place of an artifact, and the absolute path of the artifact.
func (p *Plan) place(platform string, t manifest.Type, name string) (place, string, error) {
	at, ok := places[platform][t]
	if !ok {
		return place{}, "", fault.New(fault.Internal, "%s %s cannot be deployed to %s", t, name, platform)
	}
	root := p.Project
	if at.home {
		root = p.Home
	}
	if root == "" {
		return place{}, "", fault.New(fault.PermissionDenied, "%s %s: platform %s stores this type in the home directory, which is unknown", t, name, platform).
			WithHint("Grant the plugin the variable HOME and the directory .codex in the home directory")
	}
	path := at.before
	if at.form != section {
		path += name + at.after
	}
	return at, filepath.Join(root, filepath.FromSlash(path)), nil
}

// Stage adds the changes of the plan to a transaction, and counts the files that Removed returns.
func (p *Plan) Stage(c *journal.Change) error {
	p.unify()
	for _, path := range p.order {
		if err := p.stage(c, path, p.targets[path]); err != nil {
			return err
		}
	}
	return nil
}

// unify handles paths that resolve to the same path through symbolic links to directories, for example if
// .github/skills is a symbolic link to .claude/skills. Of these paths, unify keeps only the last path at which the plan
// creates content. If the plan creates no content, unify keeps the first path.
func (p *Plan) unify() {
	first, order := map[string]string{}, p.order[:0]
	for _, path := range p.order {
		real := p.resolved(path)
		same, twice := first[real]
		if !twice {
			first[real], order = path, append(order, path)
			continue
		}
		if p.kept[path] {
			p.kept[same] = true
		}
		if t := p.targets[path]; t.make != nil {
			p.targets[same] = t
		}
	}
	p.order = order
}

// resolved returns path with the symbolic links in its directory resolved, if possible.
func (p *Plan) resolved(path string) string {
	root := p.Project
	if !contain.Within(root, path) {
		root = p.Home
	}
	dir, err := files.Inside(p.Files, root, filepath.Dir(path))
	if err != nil {
		return path // staging the change of this path will return the error
	}
	return filepath.Join(dir, filepath.Base(path))
}

func (p *Plan) stage(c *journal.Change, path string, t *target) error {
	switch {
	case t.make != nil:
		if err := p.backUp(c, path); err != nil {
			return err
		}
		return c.Tree(path, t.make)
	case t.form == section && t.text != nil:
		if t.was != nil && string(t.was) == string(t.text) {
			return nil
		}
		if err := p.backUp(c, path); err != nil {
			return err
		}
		return c.File(path, t.was, t.text)
	case t.form == section && t.was == nil:
		return nil
	}
	if err := p.backUp(c, path); err != nil {
		return err
	}
	exists, count := false, 0
	err := files.Walk(p.Files, path, func(_ string, isDir bool) error {
		if exists = true; !isDir {
			count++
		}
		return nil
	})
	if err = filesystem.IgnoreAbsent(err); err != nil || !exists && !p.hidden(path) {
		return err
	}
	p.removed += count
	return c.Remove(path)
}

// hidden reports whether path may exist although it seems not to exist, as in a directory that is not granted in a
// sandbox. Staging a change of such a path returns an error.
func (p *Plan) hidden(path string) bool {
	return p.Home != "" && !contain.Within(p.Project, path) && !files.IsDir(p.Files, filepath.Join(p.Home, ".codex"))
}

// Removed returns the number of files that the plan removes. A file does not count if the plan removes only a section
// of it.
func (p *Plan) Removed() int { return p.removed }
