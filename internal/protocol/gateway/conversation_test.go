package gateway

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// TestConversations runs testdata/*.txtar. Each section is one session and is named after the behaviour that it tests. A line
// "config {…}" sets fields of the Config. A line with ">" is sent, and a line with "<" must be received next; the session
// must not receive other lines. JSON is compared by value, and numbers by their digits. An expected string that ends in …
// matches by prefix. "eof" ends the input, and "run N" checks the number of calls that the backend has run.
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations in testdata (%v)", err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, section := range archive.Files {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+section.Name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { play(t, string(section.Data)) })
			})
		}
	}
}

func play(t *testing.T, script string) {
	config := Config{Tools: []Tool{
		{Name: "zulu", Description: "Last in the alphabet, first here", Input: json.RawMessage(`{"type":"object"}`), ReadOnly: true},
		{Name: "alpha", Input: json.RawMessage(`{"type":"object"}`)},
	}}
	backend := newFake()
	var p *peer
	var got []string
	for line := range strings.Lines(script) {
		verb, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if p == nil && verb != "config" {
			p = connect(t, newGateway(t, config, backend))
		}
		switch verb {
		case "", "#":
		case "config":
			if err := json.Unmarshal([]byte(rest), &config); err != nil {
				t.Fatal(err)
			}
		case ">":
			got = append(got, p.say(rest)...)
		case "<":
			if len(got) == 0 {
				t.Fatalf("no line came, want %s", rest)
			}
			match(t, got[0], rest)
			got = got[1:]
		case "eof":
			if err := p.hangUp(); err != nil {
				t.Errorf("Serve: %v", err)
			}
			got = append(got, p.out.lines()...)
			p.served <- nil
		case "run":
			if want := rest; want != string(mustJSON(t, backend.runs())) {
				t.Errorf("%d calls ran, want %s", backend.runs(), want)
			}
		default:
			t.Fatalf("unknown verb %q", verb)
		}
	}
	if len(got) > 0 {
		t.Errorf("more came than was expected:\n%s", strings.Join(got, "\n"))
	}
	if err := p.hangUp(); err != nil {
		t.Errorf("Serve: %v", err)
	}
	if got := p.out.lines(); len(got) > 0 {
		t.Errorf("at the end came:\n%s", strings.Join(got, "\n"))
	}
}

func match(t *testing.T, got, want string) {
	t.Helper()
	begins := func(text, stem string) bool {
		stem, open := strings.CutSuffix(stem, "…")
		return open && strings.HasPrefix(text, stem)
	}
	texts := cmp.Comparer(func(a, b string) bool { return a == b || begins(a, b) || begins(b, a) })
	if diff := cmp.Diff(decode(t, got), decode(t, want), texts); diff != "" {
		t.Errorf("got  %s\nwant %s\n(-got +want):\n%s", got, want, diff)
	}
}

// decode decodes a JSON value, numbers as json.Number.
func decode(t *testing.T, text string) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return value
}

func mustJSON(t *testing.T, value any) []byte {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
