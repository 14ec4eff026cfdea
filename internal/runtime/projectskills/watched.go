package projectskills

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/skills"
)

// maxWatched bounds the files and directories of a project that are watched. What is beyond is offered, but its changes are not noticed.
const maxWatched = 1000

// Watched returns the files and directories, existing or not, that decide which skills the project of c has, and a string that differs if the
// metadata of a skill's file differs. It opens them by the same rules as List, so a directory that is refused is not among them.
func Watched(c *catalog.Catalog) (paths []string, state string) {
	if !c.HasProjectSkills() {
		return nil, ""
	}
	return of(c).watched()
}

func (s Source) watched() (paths []string, state string) {
	w := watched{metadata: sha256.New()}
	for _, d := range s.Dirs {
		dir, err := s.open(d)
		if err != nil {
			continue // List reports it
		}
		w.note(d.Path)
		if dir != nil {
			w.add(dir)
			_ = dir.file.Close() // it was only read
		}
	}
	return w.paths, hex.EncodeToString(w.metadata.Sum(nil))
}

// watched is the state of one call of Watched.
type watched struct {
	paths    []string
	metadata hash.Hash
	skills   int // that were read
}

// note adds a path. It returns false if there are too many.
func (w *watched) note(path string) bool {
	if len(w.paths) == maxWatched {
		return false
	}
	w.paths = append(w.paths, path)
	return true
}

// add adds what is in a directory of skills. A directory without SKILL.md may become a skill, so it is watched, but not what is in it.
func (w *watched) add(d *directory) {
	names, _, _ := d.Names() // List reports the error
	for _, name := range slices.DeleteFunc(names, d.hidden) {
		at := filepath.Join(d.path, name)
		if !w.note(at) {
			return
		}
		dir, err := d.openSkill(name)
		if err != nil {
			continue
		}
		if w.skills < maxSkills && manifest.IsSkillName(name) && dir.HasInstructions() {
			w.skills++
			w.addSkill(dir, at)
		}
		dir.Close()
	}
}

// errEnough ends a walk.
var errEnough = errors.New("there are too many files")

// addSkill adds the files of a skill, whose directory has the path at.
func (w *watched) addSkill(dir *skills.Dir, at string) {
	fmt.Fprintf(w.metadata, "%q\n", at)
	_ = dir.Walk(func(name string, st beneath.Stat) error { // the error is that of the skill, unless it is errEnough
		path := filepath.Join(at, filepath.FromSlash(name))
		if !st.IsLink() && !w.note(path) { // a watch would follow a link
			return errEnough
		}
		if !st.IsDir() { // the times of a directory change with entries that are no part of a skill
			fmt.Fprintf(w.metadata, "%q %v %d %d\n", path, st.Mode, st.Size, st.Mtime)
		}
		return nil
	})
}
