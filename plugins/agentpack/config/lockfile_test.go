package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/config"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
)

const locked = `{"version":1,"modules":[
 {"id":"a","resolved_source":{"local_path":{"path":"m"},"git":null}},
 {"id":"b","resolved_source":{"local_path":null,"git":{"url":"https://git.example/b.git","commit":"0123456789012345678901234567890123456789","subdir":"s"}}}]}`

func TestParseLock(t *testing.T) {
	lock := config.ParseLock([]byte(locked))
	got, ok := lock.Git["b"]
	want := config.LockedGit{URL: "https://git.example/b.git", Commit: "0123456789012345678901234567890123456789", Subdir: "s"}
	if !ok || got != want {
		t.Errorf("got %+v", got)
	}
	for _, id := range []string{"a", "c"} {
		if _, ok := lock.Git[id]; ok {
			t.Errorf("the module %s is locked, want it not locked", id)
		}
	}
	if sum := lock.SHA256; sum == nil || *sum != digest.Hex([]byte(locked)) {
		t.Errorf("the SHA-256 of the lockfile: got %v", sum)
	}
}

func TestParseLockIgnoresInvalidFiles(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON": "{", "another version": `{"version":2,"modules":[]}`, "no version": `{"modules":[]}`,
		"modules in another form": `{"version":1,"modules":[{"id":5}]}`, "nothing": "",
	} {
		lock := config.ParseLock([]byte(text))
		if _, ok := lock.Git["b"]; ok || lock.SHA256 != nil {
			t.Errorf("%s: got %+v", name, lock)
		}
	}
}

func TestLoadLock(t *testing.T) {
	repo := t.TempDir()
	if config.LoadLock(repo).SHA256 != nil {
		t.Error("LoadLock returned a lock although there is no lockfile")
	}
	if err := os.WriteFile(filepath.Join(repo, config.LockFile), []byte(locked), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, ok := config.LoadLock(repo).Git["b"]; !ok {
		t.Error("LoadLock did not read the lockfile")
	}
}
