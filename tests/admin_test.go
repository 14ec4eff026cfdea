//go:build unix

package tests

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestPrefixIsPartOfToolNames(t *testing.T) {
	t.Parallel()
	config := filepath.Join(newDir(t, nil), "bulkhead.toml")
	putFile(t, config, fmt.Sprintf("[[plugins]]\npath = %q\nprefix = \"team_\"\n", filepath.Join(built.plugins(t), "hello")))
	s := startServer(t, programCommand(t, "serve", "--config", config, "--project", newDir(t, nil)))
	if names := s.names(); !slices.Equal(names, []string{"team_hello_greet"}) {
		t.Errorf("got tools %q", names)
	}
	if text := s.mustCall("team_hello_greet", `{"name":"Ada"}`); text != "Hello, Ada!" {
		t.Error(text)
	}
	s.wantUnknown("hello_greet")
	s.wantFailure("team_hello_greet", `{}`, "invalid_arguments", "bulkhead: team_hello_greet was called with")
	s.end()
}

func TestAuditLogHasOneLinePerCall(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	config := filepath.Join(newDir(t, nil), "bulkhead.toml")
	putFile(t, config, fmt.Sprintf("[audit]\nfile = %q\non_failure = \"closed\"\n[[plugins]]\npath = %q\n[[plugins]]\npath = %q\ndeny_tools = [\"*_spin\"]\n", file,
		filepath.Join(built.plugins(t), "hello"), filepath.Join(copyPlugins(t, "misbehave"), "misbehave")))
	s := startServer(t, programCommand(t, "serve", "--config", config, "--project", newDir(t, nil)))
	s.ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"editor","version":"7"}}}`)
	s.mustCall("hello_greet", `{"name":"a secret name"}`)
	s.wantUnknown("hello_delete")
	s.wantUnknown("misbehave_spin")
	s.wantFailure("hello_greet", `{}`, "invalid_arguments")
	s.wantFailure("misbehave_exit", `{}`, "exit")
	s.end()

	type line struct {
		Kind, Plugin, Version, Digest, Client, Tool, Outcome, Code, Arguments string
		Fuel, BytesOut                                                        int64
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var got []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		if strings.Contains(lines.Text(), "secret") {
			t.Errorf("the log holds an argument: %s", lines.Text())
		}
		if l.Client != "editor/7" && l.Kind != "server" {
			t.Errorf("the client is missing or wrong: %s", lines.Text())
		}
		if l.Kind == "call" && l.Outcome == "ok" && (l.Fuel == 0 || len(l.Digest) != 64 || !strings.HasPrefix(l.Arguments, "hmac-sha256:")) {
			t.Errorf("fuel, digest or hash of the arguments is missing: %s", lines.Text())
		}
		got = append(got, strings.Join([]string{l.Kind, l.Plugin, l.Tool, l.Outcome, l.Code}, " "))
	}
	want := []string{"server   ok ", "call hello hello_greet ok ", "refused  hello_delete denied unknown", "refused misbehave misbehave_spin denied not_granted", "call hello hello_greet failed invalid_arguments", "call misbehave misbehave_exit failed exit", "server   ok "}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
