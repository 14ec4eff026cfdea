package dev

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/base/watch"
)

func TestMain(m *testing.M) {
	host.RunChild()
	testenv.UseMemoryUnlessAll()
	os.Exit(m.Run())
}

// fakeHost records what it is told.
type fakeHost struct {
	mu     sync.Mutex
	refuse error
	told   []string
	loaded chan struct{} // has an element for each call of Reload
}

func (h *fakeHost) Reload(context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.loaded <- struct{}{}
	return h.refuse
}

func (h *fakeHost) Warn(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.told = append(h.told, text)
}

func (h *fakeHost) allow(refuse error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refuse = refuse
}

// save writes the source of a plugin without [build]: the module is a source.
func save(t *testing.T, dir, version string) {
	t.Helper()
	for name, content := range map[string]string{
		"hand.wasm":   string(wasmtest.Answering(`{"result":{"tools":["one"],"prompts":false,"resources":false,"completions":false}}`)),
		"plugin.toml": fmt.Sprintf("manifest = 1\n[plugin]\nname = \"hand\"\nversion = %q\ndescription = \"Made by hand.\"\n[module]\nfile = \"hand.wasm\"\n[[tools]]\nname = \"one\"\ndescription = \"does it\"\naccess = \"read\"\n", version),
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
}

// served returns the manifest of the build in service.
func served(t *testing.T, b *Builder) string {
	t.Helper()
	dir, err := b.Plugin().Built()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "plugin.toml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A build that the host rejects, for example because of its config, leaves the previous one in service.
func TestRejectedBuildIsNotServed(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, "1.0.0")
	b, err := Start(t.Context(), Config{Dir: dir, Build: build.Options{CacheDir: t.TempDir()}, Log: hclog.NewNullLogger()})
	if err != nil {
		t.Fatal(err)
	}
	<-b.Built()
	h := &fakeHost{loaded: make(chan struct{}, 100)}
	if err := b.Open(func() (Host, error) { return h, nil }); err != nil {
		t.Fatal(err)
	}
	h.allow(errors.New("the config forbids it"))
	save(t, dir, "2.0.0")
	<-h.loaded
	b.Rebuild(t.Context()) // waits for the build that is being rejected, and is rejected too
	if got := served(t, b); !strings.Contains(got, "1.0.0") {
		t.Errorf("in service is\n%s", got)
	}
	h.allow(nil)
	b.Rebuild(t.Context())
	if got := served(t, b); !strings.Contains(got, "2.0.0") {
		t.Errorf("in service is\n%s", got)
	}
	if told := strings.Join(h.told, "\n"); !strings.Contains(told, "the config forbids it") || !strings.HasSuffix(told, "is in service") {
		t.Errorf("the clients were told\n%s", told)
	}
	temp := b.temp.Path
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(temp); !os.IsNotExist(err) {
		t.Errorf("%s is left (%v)", temp, err)
	}
}

// Only the build in service and the one before it are kept.
func TestOldBuildsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, "1.0.0")
	b, err := Start(t.Context(), Config{Dir: dir, Build: build.Options{CacheDir: t.TempDir()}, Log: hclog.NewNullLogger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	<-b.Built()
	for n := range 4 {
		save(t, dir, fmt.Sprintf("1.0.%d", n+1))
		b.Rebuild(t.Context())
	}
	b.building.Lock() // the builds of the watcher
	defer b.building.Unlock()
	if kept, err := os.ReadDir(b.temp.Path); err != nil || len(kept) != 2 {
		t.Errorf("%d builds are kept (%v)", len(kept), err)
	}
}

func TestOutputOfBuildIsReportedOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "generated")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	b := &Builder{log: hclog.New(&hclog.LoggerOptions{Output: &log})}
	if b.again([]string{file}, false) != watch.AtOnce || b.again([]string{file}, false) != watch.AfterChange {
		t.Error("another build is needed after the first one only")
	}
	for range 2 * maxStreak {
		b.again([]string{file}, true)
	}
	if strings.Count(log.String(), "the build writes this file") != 1 {
		t.Errorf("the log is\n%s", log.String())
	}
}
