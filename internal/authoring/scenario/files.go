package scenario

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/scratch"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
)

// writeFiles creates the files of a scenario. It follows no symbolic link out of a directory: those that are copied are the author's.
// The error is tomlfile.Problems.
func (s *Scenario) writeFiles(p *places) error {
	if s.from != "" {
		if err := s.copyFiles(p.dirs["project"]); err != nil {
			return fault(s.table, "from", err)
		}
	}
	for _, c := range s.before {
		if err := p.write(c); err != nil {
			return fault(c.table, c.key, err)
		}
	}
	return nil
}

// copyFiles copies the directory from, which is below that of the scenario file.
func (s *Scenario) copyFiles(project string) error {
	beside, err := os.OpenRoot(filepath.Dir(s.file))
	if err != nil {
		return err
	}
	defer beside.Close()
	source, err := beside.OpenRoot(filepath.FromSlash(s.from))
	if err != nil {
		return err
	}
	return errors.Join(scratch.Copy(project, source), source.Close())
}

func (p *places) write(c content) error {
	if err := os.MkdirAll(p.dirs[c.path.root], 0o755); err != nil {
		return err
	}
	dir, err := os.OpenRoot(p.dirs[c.path.root])
	if err != nil {
		return err
	}
	defer dir.Close()
	name := filepath.FromSlash(c.path.name)
	if strings.HasSuffix(c.path.name, "/") {
		return dir.MkdirAll(strings.TrimSuffix(name, string(filepath.Separator)), 0o755)
	}
	data := c.data
	if utf8.Valid(data) {
		data = []byte(p.expand(string(data)))
	}
	if err := dir.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return dir.WriteFile(name, data, 0o644)
}

// fault returns an error as a problem of a key in a scenario file.
func fault(t *tomlfile.Table, key string, err error) error {
	return tomlfile.Problems{{File: t.File(), Line: t.LineOf(key), Key: t.Path(key), What: "cannot be made: " + err.Error()}}
}

// snapshot has the digests of the files in the project and in the home directory, by their paths in scenario files. Symbolic links
// are files whose content is their target. Directories do not count.
type snapshot map[path]string

func takeSnapshot(p *places) (snapshot, error) {
	found := snapshot{}
	left := int64(scratch.MaxBytes)
	for _, root := range []string{"project", "home"} {
		dir, err := os.OpenRoot(p.dirs[root]) // a symbolic link that the module created must not lead out of the directory
		if err != nil {
			return nil, err
		}
		err = fs.WalkDir(dir.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case isHolder(name) && entry.IsDir():
				return fs.SkipDir
			case entry.IsDir() || isHolder(name):
				return nil
			}
			if len(found) == scratch.MaxFiles {
				return fmt.Errorf("the project and the home directory contain more than %d files", scratch.MaxFiles)
			}
			sum, size, err := digest(dir, name, entry.Type(), left)
			if left -= size; err == nil && left < 0 {
				return fmt.Errorf("%s: the files in the project and the home directory have more than %d MiB", path{root, name}, scratch.MaxBytes>>20)
			}
			found[path{root, name}] = sum
			return err
		})
		if err = errors.Join(err, dir.Close()); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// digest returns what stands for the content of a file, and its size. It does not read a file with more than limit bytes.
func digest(dir *os.Root, name string, kind fs.FileMode, limit int64) (string, int64, error) {
	if kind&fs.ModeSymlink != 0 {
		target, err := dir.Readlink(name)
		return "symbolic link to " + target, 0, err
	}
	if !kind.IsRegular() {
		return kind.String(), 0, nil
	}
	f, err := dir.Open(name)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() > limit {
		return "", limit + 1, err
	}
	sum := sha256.New()
	size, err := io.Copy(sum, io.LimitReader(f, limit+1))
	return fmt.Sprintf("%x", sum.Sum(nil)), size, err
}

// changed returns the paths whose files differ, sorted.
func changed(before, after snapshot) []path {
	all := maps.Clone(before)
	maps.Copy(all, after)
	differs := slices.DeleteFunc(slices.Collect(maps.Keys(all)), func(p path) bool { return before[p] == after[p] })
	slices.SortFunc(differs, func(a, b path) int { return strings.Compare(a.String(), b.String()) })
	return differs
}

// maxRead bounds a file that is compared with its expected content, in bytes.
const maxRead = 8 << 20

// read returns the content of a regular file in one of the directories. It follows no symbolic link out of it.
func (p *places) read(at path) ([]byte, error) {
	dir, err := os.OpenRoot(p.dirs[at.root])
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	data, err := readRegular(dir, filepath.FromSlash(at.name), maxRead)
	if err == nil && len(data) > maxRead {
		err = fmt.Errorf("it has more than %d MiB", maxRead>>20)
	}
	return data, err
}

// readRegular returns the content of a regular file, or the first limit+1 bytes.
func readRegular(dir *os.Root, name string, limit int64) ([]byte, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("it is not a regular file: its mode is %s", info.Mode())
	}
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit+1))
}

// checkFiles compares the files with the expected ones.
func (r *run) checkFiles(before, after snapshot) {
	s := r.scenario
	table := s.table.Table("after")
	named := map[path]bool{}
	for _, e := range s.after {
		named[e.path] = true
		data, err := r.places.read(e.path)
		exists := !errors.Is(err, fs.ErrNotExist)
		switch {
		case e.absent && exists:
			r.fail(table, e.key, fmt.Sprintf("%s exists", e.path))
		case e.absent:
		case e.unchanged && before[e.path] != after[e.path]:
			r.fail(table, e.key, fmt.Sprintf("%s has changed", e.path))
		case e.unchanged:
		case !exists:
			r.fail(table, e.key, fmt.Sprintf("%s does not exist", e.path))
		case err != nil:
			r.fail(table, e.key, fmt.Sprintf("%s cannot be read: %v", e.path, err))
		case e.exact != nil:
			r.compareText(table, e.key, e.path.String(), string(data), r.places.expand(*e.exact))
		case e.bytes != nil && !bytes.Equal(data, e.bytes):
			r.fail(table, e.key, fmt.Sprintf("%s has %d bytes that differ from the %d expected ones", e.path, len(data), len(e.bytes)))
		case e.bytes == nil:
			r.checkTexts(table, e.key, e.path.String(), string(data), e.text)
		}
	}
	if !s.unchanged {
		return
	}
	for _, p := range changed(before, after) {
		switch {
		case named[p]:
		case before[p] == "":
			r.fail(s.table, "unchanged", fmt.Sprintf("%s was created", p))
		case after[p] == "":
			r.fail(s.table, "unchanged", fmt.Sprintf("%s was removed", p))
		default:
			r.fail(s.table, "unchanged", fmt.Sprintf("%s has changed", p))
		}
	}
}
