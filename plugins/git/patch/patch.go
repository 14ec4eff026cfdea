// Package patch shows changed files as git diff does: it detects renames and writes patches. Start with New and Patch.Files.
package patch

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/git/hunks"
	"github.com/bulkhead-mcp/bulkhead/plugins/git/repository"
)

const (
	maxFiles = 10_000
	// maxContent is the number of bytes of all contents that one patch reads.
	maxContent = 64 << 20
	binaryHead = 8000 // bytes of a file that decide whether it is binary, as in git
)

// Side is one version of a file. A side without the file is nil.
type Side struct {
	Path, Mode, Hash string
	content          []byte
	loaded           bool
	refusal          error // why the content of a file in the working tree cannot be read
}

func (s *Side) isSubmodule() bool { return s.Mode == repository.ModeSubmodule }
func (s *Side) isRegular() bool   { return repository.IsRegular(s.Mode) }
func (s *Side) kind() string      { return s.Mode[:3] }

// File is a changed file.
type File struct {
	Old, New *Side
	Unmerged string // path of a file with a conflict; empty for other files
	Rename   bool
	score    int // similarity of the content of a renamed file
}

// Path returns the path of the new version, or of the old one if the file is deleted.
func (f *File) Path() string {
	switch {
	case f.Unmerged != "":
		return f.Unmerged
	case f.New != nil:
		return f.New.Path
	}
	return f.Old.Path
}

// IsTypeChange reports whether a regular file, a symbolic link and a submodule have replaced each other.
func (f *File) IsTypeChange() bool {
	return f.Old != nil && f.New != nil && f.Old.kind() != f.New.kind()
}

// Patch is the difference between two states of a repository.
type Patch struct {
	Files   []*File
	repo    *repository.Repository
	content int // bytes of contents that were read
}

// New compares two states, as repository.Host.Changes does, and detects renamed files.
func New(r *repository.Repository, from, to string) (*Patch, error) {
	changes, truncated, err := r.Changes(from, to, maxFiles)
	if err != nil {
		return nil, err
	}
	if truncated {
		return nil, fmt.Errorf("more than %d files differ", maxFiles)
	}
	p := &Patch{repo: r}
	for _, c := range changes {
		f := &File{Old: newSide(c.Path, c.Old), New: newSide(c.Path, c.New)}
		if c.Unmerged {
			f.Unmerged = string(c.Path)
		}
		same, err := p.hashWorktree(f)
		if err != nil {
			return nil, err
		}
		if !same {
			p.Files = append(p.Files, f)
		}
	}
	return p, p.detectRenames()
}

func newSide(path []byte, v repository.Version) *Side {
	if v.Mode == "" {
		return nil
	}
	return &Side{Path: string(path), Mode: v.Mode, Hash: v.Hash}
}

// hashWorktree computes the hash of a file of the working tree. same reports whether the file does not differ after all.
func (p *Patch) hashWorktree(f *File) (same bool, err error) {
	if f.New == nil || f.New.Hash != "" {
		return false, nil
	}
	if f.New.content, f.New.refusal = p.repo.WorktreeFile(f.New.Path); f.New.refusal != nil {
		f.New.Hash = noHash
		return false, nil
	}
	f.New.loaded = true
	if err := p.count(f.New); err != nil {
		return false, err
	}
	f.New.Hash = repository.HashBlob(f.New.content)
	return f.Old != nil && f.Old.Mode == f.New.Mode && f.Old.Hash == f.New.Hash, nil
}

func (p *Patch) count(s *Side) error {
	if p.content += len(s.content); p.content > maxContent {
		return fmt.Errorf("the changed files have more than %d bytes", maxContent)
	}
	return nil
}

