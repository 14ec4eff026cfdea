package audit_test

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/host/audit"
)

// breakLog puts a folder where the file was; the returned function takes it away.
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

func TestNoCallRunsUntilTheLogIsWrittenAgain(t *testing.T) {
	file, clock := newFile(t), newClock()
	l := open(t, audit.Config{File: file, OnFailure: audit.FailClosed, Now: clock.Now})
	write(t, l, "before")
	mend := breakLog(t, file)
	if err := l.Ready(); err != nil {
		t.Errorf("nothing has failed yet, and the log is not ready: %v", err)
	}
	if err := l.Write(audit.Record{Kind: audit.KindCall, Tool: "lost"}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a record is taken, or the error does not name the file: %v", err)
	}
	clock.pass(2 * time.Second)
	if err := l.Ready(); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("calls run, or the reason is not said: %v", err)
	}
	mend()
	if l.Ready() == nil {
		t.Error("the log is tried again at once")
	}
	clock.pass(2 * time.Second)
	if err := l.Ready(); err != nil {
		t.Errorf("the log can be written, and is not ready: %v", err)
	}
	write(t, l, "after")
	kept, lost := told(entries(t, file))
	if all := entries(t, file); kept != 2 || lost != 1 || all[0].Kind != "gap" || all[1].Tool != "after" {
		t.Errorf("the files hold %v", all)
	}
}

func TestTheHostsLogHearsOfLostRecordsOnceAMinute(t *testing.T) {
	file, clock := newFile(t), newClock()
	var host journal
	l := open(t, audit.Config{File: file, OnFailure: audit.FailClosed, Now: clock.Now, Log: host.logger()})
	mend := breakLog(t, file)
	lose := func(n int) {
		for range n {
			_ = l.Write(audit.Record{})
		}
	}
	expect := func(when string, said int, last string) {
		t.Helper()
		lines := strings.Split(strings.TrimSpace(host.String()), "\n")
		if len(lines) != said || !strings.Contains(lines[len(lines)-1], last) {
			t.Fatalf("%s: want %d lines, the last with %q: %s", when, said, last, host.String())
		}
	}
	lose(1)
	expect("the first loss", 1, "lost=1 ")
	lose(4)
	expect("more within the minute", 1, "lost=1 ")
	clock.pass(time.Minute)
	lose(1)
	expect("a minute later", 2, "lost=5 ")
	lose(2)
	mend()
	write(t, l, "a")
	expect("written again", 3, "written again")
	expect("written again", 3, "lost=2")
	if err := os.Remove(file + ".1"); err != nil { // empty: it was moved before its first line
		t.Fatal(err)
	}
	mend = breakLog(t, file)
	lose(3)
	mend()
	write(t, l, "b")
	expect("another failure within the minute", 3, "")
	clock.pass(time.Minute)
	write(t, l, "c")
	expect("what was not said yet", 4, "lost=3 ")
	if _, lost := told(entries(t, file)); lost != 11 {
		t.Errorf("the files say that %d are lost, want 11", lost)
	}
}

func TestCallsDoNotWaitForADiskThatHangsAndNothingIsDroppedInSilence(t *testing.T) {
	file := newFile(t)
	var host journal
	l := open(t, audit.Config{File: file, Log: host.logger()})
	release := holdLock(t, file)
	const records = 8000 // 12 MB
	long := strings.Repeat("x", 1500)
	begin := time.Now()
	for range records {
		write(t, l, long)
	}
	if spent := time.Since(begin); spent > time.Second {
		t.Errorf("the calls waited for %s", spent)
	}
	if !strings.Contains(host.String(), "records are missing") {
		t.Errorf("the host's log holds %q", host.String())
	}
	release()
	write(t, l, "last")
	closeLog(t, l)
	kept, lost := told(entries(t, file))
	if kept+lost != records+1 || lost == 0 || kept == 0 {
		t.Errorf("%d are kept and %d lost of %d", kept, lost, records+1)
	}
}

// holdLock is another process that was stopped while it wrote.
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

func TestClosingSaysWhatCouldNotBeWrittenInTime(t *testing.T) {
	file := newFile(t)
	l, err := audit.Open(audit.Config{File: file})
	if err != nil {
		t.Fatal(err)
	}
	release := holdLock(t, file)
	write(t, l, "a", "b")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := l.Close(ctx); err == nil || !strings.Contains(err.Error(), "lost") || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v", err)
	}
	// They are written all the same once that is possible, and the folder must not go before.
	release()
	for until := time.Now().Add(30 * time.Second); len(entries(t, file)) < 2; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the records are not written after the lock is free")
		}
	}
}
