//go:build unix

package audit_test

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// breakLog replaces the file by a directory; the returned function removes it.
func breakLog(t *testing.T, file string) (mend func()) {
	t.Helper()
	if err := os.Rename(file, file+".1"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(file, 0o700); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadyRefusesCallsUntilLogRecovers(t *testing.T) {
	file, clock := newFile(t), newClock()
	l := open(t, audit.Config{File: file, OnFailure: audit.FailClosed, Now: clock.Now})
	write(t, l, "before")
	mend := breakLog(t, file)
	if err := l.Ready(); err != nil {
		t.Errorf("not ready before any failure: %v", err)
	}
	if err := l.Write(audit.Record{Kind: audit.KindCall, Tool: "lost"}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("want an error that names the file, got %v", err)
	}
	clock.advance(2 * time.Second)
	if err := l.Ready(); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("want the cause of the failure, got %v", err)
	}
	mend()
	if l.Ready() == nil {
		t.Error("Ready does not back off after a failure")
	}
	clock.advance(2 * time.Second)
	if err := l.Ready(); err != nil {
		t.Errorf("not ready after the recovery: %v", err)
	}
	write(t, l, "after")
	kept, lost := count(entries(t, file))
	if all := entries(t, file); kept != 2 || lost != 1 || all[0].Kind != "gap" || all[1].Tool != "after" {
		t.Errorf("the files contain %v", all)
	}
}

func TestLossesAreReportedOnceAMinute(t *testing.T) {
	file, clock := newFile(t), newClock()
	var host journal
	l := open(t, audit.Config{File: file, OnFailure: audit.FailClosed, Now: clock.Now, Log: host.logger()})
	mend := breakLog(t, file)
	lose := func(n int) {
		for range n {
			_ = l.Write(audit.Record{})
		}
	}
	expect := func(when string, reports int, last string) {
		t.Helper()
		lines := strings.Split(strings.TrimSpace(host.String()), "\n")
		if len(lines) != reports || !strings.Contains(lines[len(lines)-1], last) {
			t.Fatalf("%s: want %d lines, the last with %q: %s", when, reports, last, host.String())
		}
	}
	lose(1)
	expect("the first loss", 1, "lost=1 ")
	lose(4)
	expect("more within the minute", 1, "lost=1 ")
	clock.advance(time.Minute)
	lose(1)
	expect("a minute later", 2, "lost=5 ")
	lose(2)
	mend()
	write(t, l, "a")
	expect("written again", 3, "written again")
	expect("written again", 3, "lost=2")
	if err := os.Remove(file + ".1"); err != nil { // an empty file, renamed before its first line
		t.Fatal(err)
	}
	mend = breakLog(t, file)
	lose(3)
	mend()
	write(t, l, "b")
	expect("another failure within the minute", 3, "")
	clock.advance(time.Minute)
	write(t, l, "c")
	expect("unreported losses", 4, "lost=3 ")
	if _, lost := count(entries(t, file)); lost != 11 {
		t.Errorf("the files count %d lost records, want 11", lost)
	}
}

// TestWriteDoesNotWaitForLock hangs if Write waits: the fake clock stands still, so the wait for the lock never
// times out.
func TestWriteDoesNotWaitForLock(t *testing.T) {
	file := newFile(t)
	var host journal
	l := open(t, audit.Config{File: file, Log: host.logger(), Now: newClock().Now})
	release := holdLock(t, file)
	const records = 12000 // 19 MB, more than the queue and a batch in flight can hold
	long := strings.Repeat("x", 1500)
	for range records {
		write(t, l, long)
	}
	if !strings.Contains(host.String(), "records are missing") {
		t.Errorf("the host's log contains %q", host.String())
	}
	release()
	if err := l.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	kept, lost := count(entries(t, file))
	if kept+lost != records || lost == 0 || kept == 0 {
		t.Errorf("%d are kept and %d lost of %d", kept, lost, records)
	}
}

// holdLock locks the file like a process that was stopped in its critical section.
func holdLock(t *testing.T, file string) (release func()) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return func() { _ = f.Close() }
}

func TestCloseReportsRecordsNotWrittenInTime(t *testing.T) {
	file := newFile(t)
	l, err := audit.Open(audit.Config{File: file, Now: newClock().Now}) // the wait for the lock never times out
	if err != nil {
		t.Fatal(err)
	}
	release := holdLock(t, file)
	write(t, l, "a", "b")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := l.Close(ctx); err == nil || !strings.Contains(err.Error(), "lost") || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v, want an error that names the file and the lost records", err)
	}
	release()
	closeLog(t, l)
	if kept, _ := count(entries(t, file)); kept != 2 {
		t.Errorf("%d records are written after the lock was released", kept)
	}
}
