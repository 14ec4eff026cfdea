package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
)

func TestMain(m *testing.M) {
	RunChild()
	os.Exit(m.Run())
}

// world is a folder with everything that a host takes from its surroundings: the working directory work,
// the program bin/bulkhead, the home folder home.
type world struct {
	dir string
	env map[string]string
	log bytes.Buffer
}

func newWorld(t testing.TB, contents ...files) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{dir: dir, env: map[string]string{
		"HOME": dir + "/home", "XDG_STATE_HOME": dir + "/state", "XDG_CACHE_HOME": dir + "/cache", "TZ": "UTC",
	}}
	w.write(t, files{"work": "/", "home": "/"})
	for _, f := range contents {
		w.write(t, f)
	}
	return w
}

// files are paths and what they hold; "/" makes a folder.
type files map[string]string

func (w *world) write(t testing.TB, f files) {
	t.Helper()
	for name, content := range f {
		path := filepath.Join(w.dir, name)
		folder := filepath.Dir(path)
		if content == "/" {
			folder = path
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if content == "/" {
			continue
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// options stand in the world; its plugins are in the folder plugins. They name the config of the working
// directory, if there is one, so that it need not be trusted.
func (w *world) options() Options {
	file := w.dir + "/work/bulkhead.toml"
	if _, err := os.Stat(file); err != nil {
		file = ""
	}
	return Options{
		ConfigFile: file,
		PluginsDir: w.dir + "/plugins",
		Log:        hclog.New(&hclog.LoggerOptions{Output: &w.log, Level: hclog.Trace, DisableTime: true}),
		System: System{
			Dir:        w.dir + "/work",
			Executable: w.dir + "/bin/bulkhead",
			LookupEnv:  func(name string) (string, bool) { value, ok := w.env[name]; return value, ok },
		},
	}
}

// open opens a host that is closed at the test's end.
func (w *world) open(t testing.TB, o Options) *Host {
	t.Helper()
	h, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return h
}

// handmade is a plugin's folder: its manifest, with more at the end, and its module; nil leaves that out.
func handmade(name string, wasm []byte, more string) files {
	f := files{"plugins/" + name + "/plugin.toml": fmt.Sprintf(`manifest = 1
[plugin]
name = %q
version = "0.1.0"
description = "Made by hand."
[module]
file = "it.wasm"
`, name) + more}
	if wasm != nil {
		f["plugins/"+name+"/it.wasm"] = string(wasm)
	}
	return f
}

// reads and writes are tables of one tool.
func reads(name string) string  { return table(name, "read") }
func writes(name string) string { return table(name, "write") }

func table(name, access string) string {
	return fmt.Sprintf("[[tools]]\nname = %q\ndescription = \"does it\"\naccess = %q\n", name, access)
}

const done = `{"result":{"content":[{"type":"text","text":"done"}]}}`

// initialized is what the host's server says of itself.
func initialized(t testing.TB, h *Host) (name, version string) {
	t.Helper()
	const request = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	var r struct {
		Result struct {
			ServerInfo struct{ Name, Version string }
		}
	}
	answered(t, h, request, &r)
	return r.Result.ServerInfo.Name, r.Result.ServerInfo.Version
}

// answered decodes the one answer to a request.
func answered(t testing.TB, h *Host, request string, into any) {
	t.Helper()
	var out bytes.Buffer
	if err := h.Serve(t.Context(), strings.NewReader(request+"\n"), &out); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out.Bytes(), into); err != nil {
		t.Fatalf("%v: %s", err, out.Bytes())
	}
}

// wantUsage checks that err is a *UsageError that contains each of texts.
func wantUsage(t testing.TB, err error, texts ...string) {
	t.Helper()
	var usage *UsageError
	if !errors.As(err, &usage) {
		t.Fatalf("got %v, want a usage error", err)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("got %q, want it to say %q", err, text)
		}
	}
}

func wantEqual(t testing.TB, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
}
