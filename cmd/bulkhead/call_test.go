package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func TestContentTypeIsSanitized(t *testing.T) {
	var out bytes.Buffer
	answer := host.Answer{Result: json.RawMessage(`{"content":[{"type":"audio\u001b[2J","mimeType":"a\u202e/b\ufe0f"}]}`)}
	if err := printTexts(&out, answer); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "[audio·[2J a·/b·: see it with --json]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPrintTexts(t *testing.T) {
	for name, c := range map[string]struct{ content, want string }{
		"two texts":                   {`{"type":"text","text":"a"},{"type":"text","text":"b\nc"}`, "a\nb\nc\n"},
		"an empty text":               {`{"type":"text","text":""}`, "\n"},
		"an embedded text resource":   {`{"type":"resource","resource":{"uri":"x://y","text":"in it"}}`, "in it\n"},
		"an image":                    {`{"type":"image","data":"AA==","mimeType":"image/png"}`, "[image image/png: see it with --json]\n"},
		"a resource link":             {`{"type":"resource_link","uri":"x://y","name":"n"}`, "[resource_link x://y: see it with --json]\n"},
		"an embedded binary resource": {`{"type":"resource","resource":{"uri":"x://y","blob":"AA=="}}`, "[resource x://y: see it with --json]\n"},
		"content without a name":      {`{"type":"audio","data":"AA=="}`, "[audio content: see it with --json]\n"},
		"no content":                  {``, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := printTexts(&out, host.Answer{Result: json.RawMessage(`{"content":[` + c.content + `]}`)})
			if err != nil || out.String() != c.want {
				t.Errorf("got %q, %v; want %q", out.String(), err, c.want)
			}
		})
	}
}

// TestPrintReportsWriteErrors checks output that fails as on a full disk.
func TestPrintReportsWriteErrors(t *testing.T) {
	plugins := []host.PluginInfo{{Name: "p", Problem: "left out"}}
	for name, print := range map[string]func() error{
		"texts": func() error {
			return printTexts(full{}, host.Answer{Result: json.RawMessage(`{"content":[{"type":"text","text":"a"}]}`)})
		},
		"answer": func() error { return printAnswer(full{}, host.Answer{Result: json.RawMessage(`{}`)}) },
		"error":  func() error { return printAnswer(full{}, host.Answer{Error: &abi.Error{}}) },
		"tools": func() error {
			return printPage(full{}, func(w page) { printTools(w, plugins) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := print(); !errors.Is(err, errFull) {
				t.Errorf("got %v", err)
			}
		})
	}
}

var errFull = errors.New("no space left on device")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestExitCodeOfAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		answer host.Answer
		want   int
	}{
		"a result":                     {host.Answer{}, 0},
		"a result with isError":        {host.Answer{IsError: true}, 1},
		"a protocol error from a tool": {host.Answer{Error: &abi.Error{}}, 1},
		"invalid arguments":            {host.Answer{IsError: true, Failure: "invalid_arguments"}, 2},
		"a failure of the host":        {host.Answer{IsError: true, Failure: "timeout"}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			if got := report(exitCode(c.answer)); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestFormatNotification(t *testing.T) {
	for name, c := range map[string]struct{ params, want string }{
		"progress with a total":      {`{"progress":1,"total":4,"message":"half way"}`, "1 of 4 half way"},
		"progress without a total":   {`{"progress":1.5,"message":"on"}`, "1.5 on"},
		"progress of the host":       {`{"progress":0.000001,"message":"starting"}`, "starting"},
		"progress without a message": {`{"progress":1,"total":4}`, "1 of 4"},
		"a log message":              {`{"level":"warning","logger":"l","data":{"a": 1}}`, `warning: {"a": 1}`},
		"invalid parameters":         {`[]`, "notifications/x"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := formatNotification("notifications/x", json.RawMessage(c.params)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
