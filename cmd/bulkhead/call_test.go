package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func TestTheTypeOfAnItemSteersNothing(t *testing.T) {
	var out bytes.Buffer
	answer := host.Answer{Result: json.RawMessage(`{"content":[{"type":"audio\u001b[2J","mimeType":"a\u202e/b\ufe0f"}]}`)}
	if err := printTexts(&out, answer); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "[audio·[2J a·/b·: see it with --json]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTextsOfAResultArePrinted(t *testing.T) {
	for name, c := range map[string]struct{ content, want string }{
		"each on a line of its own":                 {`{"type":"text","text":"a"},{"type":"text","text":"b\nc"}`, "a\nb\nc\n"},
		"although they are empty":                   {`{"type":"text","text":""}`, "\n"},
		"of resources too":                          {`{"type":"resource","resource":{"uri":"x://y","text":"in it"}}`, "in it\n"},
		"with a word on pictures":                   {`{"type":"image","data":"AA==","mimeType":"image/png"}`, "[image image/png: see it with --json]\n"},
		"with a word on links":                      {`{"type":"resource_link","uri":"x://y","name":"n"}`, "[resource_link x://y: see it with --json]\n"},
		"with a word on resources that are no text": {`{"type":"resource","resource":{"uri":"x://y","blob":"AA=="}}`, "[resource x://y: see it with --json]\n"},
		"without a name where there is none":        {`{"type":"audio","data":"AA=="}`, "[audio content: see it with --json]\n"},
		"as nothing where there is nothing":         {``, ""},
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

// Whoever writes to a full disk has to hear of it.
func TestPrintingReportsAWriterThatFails(t *testing.T) {
	plugins := []host.PluginInfo{{Name: "p", Problem: "left out"}}
	for name, print := range map[string]func() error{
		"texts": func() error {
			return printTexts(full{}, host.Answer{Result: json.RawMessage(`{"content":[{"type":"text","text":"a"}]}`)})
		},
		"answer": func() error { return printAnswer(full{}, host.Answer{Result: json.RawMessage(`{}`)}) },
		"error":  func() error { return printAnswer(full{}, host.Answer{Error: &abi.Error{}}) },
		"tools":  func() error { return printTools(full{}, plugins) },
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

func TestTheExitCodeIs(t *testing.T) {
	for name, c := range map[string]struct {
		answer host.Answer
		want   int
	}{
		"0 for a result":                     {host.Answer{}, 0},
		"1 for a result that is an error":    {host.Answer{IsError: true}, 1},
		"1 for a protocol error of a tool's": {host.Answer{Error: &abi.Error{}}, 1},
		"2 for arguments that do not fit":    {host.Answer{IsError: true, Failure: "invalid_arguments"}, 2},
		"3 for a failure of the host's":      {host.Answer{IsError: true, Failure: "timeout"}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			if got := report(exitCode(c.answer)); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestANotificationReads(t *testing.T) {
	for name, c := range map[string]struct{ params, want string }{
		"as progress of a total":       {`{"progress":1,"total":4,"message":"half way"}`, "1 of 4 half way"},
		"as progress without a total":  {`{"progress":1.5,"message":"on"}`, "1.5 on"},
		"without a space at its end":   {`{"progress":1,"total":4}`, "1 of 4"},
		"as a log message":             {`{"level":"warning","logger":"l","data":{"a": 1}}`, `warning: {"a": 1}`},
		"as its name where it is none": {`[]`, "notifications/x"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := notice("notifications/x", json.RawMessage(c.params)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestATextForATerminalDoesNothingToIt(t *testing.T) {
	if got, want := uncontrolled("a\tb\n\x1b[31mred\x07 ü \u009bA\x7f"), "a\tb\n·[31mred· ü ·A·"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
