package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testcache"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

func TestMain(m *testing.M) {
	host.RunChild()
	os.Exit(m.Run())
}

// conversations is the directory of the recorded conversations.
const conversations = "testdata"

// TestReplay repeats the conversations that were recorded over HTTP, over a pair of streams. The server must send the same
// messages; between two messages of the client, their order may differ.
func TestReplay(t *testing.T) {
	testenv.NotShort(t, "builds the program")
	plugins := testcache.Must(testcache.Plugins(testcache.Must(testcache.Program("../../cmd/bulkhead", testcache.AnyCgo)), "../../examples/everything"))
	cache := testcache.Must(testcache.Compiled("../../internal/runtime/engine/code"))
	t.Setenv("XDG_CACHE_HOME", cache)
	// This compiles the module, so that no call waits for that, which clients would be told.
	checked := build.Check(t.Context(), filepath.Join(plugins, "plugins", "everything"), build.Options{CacheDir: filepath.Join(cache, "bulkhead")})
	if err := checked.Err(); err != nil {
		t.Fatal(err)
	}
	server, err := start(t.Context(), "", filepath.Join(plugins, "plugins"), "", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.close(); err != nil {
			t.Error(err)
		}
	})
	files, err := filepath.Glob(filepath.Join(conversations, "*.txtar"))
	if err != nil || len(files) != len(recorded) {
		t.Fatalf("found %d files, want %d (%v)", len(files), len(recorded), err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, scenario := range archive.Files {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+scenario.Name, func(t *testing.T) {
				if err := server.reset(t.Context()); err != nil {
					t.Fatal(err)
				}
				for session := range strings.SplitSeq(strings.TrimPrefix(string(scenario.Data), "=\n"), "=\n") {
					replay(t, server.host, session)
				}
			})
		}
	}
}

// answerTime is how long the replay waits for a message: a bound for a server that hangs.
const answerTime = 30 * time.Second

// replay repeats one session.
func replay(t *testing.T, h *host.Host, session string) {
	ctx, cancel := context.WithCancel(t.Context())
	in, client := io.Pipe()
	out, serverOut := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- h.Serve(ctx, in, serverOut)
		serverOut.Close()
	}()
	heard := make(chan string, 1000)
	go func() {
		defer close(heard)
		for lines := bufio.NewReader(out); ; {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			heard <- "< " + strings.TrimSuffix(line, "\n")
		}
	}()
	defer func() {
		cancel()
		client.Close()
		<-ended
	}()

	p := player{names: map[string]string{}}
	for line := range strings.Lines(session) {
		line = strings.TrimSuffix(line, "\n")
		if line[0] == '>' {
			if _, err := io.WriteString(client, p.insert(line[2:])+"\n"); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for !p.match(line) {
			select {
			case message, ok := <-heard:
				if !ok {
					t.Fatalf("the server ended\nwant %s", line)
				}
				p.waiting = append(p.waiting, message)
			case <-time.After(answerTime):
				t.Fatalf("no such message came\nwant %s\ngot  %s", line, strings.Join(p.waiting, "\n     "))
			}
		}
	}
	client.Close()
	for message := range heard {
		p.waiting = append(p.waiting, message)
	}
	if len(p.waiting) > 0 {
		t.Errorf("the server sent more than over HTTP:\n%s", strings.Join(p.waiting, "\n"))
	}
}

// player compares the messages of the server with those that were recorded.
type player struct {
	waiting []string          // messages of the server that were not expected yet
	names   map[string]string // what STATE1, REQUEST1 and so on stand for in this session
}

// insert puts the values of this session in place of names into a message of the client.
func (p *player) insert(message string) string {
	for name, value := range p.names {
		message = strings.ReplaceAll(message, name, value)
	}
	return message
}

// match removes the message that a recorded line stands for from those that have come.
func (p *player) match(recorded string) bool {
	want := parseLine(recorded)
	for i, line := range p.waiting {
		got := parseLine(line)
		if state := got.Result.RequestState; state != "" && want.Result.RequestState != "" {
			line = strings.Replace(line, state, want.Result.RequestState, 1)
		}
		if got.Method != "" && got.ID != nil && want.ID != nil {
			line = strings.Replace(line, `"id":`+string(got.ID), `"id":`+string(want.ID), 1)
		}
		if line != recorded {
			continue
		}
		if want.Result.RequestState != "" {
			p.names[want.Result.RequestState] = got.Result.RequestState
		}
		if want.Method != "" && want.ID != nil {
			p.names[string(want.ID)] = string(got.ID)
		}
		p.waiting = append(p.waiting[:i], p.waiting[i+1:]...)
		return true
	}
	return false
}

func TestTapeNamesWhatDiffersEachTime(t *testing.T) {
	got := strings.Join(name([]string{
		`> {"jsonrpc":"2.0","id":7,"method":"tools/call"}`,
		`< {"jsonrpc":"2.0","id":"q","method":"roots/list"}`,
		`> {"jsonrpc":"2.0","id":"q","result":{"roots":[]}}`,
		`< {"jsonrpc":"2.0","id":7,"result":{"requestState":"abc"}}`,
		`> {"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"requestState":"abc-TAMPERED"}}`,
	}), "\n")
	want := `> {"jsonrpc":"2.0","id":7,"method":"tools/call"}
< {"jsonrpc":"2.0","id":"REQUEST1","method":"roots/list"}
> {"jsonrpc":"2.0","id":"REQUEST1","result":{"roots":[]}}
< {"jsonrpc":"2.0","id":7,"result":{"requestState":"STATE1"}}
> {"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"requestState":"STATE1-TAMPERED"}}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestJudge(t *testing.T) {
	one := suite{name: "one"}
	results := []result{{suite: one, scenarios: []scenario{{"lists", []check{
		{ID: "a", Status: statusSuccess}, {ID: "b", Status: statusFailure, ErrorMessage: "no"}, {ID: "c", Status: statusWarning}, {ID: "d", Status: "INFO"},
	}}}}}
	except := func(id string) exception { return exception{"one", "lists", id, "a sentence", "a page"} }
	for _, test := range []struct {
		name       string
		exceptions []exception
		line, err  string
	}{
		{"failures and warnings fail", nil, "1 of 3 checks of 1 suites passed, with 0 exceptions", "2 problems, of which 2 are checks that failed"},
		{"an exception excuses one check", []exception{except("b")}, "1 of 3 checks of 1 suites passed, with 1 exceptions", "1 problems, of which 1 are checks that failed"},
		{"all are excused", []exception{except("b"), except("c")}, "1 of 3 checks of 1 suites passed, with 2 exceptions", "<nil>"},
		{"an exception that is not needed", []exception{except("a"), except("b"), except("c")}, "1 of 3 checks of 1 suites passed, with 2 exceptions", "1 problems, of which 0 are checks that failed"},
	} {
		verdict := judge(results, test.exceptions)
		if verdict.line() != test.line || fmt.Sprint(verdict.err()) != test.err {
			t.Errorf("%s: got %q, %v", test.name, verdict.line(), verdict.err())
		}
	}
	results[0].suite.checks = 4
	var table bytes.Buffer
	verdict := judge(results, nil)
	verdict.print(&table)
	for _, want := range []string{"one: lists: b (FAILURE): no", "one: only 3 checks gave a result, of 4"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table does not have %q:\n%s", want, table.String())
		}
	}
}
