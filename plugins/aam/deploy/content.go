package deploy

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/journal"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// content is what the deployment of an artifact writes.
type content struct {
	at    place
	path  string
	text  string      // the text of a generated file or of a section
	plain string      // the text that the aam program generates, which contains descriptions without escapes
	real  string      // the resolved path of the file or directory to copy, if the deployment copies the artifact verbatim
	info  fs.FileInfo // the FileInfo of the path in real
}

// inFolder reports whether the artifact is a single file that is deployed as a directory with this file.
func (c content) inFolder() bool { return c.at.form == tree && !c.info.IsDir() }

// content returns what the deployment of the artifact a, which belongs to the package in dir, writes.
func (p *Plan) content(platform, dir string, a manifest.Artifact) (content, error) {
	at, path, err := p.place(platform, a.Type, a.Name)
	if err != nil {
		return content{}, err
	}
	c, from := content{at: at, path: path}, source{p.Files, dir}
	if at.form == tree || a.Type == manifest.Prompt || a.Type == manifest.Instruction && at.form == file && !at.description {
		if c.real, err = from.path(a.Path); err == nil {
			c.info, err = p.Files.Stat(c.real)
		}
		if err == nil && at.form == file && !c.info.Mode().IsRegular() {
			return content{}, fault.New(fault.ManifestInvalid, "%s %s: %s is not a file", a.Type, a.Name, a.Path)
		}
	} else {
		c.text, c.plain, err = from.text(platform, a)
	}
	if err != nil {
		return content{}, fmt.Errorf("%s %s: %w", a.Type, a.Name, err)
	}
	return c, nil
}

// Digests returns the digests that Current can return for an artifact of the package in dir after its deployment. The
// first digest is that after a deployment by a Plan. If a deployment by the aam program has another digest, that digest
// is the second.
func (p *Plan) Digests(platform, dir string, a manifest.Artifact) ([]string, error) {
	c, err := p.content(platform, dir, a)
	switch {
	case err != nil:
		return nil, err
	case c.at.form == section:
		return []string{sectionDigest(c.text)}, nil
	case c.real == "" && c.plain != c.text:
		return []string{files.TextDigest(c.text), files.TextDigest(c.plain)}, nil
	case c.real == "":
		return []string{files.TextDigest(c.text)}, nil
	}
	digest := files.Digest
	if c.inFolder() {
		digest = files.FolderDigest
	}
	sum, err := digest(p.Files, dir, c.real)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", a.Type, a.Name, err)
	}
	return []string{sum}, nil
}

func sectionDigest(body string) string {
	return "section:" + files.TextDigest(strings.TrimRightFunc(body, unicode.IsSpace))
}

// unknown is the digest of content that cannot be read completely. No artifact of a package has this digest.
const unknown = "unknown"

// Current returns the digest of the content at the path of an artifact before the plan is executed. It returns "" if
// the path does not exist.
func (p *Plan) Current(a Artifact) (string, error) {
	at, path, err := p.place(a.Platform, a.Type, a.Name)
	if err != nil {
		return "", err
	}
	if at.form == section {
		_, t, err := p.sections(path)
		if err != nil {
			return "", err
		}
		body, ok := marksOf(a.Type, a.Name).body(string(t.was))
		if !ok {
			return "", nil
		}
		return sectionDigest(body), nil
	}
	digest, err := files.Digest(p.Files, "", path)
	switch {
	case filesystem.IsAbsent(err):
		return "", nil
	case err != nil:
		return unknown, nil
	}
	return digest, nil
}

// Backup is content that a plan moves from Path to Backup instead of deleting it. In a Plan, both paths are absolute.
type Backup struct {
	Path   string `json:"path"`
	Backup string `json:"backup"`
}

// Keep makes the plan move the current content at an artifact's path to the backup before the plan changes the path.
// For a section, the plan copies the whole file to the backup.
func (p *Plan) Keep(a Artifact) error {
	at, path, err := p.place(a.Platform, a.Type, a.Name)
	if err == nil && at.form == section {
		path, _, err = p.sections(path)
	}
	if p.kept == nil {
		p.kept = map[string]bool{}
	}
	p.kept[path] = true
	return err
}

// At returns the absolute path of a deployed artifact.
func (p *Plan) At(a Artifact) (string, error) {
	_, path, err := p.place(a.Platform, a.Type, a.Name)
	return path, err
}

// Backups returns a list of the content that Stage has moved to the backup.
func (p *Plan) Backups() []Backup { return p.backups }

// backUp moves the content at path to the backup if Keep was called for that path.
func (p *Plan) backUp(c *journal.Change, path string) error {
	if !p.kept[path] {
		return nil
	}
	to, err := c.Keep(path)
	if err == nil {
		p.backups = append(p.backups, Backup{path, to})
	}
	return err
}

// Section is the section of one artifact in a file that several artifacts share.
type Section struct {
	Artifact
	Path string
}

// Sections returns all sections in the files of the project, including those of packages that are not installed.
func (p *Plan) Sections() ([]Section, error) {
	var found []Section
	for _, platform := range slices.Sorted(maps.Keys(places)) {
		for _, t := range manifest.Types() {
			at, path, err := p.place(platform, t, "")
			if err != nil || at.form != section {
				continue
			}
			_, file, err := p.sections(path)
			if err != nil {
				return nil, err
			}
			for _, name := range sectionNames(string(file.was), t) {
				found = append(found, Section{Artifact{platform, t, name}, path})
			}
		}
	}
	return found, nil
}
