package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestDroppedLinesAreLogged(t *testing.T) {
	if got := string((&options{}).droppedLines(7)); strings.Count(got, "\n") != 1 || !strings.HasSuffix(got, "[WARN]  bulkhead: 7 lines dropped: stderr is not read\n") {
		t.Errorf("got %q", got)
	}
	var line map[string]string
	if err := json.Unmarshal((&options{logJSON: true}).droppedLines(7), &line); err != nil || line["@message"] != "7 lines dropped: stderr is not read" {
		t.Errorf("got %v, %v", line, err)
	}
}

func TestLogGoesToConfiguredStderr(t *testing.T) {
	var out bytes.Buffer
	log, err := (&options{logLevel: "info", stderr: &out}).log()
	if err != nil {
		t.Fatal(err)
	}
	log.Info("logged")
	if !strings.HasSuffix(out.String(), "bulkhead: logged\n") {
		t.Errorf("got %q", out.String())
	}
}
