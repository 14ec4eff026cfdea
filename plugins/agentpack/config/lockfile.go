package config

import (
	"encoding/json"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
)

// LockFile is the name of the lockfile in a config repo.
const LockFile = "agentpack.lock.json"

// maxLock is the maximum size of a lockfile, in bytes.
const maxLock = 32 << 20

// Lock is the content of a lockfile. The zero Lock has no locked sources.
type Lock struct {
	Git    map[string]LockedGit // the locked sources of git modules; the key is the id of the module
	SHA256 *string              // the SHA-256 of the lockfile in hexadecimal; nil if there is no valid lockfile
}

// LockedGit is the locked source of one git module.
type LockedGit struct {
	URL    string `json:"url"`
	Commit string `json:"commit"`
	Subdir string `json:"subdir"`
}

// LoadLock reads the lockfile of a config repo. If the lockfile is missing, malformed or of another version, LoadLock
// returns an empty Lock, because other commands of agentpack report such a lockfile.
func LoadLock(repo string) Lock {
	text, err := disk.Read(filepath.Join(repo, LockFile), maxLock)
	if err != nil {
		return Lock{}
	}
	return ParseLock(text)
}

// ParseLock decodes the content of a lockfile. For invalid content it returns an empty Lock.
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
	sum := digest.Hex(text)
	lock := Lock{Git: map[string]LockedGit{}, SHA256: &sum}
	for _, module := range file.Modules {
		if module.Resolved.Git != nil {
			lock.Git[module.ID] = *module.Resolved.Git
		}
	}
	return lock
}
