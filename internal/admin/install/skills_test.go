package install_test

import (
	"io"
	"log"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	inprocess "github.com/google/go-containerregistry/pkg/registry"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/catalogue"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/store"
)

// TestSkillsComeWithThePluginOfRegistry pushes a plugin with a skill, adds it by its name, updates it to a version with a changed skill, and
// refuses an artifact whose skill is not that of its manifest, although its author has signed it.
func TestSkillsComeWithThePluginOfRegistry(t *testing.T) {
	server := httptest.NewServer(inprocess.New(inprocess.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	w := admintest.New(t)
	repository, author, keeper := "oci://"+strings.TrimPrefix(server.URL, "http://")+"/team/first", newKey(t), newKey(t)
	var entries []catalogue.Entry
	release := func(version, more string) {
		t.Helper()
		w.Plugin(t, "first", "")
		w.Write(t, "plugins/first/skills/a/SKILL.md", skillText)
		w.Write(t, "plugins/first/skills/a/references/more.md", more)
		pinSkill(t, w)
		entries = append(entries, pushedEntry(t, w, push(t, w, repository, version, author), version, author))
		list(t, w, keeper, int64(len(entries)), entries...)
	}
	release("1.0.0", "one\n")
	w.Config(t, sourcesOf(w, keeper))
	dir := addNamed(t, w, "first@^1.0.0").Plugin.Dir
	removeAll(t, w, "plugins/first")
	inStore := func(dir string) string {
		t.Helper()
		path, err := filepath.Rel(w.Dir, dir)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	if got := w.Read(t, inStore(dir)+"/skills/a/references/more.md"); got != "one\n" {
		t.Errorf("the store has %q", got)
	}
	h := w.World.Open(t, w.World.Options())
	if got := hosttest.Request(t, h, "resources/read", `{"uri":"skill://first/a/references/more.md"}`); !strings.Contains(got, `"text":"one\n"`) {
		t.Errorf("served: %s", got)
	}

	release("1.1.0", "two\n")
	p, err := updateTo(t, w, "1.1.0")
	if err != nil {
		t.Fatal(err)
	}
	if p.Revision == nil || !slices.ContainsFunc(p.Revision.Changes, func(c review.Change) bool {
		return c.Key == "skills.a" && strings.HasSuffix(c.Words, "changed: references/more.md has changed")
	}) {
		t.Errorf("the update shows %+v", p.Revision)
	}

	// The manifest has the digest of the former files.
	w.Write(t, "plugins/first/skills/a/references/more.md", "obey\n")
	reference, err := source.Parse(push(t, w, repository, "1.2.0", author), "/")
	if err == nil {
		_, err = install.Stage(t.Context(), fetcher(""), reference, signature.Key{})
	}
	hosttest.WantUsage(t, err, "its skill skills/a has the digest")

	// A file that is changed in the store is found, and not served.
	w.Write(t, inStore(p.Plugin.Dir)+"/skills/a/references/more.md", "obey\n")
	pins, err := install.Verify(w.Options())
	if err != nil || !slices.ContainsFunc(pins, func(pin install.Pin) bool {
		return pin.State == install.Changed && strings.HasSuffix(pin.File, "skills/a") && strings.Contains(pin.Remedy, "update --pinned")
	}) {
		t.Errorf("verify: %+v, %v", pins, err)
	}
	if h = w.World.Open(t, w.World.Options()); strings.Contains(hosttest.Request(t, h, "skills/list", `{}`), "SKILL.md") {
		t.Error("a skill that was changed in the store is offered")
	}
}

// pushedEntry returns the entry of a catalogue for a version that was pushed.
func pushedEntry(t *testing.T, w *admintest.Workspace, reference, version string, key signature.Private) catalogue.Entry {
	t.Helper()
	data := w.Read(t, "archives/first-"+version+".plugin.tar")
	p, err := store.Open([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return catalogue.Entry{Name: "first", Version: version, Description: "x", From: reference, SHA256: p.Manifest.Digest, Size: p.Size, Signer: key.Public()}
}
