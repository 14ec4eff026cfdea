package discovery

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

// Bounds of skillFiles. What is beyond them is served, but its changes are not noticed.
const (
	maxSkillFiles = 1000 // files and directories
	maxSkillDepth = 8    // directories in each other, the one with the skills included
)

// skillFiles are the files and directories in the directories of a project's skills, whose changes are announced to clients. Nothing in them
// is followed or opened but directories, since an author of the project chooses what is there.
type skillFiles struct {
	paths    []string
	metadata hash.Hash
	left     int // entries
}

// skillFiles returns the files of the skills of the project of f.
func (f *Found) skillFiles() *skillFiles {
	if len(f.SkillDirs) == 0 {
		return nil
	}
	s := &skillFiles{metadata: sha256.New(), left: maxSkillFiles}
	decided, _ := config.DecideSkills(f.SkillDirs, f.Defaults, f.Places)
	for _, d := range decided.Dirs {
		s.paths = append(s.paths, d.Path)
		if info, err := os.Stat(d.Path); err != nil || !info.IsDir() { // opening a FIFO would wait for its writer
			continue
		}
		root, err := os.OpenRoot(d.Path)
		if err != nil {
			continue
		}
		s.add(root, d.Path, 1)
	}
	return s
}

// add adds what is in the directory root, and closes it.
func (s *skillFiles) add(root *os.Root, path string, depth int) {
	defer root.Close()
	dir, err := root.Open(".")
	if err != nil {
		return
	}
	names, _ := dir.Readdirnames(s.left + 1)
	_ = dir.Close() // it was only read
	slices.Sort(names)
	for _, name := range names {
		info, err := root.Lstat(name)
		if err != nil || strings.HasPrefix(name, ".") {
			continue
		}
		if s.left--; s.left < 0 {
			return
		}
		at := filepath.Join(path, name)
		s.paths = append(s.paths, at)
		if !info.IsDir() {
			fmt.Fprintf(s.metadata, "%q %v %d %d\n", at, info.Mode(), info.Size(), info.ModTime().UnixNano())
			continue
		}
		fmt.Fprintf(s.metadata, "%q\n", at) // its times change with entries that are no part of a skill
		if depth == maxSkillDepth {
			continue
		}
		if below, err := root.OpenRoot(name); err == nil {
			s.add(below, at, depth+1)
		}
	}
}

// state returns a string that differs if the metadata of a file differs; "" if the config names no directories.
func (s *skillFiles) state() string {
	if s == nil {
		return ""
	}
	return hex.EncodeToString(s.metadata.Sum(nil))
}

// watchedSkills returns the files of the skills of all projects.
func (f *Found) watchedSkills() []string {
	if len(f.SkillDirs) == 0 {
		return nil
	}
	paths := f.skillFiles().paths
	for _, p := range f.Projects {
		in := *f
		in.Places = p.Places
		paths = append(paths, in.skillFiles().paths...)
	}
	return paths[:min(len(paths), 2*maxSkillFiles)]
}