// load reads the contents of sides that were not read yet.
func (p *Patch) load(sides ...*Side) error {
	var hashes []string
	for _, s := range sides {
		switch {
		case s == nil || s.loaded || s.refusal != nil:
		case s.isSubmodule():
			s.content, s.loaded = []byte("Subproject commit "+s.Hash+"\n"), true
		default:
			hashes = append(hashes, s.Hash)
		}
	}
	if len(hashes) == 0 {
		return nil
	}
	slices.Sort(hashes)
	contents, err := p.repo.Objects("blob", slices.Compact(hashes))
	if err != nil {
		return err
	}
	for _, s := range sides {
		if s != nil && !s.loaded && s.refusal == nil {
			s.content, s.loaded = contents[s.Hash], true
			if err := p.count(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// Write appends the patches of all files, as git diff writes them.
func (p *Patch) Write(out *bytes.Buffer, context int) error {
	var hashes []string
	files := p.split()
	for _, f := range files {
		for _, s := range []*Side{f.Old, f.New} {
			if s != nil {
				hashes = append(hashes, s.Hash)
			}
		}
	}
	if len(hashes) > 0 {
		hashes = append(hashes, noHash)
	}
	slices.Sort(hashes)
	hashes = slices.Compact(hashes)
	short, err := p.repo.Abbreviate(hashes...)
	if err != nil {
		return err
	}
	abbreviations := map[string]string{}
	for i := range short {
		abbreviations[hashes[i]] = short[i]
	}
	for _, f := range files {
		if f.Unmerged != "" {
			fmt.Fprintf(out, "* Unmerged path %s\n", f.Unmerged)
			continue
		}
		f.header(out, abbreviations)
		from, to := f.labels()
		if err := p.body(out, f, label(from)+"\n", label(to)+"\n", context); err != nil {
			return err
		}
	}
	return nil
}

// split returns the files with each change of type as a deletion and a creation.
func (p *Patch) split() []*File {
	var files []*File
	for _, f := range p.Files {
		if f.IsTypeChange() && f.Unmerged == "" {
			files = append(files, &File{Old: f.Old}, &File{New: f.New})
		} else {
			files = append(files, f)
		}
	}
	return files
}

// Each calls visit with the labels and the patch without header of each file.
func (p *Patch) Each(context int, visit func(from, to string, body []byte)) error {
	for _, f := range p.split() {
		var body bytes.Buffer
		if err := p.body(&body, f, "", "", context); err != nil {
			return err
		}
		from, to := "/dev/null", "/dev/null"
		if f.Old != nil {
			from = "a/" + f.Old.Path
		}
		if f.New != nil {
			to = "b/" + f.New.Path
		}
		visit(from, to, body.Bytes())
	}
	return nil
}

// body appends the hunks of a file after the lines with its labels, unless from and to are empty.
func (p *Patch) body(out *bytes.Buffer, f *File, from, to string, context int) error {
	if f.New != nil && f.New.refusal != nil {
		fmt.Fprintf(out, "%s cannot be read by this plugin, so its changes are not shown\n", Quote("b/"+f.New.Path))
		return nil
	}
	if f.Old != nil && f.New != nil && f.Old.Hash == f.New.Hash {
		return nil
	}
	if err := p.load(f.Old, f.New); err != nil {
		return err
	}
	var before, after []byte
	if f.Old != nil {
		before = f.Old.content
	}
	if f.New != nil {
		after = f.New.content
	}
	if isBinary(before) || isBinary(after) {
		a, b := f.labels()
		fmt.Fprintf(out, "Binary files %s and %s differ\n", a, b)
		return nil
	}
	start := out.Len()
	if from != "" {
		out.WriteString("--- " + from + "+++ " + to)
	}
	bodyStart := out.Len()
	hunks.Write(out, before, after, context)
	if out.Len() == bodyStart {
		out.Truncate(start)
	}
	return nil
}

func isBinary(content []byte) bool {
	return bytes.IndexByte(content[:min(len(content), binaryHead)], 0) >= 0
}

const noHash = "0000000000000000000000000000000000000000"

// header appends the lines before the labels.
func (f *File) header(out *bytes.Buffer, short map[string]string) {
	from, to := f.New, f.Old
	if f.Old != nil {
		from = f.Old
	}
	if f.New != nil {
		to = f.New
	}
	fmt.Fprintf(out, "diff --git %s %s\n", Quote("a/"+from.Path), Quote("b/"+to.Path))
	before, after, mode := noHash, noHash, ""
	switch {
	case f.Old == nil:
		fmt.Fprintf(out, "new file mode %s\n", f.New.Mode)
		after = f.New.Hash
	case f.New == nil:
		fmt.Fprintf(out, "deleted file mode %s\n", f.Old.Mode)
		before = f.Old.Hash
	default:
		before, after = f.Old.Hash, f.New.Hash
		if mode = " " + f.Old.Mode; f.Old.Mode != f.New.Mode {
			fmt.Fprintf(out, "old mode %s\nnew mode %s\n", f.Old.Mode, f.New.Mode)
			mode = ""
		}
	}
	if f.Rename {
		fmt.Fprintf(out, "similarity index %d%%\nrename from %s\nrename to %s\n", f.score*100/maxScore, Quote(f.Old.Path), Quote(f.New.Path))
	}
	if before != after {
		fmt.Fprintf(out, "index %s..%s%s\n", short[before], short[after], mode)
	}
}

// labels returns the names of both sides.
func (f *File) labels() (from, to string) {
	from, to = "/dev/null", "/dev/null"
	if f.Old != nil {
		from = Quote("a/" + f.Old.Path)
	}
	if f.New != nil {
		to = Quote("b/" + f.New.Path)
	}
	return from, to
}

// label marks the end of a name with spaces by a tab, as git does.
func label(name string) string {
	if strings.Contains(name, " ") {
		return name + "\t"
	}
	return name
}

// Quote quotes a path as git does by default: if it has control characters, quotes, backslashes or bytes outside of ASCII.
func Quote(path string) string {
	var b strings.Builder
	for i := range len(path) {
		c := path[i]
		if at := strings.IndexByte("\a\b\t\n\v\f\r\"\\", c); at >= 0 {
			b.WriteByte('\\')
			b.WriteByte(`abtnvfr"\`[at])
		} else if c < ' ' || c >= 0x7f {
			fmt.Fprintf(&b, "\\%03o", c)
		} else {
			b.WriteByte(c)
		}
	}
	if b.Len() == len(path) {
		return path
	}
	return `"` + b.String() + `"`
}
