package dispatch_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/code"
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
				t.Error("CacheDir does not report the unusable directory")
			}
		})
	}
}

// If the cache is cleared while a worker starts, at whatever moment, the call still succeeds.
func TestCallSucceedsWhenTheCacheIsCleared(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("it", wasmtest.Answering(hosttest.Done), hosttest.Reads("it_reads")))
	removed, rounds := 0, testenv.Count(10, 30, 30)
	for round := range rounds {
		n := round * 30 / rounds // milliseconds
		h := w.Open(t, w.Options())
		answered := make(chan string, 1)
		go func() {
			answer, err := h.Call(t.Context(), "it_reads", json.RawMessage(`{}`), host.Client{})
			if err != nil {
				answer.Failure = err.Error()
			}
			answered <- answer.Failure
		}()
		time.Sleep(time.Duration(n) * time.Millisecond)
		entries, err := code.List(w.Dir + "/cache/bulkhead")
		if err != nil {
			t.Error(err)
		}
		for _, e := range entries {
			gone, err := e.Remove()
			if err != nil {
				t.Error(err)
			}
			if gone {
				removed++
			}
		}
		if failure := <-answered; failure != "" {
			t.Errorf("cleared after %d ms: %s", n, failure)
		}
		if err := h.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if removed == 0 {
		t.Error("nothing was removed")
	}
}
