package dispatch_test

import (
	"os"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/wasmtest"
)

func TestCallRunsWithoutCache(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), hosttest.Reads("a_reads")), hosttest.Files{"file": ""})
	w.Env["XDG_CACHE_HOME"] = w.Dir + "/file"
	h := w.Open(t, w.Options())
	if answer := hosttest.Call(t, h, "a_reads", ""); answer.IsError || answer.Error != nil {
		t.Errorf("got %+v", answer)
	}
	if !strings.Contains(w.Log.String(), "compiled modules are not kept") {
		t.Errorf("logged %q", w.Log.String())
	}
}

func TestCacheWritableByOthersIsNotUsed(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, w *hosttest.World) error{
		"others can write it":            func(t *testing.T, w *hosttest.World) error { return os.Chmod(w.Dir+"/cache/bulkhead", 0o770) },
		"others can write what holds it": func(t *testing.T, w *hosttest.World) error { return os.Chmod(w.Dir+"/cache", 0o757) },
		"another user owns it": func(t *testing.T, w *hosttest.World) error {
			if os.Geteuid() != 0 {
				t.Skip("only root can give a directory to another user")
			}
			return os.Chown(w.Dir+"/cache/bulkhead", 54321, 54321)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t, hosttest.Plugin("it", wasmtest.Answering(hosttest.Done), hosttest.Reads("it_reads")), hosttest.Files{"cache/bulkhead": "/"})
			if err := spoil(t, w); err != nil {
				t.Fatal(err)
			}
			h := w.Open(t, w.Options())
			if answer := hosttest.Call(t, h, "it_reads", `{}`); answer.IsError {
				t.Errorf("%+v", answer)
			}
			items, err := os.ReadDir(w.Dir + "/cache/bulkhead")
			if err != nil || len(items) > 0 {
				t.Errorf("it holds %v, %v", items, err)
			}
			if log := w.Log.String(); !strings.Contains(log, "[ERROR] compiled modules are not kept") || !strings.Contains(log, w.Dir+"/cache") || !strings.Contains(log, " ch") {
				t.Errorf("logged %s", log)
			}
			if _, err := discovery.CacheDir(w.Options().System); err == nil {
				t.Error("CacheDir does not say so")
			}
		})
	}
}
