package main

import (
	"testing"

	"github.com/bulkhead-mcp/bulkhead/sdk/sdktest"
)

func TestGreet(t *testing.T) {
	host := sdktest.New(t, plugin(), "plugin.toml")

	result, err := host.CallTool("hello_greet", `{"name": "Ada", "times": 2}`)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := result.Text(), "Hello, Ada!\nHello, Ada!"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}

	if _, err := host.CallTool("hello_greet", `{"name": ""}`); err == nil {
		t.Error("an empty name was accepted")
	}
}
