//go:build unix

package audit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// filler is a tool name for a line of about 2 KiB.
var filler = strings.Repeat("x", 1900)

func TestRotationKeepsNewestFiles(t *testing.T) {
	for _, onFailure := range []string{audit.FailOpen, audit.FailClosed} {
		t.Run(onFailure, func(t *testing.T) {
			file := newFile(t)
			l := open(t, audit.Config{File: file, MaxSize: audit.MinMaxSize, Keep: 3, OnFailure: onFailure})
			const records = 300 // about nine files
			for i := range records {
				write(t, l, fmt.Sprintf("%04d%s", i, filler))
			}
			closeLog(t, l)
			names, err := filepath.Glob(file + "*")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{file, file + ".1", file + ".2", file + ".3", file + ".key"}, names); diff != "" {
				t.Error(diff)
			}
			for _, name := range names {
				if info, err := os.Stat(name); err != nil || info.Size() > audit.MinMaxSize || info.Mode() != 0o600 {
					t.Errorf("%s: %v %v", name, info, err)
				}
			}
			all := entries(t, file)
			if len(all) < 90 || len(all) >= records {
				t.Errorf("%d lines are left", len(all))
			}
			newest := map[string]bool{}
			for _, e := range all {
				newest[e.Tool[:4]] = true
			}
			for i := records - len(all); i < records; i++ {
				if !newest[fmt.Sprintf("%04d", i)] {
					t.Errorf("record %d was removed before older ones", i)
				}
			}
		})
	}
}

func TestWriteDetectsRenamedOrRemovedFile(t *testing.T) {
	file := newFile(t)
	l := open(t, audit.Config{File: file, OnFailure: audit.FailClosed})
	write(t, l, "before")
	if err := os.Rename(file, file+".1"); err != nil {
		t.Fatal(err)
	}
	write(t, l, "after")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	write(t, l, "last")
	all := entries(t, file)
	if len(all) != 2 || all[0].Tool != "last" || all[1].Tool != "before" {
		t.Errorf("the files contain %v", all)
	}
}

func TestWriteRefusesSymlinkAtPath(t *testing.T) {
	file := newFile(t)
	l := open(t, audit.Config{File: file, OnFailure: audit.FailClosed})
	precious := writeFile(t, filepath.Join(t.TempDir(), "precious"), "precious\n", 0o600)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(precious, file); err != nil {
		t.Fatal(err)
	}
	if err := l.Write(audit.Record{Kind: audit.KindCall}); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("got the error %v, want one about a symbolic link", err)
	}
	if text, err := os.ReadFile(precious); err != nil || string(text) != "precious\n" {
		t.Errorf("the link's target contains %q, %v", text, err)
	}
}

func TestWriteTerminatesTornLine(t *testing.T) {
	file := writeFile(t, newFile(t), `{"kind":"ca`, 0o600)
	l := open(t, audit.Config{File: file, OnFailure: audit.FailClosed})
	write(t, l, "a", "b")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) != 4 || lines[0] != `{"kind":"ca` || !strings.HasSuffix(lines[1], `"tool":"a"}`) || !strings.HasSuffix(lines[2], `"tool":"b"}`) {
		t.Errorf("the file contains %q", text)
	}
}

func TestFailedRotationLosesNoRecords(t *testing.T) {
	file := newFile(t)
	obstacle := filepath.Join(file+".1", "full")
	if err := os.MkdirAll(obstacle, 0o700); err != nil {
		t.Fatal(err)
	}
	var host journal
	l := open(t, audit.Config{File: file, MaxSize: audit.MinMaxSize, OnFailure: audit.FailClosed, Keep: 1, Log: host.logger()})
	for range 100 {
		write(t, l, filler)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n != 100 {
		t.Errorf("the file has %d lines", n)
	}
	if n := strings.Count(host.String(), "cannot be rotated"); n != 1 {
		t.Errorf("reported %d times to the host's log: %s", n, host.String())
	}
	if l.Ready() != nil {
		t.Error("calls are refused")
	}
}
