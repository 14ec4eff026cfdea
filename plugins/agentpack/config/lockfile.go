// Package lockfile reads agentpack.lock.json, which says at which commit each module from git is used.
// Nothing in it writes: other commands of agentpack do that.
package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
)

// File is the lockfile's name in a config repo.
const LockFile = "agentpack.lock.json"

// maxSize is the largest lockfile that is read, in bytes.
const maxLock = 32 << 20

// Lock holds the modules from git that are locked, by id. The zero Lock holds none.
type Lock struct {
	git map[string]LockedGit
	sum *string
}

// Git is where a locked module is.
type LockedGit struct {
	URL    string `json:"url"`
	Commit string `json:"commit"`
	Subdir string `json:"subdir"`
}

// Load reads the lockfile of a config repo. One that is missing, malformed or of another version locks
// nothing: other commands complain about it.
func LoadLock(repo string) Lock {
	text, err := disk.Read(filepath.Join(repo, LockFile), maxLock)
	if err != nil {
		return Lock{}
	}
	return ParseLock(text)
}

// Parse reads a lockfile's text, as Load does.
func ParseLock(text []byte) Lock {
	var file struct {
		Version *int `json:"version"`
		Modules []struct {
			ID       string `json:"id"`
			Resolved struct {
				Git *LockedGit `json:"git"`
			} `json:"resolved_source"`
		} `json:"modules"`
	}
	if err := json.Unmarshal(text, &file); err != nil || file.Version == nil || *file.Version != 1 {
		return Lock{}
	}
	raw := sha256.Sum256(text)
	sum := hex.EncodeToString(raw[:])
	lock := Lock{git: map[string]LockedGit{}, sum: &sum}
	for _, module := range file.Modules {
		if module.Resolved.Git != nil {
			lock.git[module.ID] = *module.Resolved.Git
		}
	}
	return lock
}

// Git returns where a module is locked; false if it is not.
func (l Lock) Git(id string) (LockedGit, bool) {
	git, ok := l.git[id]
	return git, ok
}

// SHA256 is the sum of the lockfile's text in hexadecimal; nil if there is none that counts.
func (l Lock) SHA256() *string { return l.sum }
