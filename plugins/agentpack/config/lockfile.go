package config

import (
	"encoding/hex"
	"encoding/json"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
)

// LockFile is the lockfile's name in a config repo.
const LockFile = "agentpack.lock.json"

// maxLock is the size limit of a lockfile, in bytes.
const maxLock = 32 << 20

// Lock holds the locked git modules by id. The zero Lock holds none.
type Lock struct {
	git map[string]LockedGit
	sum *string
}

// LockedGit is the locked source of a module.
type LockedGit struct {
	URL    string `json:"url"`
	Commit string `json:"commit"`
	Subdir string `json:"subdir"`
}

// LoadLock reads the lockfile of a config repo. If the lockfile is missing, malformed or of another version, the
// Lock is empty. Other commands of agentpack report such a lockfile.
func LoadLock(repo string) Lock {
	text, err := disk.Read(filepath.Join(repo, LockFile), maxLock)
	if err != nil {
		return Lock{}
	}
	return ParseLock(text)
}

// ParseLock decodes a lockfile. If it is invalid, the Lock is empty.
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
	raw := digest.Sum256(text)
	sum := hex.EncodeToString(raw[:])
	lock := Lock{git: map[string]LockedGit{}, sum: &sum}
	for _, module := range file.Modules {
		if module.Resolved.Git != nil {
			lock.git[module.ID] = *module.Resolved.Git
		}
	}
	return lock
}

// Git returns the locked source of a module.
func (l Lock) Git(id string) (LockedGit, bool) {
	git, ok := l.git[id]
	return git, ok
}

// SHA256 returns the sum of the lockfile in hexadecimal; nil if there is no valid lockfile.
func (l Lock) SHA256() *string { return l.sum }
