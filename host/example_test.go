package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

// pluginDir returns a directory with a plugin that has one tool. The module of the plugin answers every call with the same result.
func pluginDir() string {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"greeter/plugin.toml": []byte(`manifest = 1
[plugin]
name = "greeter"
version = "1.0.0"
description = "Greets."
[module]
file = "greeter.wasm"
[[tools]]
name = "greet"
description = "Greets a person."
access = "read"
`),
		"greeter/greeter.wasm": wasmtest.Answering(`{"result":{"content":[{"type":"text","text":"Hello!"}]}}`),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			log.Fatal(err)
		}
	}
	return dir
}

// open opens a host with the plugins in dir. In a program, the main function has to call host.RunChild first.
func open(dir string) *host.Host {
	environment := map[string]string{"XDG_CACHE_HOME": dir + "/cache", "XDG_STATE_HOME": dir + "/state"}
	system := host.System{Dir: dir, LookupEnv: func(name string) (string, bool) {
		value, ok := environment[name]
		return value, ok
	}}
	h, err := host.Open(host.Options{PluginsDir: dir, NoConfig: true, System: system})
	if err != nil {
		log.Fatal(err)
	}
	return h
}

func ExampleHost_Call() {
	dir := pluginDir()
	defer os.RemoveAll(dir)
	ctx := context.Background()
	h := open(dir)
	defer h.Close(ctx)

	answer, err := h.Call(ctx, "greet", json.RawMessage(`{}`), host.Client{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(answer.Result))
	// Output: {"content":[{"type":"text","text":"Hello!"}]}
}

func ExampleHost_Serve() {
	dir := pluginDir()
	defer os.RemoveAll(dir)
	ctx := context.Background()
	h := open(dir)
	defer h.Close(ctx)

	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
	var out bytes.Buffer
	if err := h.Serve(ctx, in, &out); err != nil {
		log.Fatal(err)
	}
	fmt.Print(out.String())
	// Output: {"jsonrpc":"2.0","id":1,"result":{}}
}

func ExampleHost_Plugins() {
	dir := pluginDir()
	defer os.RemoveAll(dir)
	h := open(dir)
	defer h.Close(context.Background())

	for _, plugin := range h.Plugins() {
		for _, tool := range plugin.Tools {
			fmt.Println(plugin.Name, tool.Name, tool.Access, tool.Offered)
		}
	}
	// Output: greeter greet read true
}
