package lockfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/desired"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/lockfile"
)

const locked = `{"version":1,"modules":[
 {"id":"a","resolved_source":{"local_path":{"path":"m"},"git":null}},
 {"id":"b","resolved_source":{"local_path":null,"git":{"url":"https://git.example/b.git","commit":"0123456789012345678901234567890123456789","subdir":"s"}}}]}`

func TestParse(t *testing.T) {
	lock := lockfile.Parse([]byte(locked))
	got, ok := lock.Git("b")
	want := lockfile.Git{URL: "https://git.example/b.git", Commit: "0123456789012345678901234567890123456789", Subdir: "s"}
	if !ok || got != want {
		t.Errorf("got %+v", got)
	}
	for _, id := range []string{"a", "c"} {
		if _, ok := lock.Git(id); ok {
			t.Errorf("%s is locked", id)
		}
	}
	if sum := lock.SHA256(); sum == nil || *sum != desired.Sum([]byte(locked)) {
		t.Errorf("the sum: got %v", sum)
	}
}

func TestWhatLocksNothing(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON": "{", "another version": `{"version":2,"modules":[]}`, "no version": `{"modules":[]}`,
		"modules of another form": `{"version":1,"modules":[{"id":5}]}`, "nothing": "",
	} {
		lock := lockfile.Parse([]byte(text))
		if _, ok := lock.Git("b"); ok || lock.SHA256() != nil {
			t.Errorf("%s: got %+v", name, lock)
		}
	}
}

func TestLoad(t *testing.T) {
	repo := t.TempDir()
	if lockfile.Load(repo).SHA256() != nil {
		t.Error("there is a lock without a file")
	}
	if err := os.WriteFile(filepath.Join(repo, lockfile.File), []byte(locked), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, ok := lockfile.Load(repo).Git("b"); !ok {
		t.Error("the file was not read")
	}
}
