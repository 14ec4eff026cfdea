//go:build unix

package audit_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// The test binary runs itself as other host processes, configured by these variables.
const (
	roleVariable = "BULKHEAD_AUDIT_TEST_ROLE"
	fileVariable = "BULKHEAD_AUDIT_TEST_FILE"
	nameVariable = "BULKHEAD_AUDIT_TEST_NAME"
)

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(roleVariable) {
	case "":
		os.Exit(m.Run())
	case "append":
		err = appendRecords(os.Getenv(fileVariable), os.Getenv(nameVariable))
	case "full":
		err = fillDisk(os.Getenv(fileVariable), os.Getenv(nameVariable))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func child(role, file, name string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), roleVariable+"="+role, fileVariable+"="+file, nameVariable+"="+name)
	return c
}

const (
	writersOfAHost   = 2
	recordsOfAWriter = 400
)

// appendRecords runs a host that writes from several goroutines with frequent rotations.
func appendRecords(file, name string) error {
	onFailure := audit.FailOpen
	if n, err := strconv.Atoi(name); err != nil || n%2 == 0 {
		onFailure = audit.FailClosed
	}
	l, err := audit.Open(audit.Config{File: file, MaxSize: audit.MinMaxSize, Keep: 200, OnFailure: onFailure})
	if err != nil {
		return err
	}
	var writers sync.WaitGroup
	errs := make(chan error, writersOfAHost)
	for w := range writersOfAHost {
		writers.Go(func() {
			for i := range recordsOfAWriter {
				r := audit.Record{Kind: audit.KindCall, ID: l.NewID(), Tool: fmt.Sprintf("%s-%d-%d", name, w, i), Arguments: []byte("{}"), Method: strings.Repeat("m", 100),
					Operations: []audit.Operation{{Op: "fs/open", Target: strings.Repeat("t", i)}}}
				if err := l.Write(r); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	writers.Wait()
	close(errs)
	if err := <-errs; err != nil {
		return err
	}
	return l.Close(context.Background())
}

func TestConcurrentHostsNeitherLoseNorDuplicateLines(t *testing.T) {
	file := newFile(t)
	const hosts = 4
	var running []*exec.Cmd
	output := make([]bytes.Buffer, hosts)
	for i := range hosts {
		c := child("append", file, strconv.Itoa(i))
		c.Stderr = &output[i]
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		running = append(running, c)
	}
	for i, c := range running {
		if err := c.Wait(); err != nil {
			t.Fatalf("host %d: %v\n%s", i, err, &output[i])
		}
	}
	tools, ids, hashes := map[string]int{}, map[string]int{}, map[string]int{}
	all := entries(t, file)
	for _, e := range all {
		tools[e.Tool]++
		ids[e.ID]++
		hashes[e.Arguments]++
	}
	const want = hosts * writersOfAHost * recordsOfAWriter
	if len(all) != want || len(tools) != want || len(ids) != want {
		t.Errorf("%d lines of %d calls with %d IDs, want %d", len(all), len(tools), len(ids), want)
	}
	if len(hashes) != 1 {
		t.Errorf("the hosts hash with %d keys", len(hashes))
	}
	if _, err := os.Stat(file + ".10"); err != nil {
		t.Errorf("the log was rotated fewer than ten times: %v", err)
	}
}

// room is the file size limit of the child in bytes. A write reaches it in the middle of a line.
const room = 5000

// fillDisk runs a host whose disk is temporarily full.
func fillDisk(file, onFailure string) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	wide := limit
	limit.Cur = room
	var host journal
	clock := newClock()
	l, err := audit.Open(audit.Config{File: file, OnFailure: onFailure, Log: host.logger(), Now: clock.Now})
	if err != nil {
		return err
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	failed := writeUntilFull(l, onFailure)
	for until := time.Now().Add(30 * time.Second); !strings.Contains(host.String(), "records are missing"); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			return fmt.Errorf("the full disk is not reported: %q", host.String())
		}
	}
	clock.advance(2 * time.Second)
	notReady := l.Ready()
	clock.advance(2 * time.Second)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &wide); err != nil {
		return err
	}
	ready := l.Ready()
	last := l.Write(audit.Record{Kind: audit.KindCall, Tool: "last"})
	if err := l.Close(context.Background()); err != nil {
		return err
	}
	if n := strings.Count(host.String(), "records are missing"); n < 1 || n > 2 { // once immediately, and at most once more by Close
		return fmt.Errorf("the full disk is reported %d times: %s", n, host.String())
	}
	closed := onFailure == audit.FailClosed
	if ready != nil || last != nil || (notReady != nil) != closed || (failed > 0) != closed {
		return fmt.Errorf("ready when full: %v, after: %v, %d writes failed, the last: %v", notReady, ready, failed, last)
	}
	return nil
}

const recordsOnFullDisk = 200

func writeUntilFull(l *audit.Log, onFailure string) (failed int) {
	for i := range recordsOnFullDisk {
		r := audit.Record{Kind: audit.KindCall, Tool: fmt.Sprintf("tool-%d", i), Code: onFailure}
		if l.Write(r) != nil {
			failed++
		}
	}
	return failed
}

func TestFullDiskKeepsWholeLinesAndCountsLosses(t *testing.T) {
	for _, onFailure := range []string{audit.FailOpen, audit.FailClosed} {
		t.Run(onFailure, func(t *testing.T) {
			file := newFile(t)
			if out, err := child("full", file, onFailure).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			all := entries(t, file)
			kept, lost := count(all)
			if kept+lost != recordsOnFullDisk+1 || lost == 0 || kept < 10 {
				t.Errorf("%d records are kept and %d counted as lost of %d", kept, lost, recordsOnFullDisk+1)
			}
			caused := slices.ContainsFunc(all, func(e entry) bool { return e.Kind == "gap" && strings.Contains(e.Cause, "too large") })
			if last := all[len(all)-1]; !caused || last.Tool != "last" {
				t.Errorf("a gap with the cause: %t; the last line is %v", caused, last)
			}
		})
	}
}
