package secret_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/secret"
)

// The test program is the command. Its arguments say what it does.
func TestMain(m *testing.M) {
	if os.Getenv("BULKHEAD_TEST_COMMAND") == "" {
		os.Exit(m.Run())
	}
	switch os.Args[1] {
	case "print":
		fmt.Print(os.Args[2])
	case "count": // appends a line to a file, and prints the number of lines
		f, err := os.OpenFile(os.Args[2], os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
		if err != nil {
			os.Exit(9)
		}
		_, _ = f.WriteString("x")
		text, _ := os.ReadFile(os.Args[2])
		fmt.Println(len(text))
	case "fail":
		fmt.Print("hunter2")
		fmt.Fprint(os.Stderr, "hunter3")
		os.Exit(3)
	case "repeat":
		for {
			if _, err := fmt.Print(strings.Repeat("hunter2", 1000)); err != nil {
				os.Exit(1)
			}
		}
	case "leave": // leaves a process that keeps the output open, and lives until it is killed
		child := exec.Command(os.Args[0], "hang")
		child.Stdout = os.Stdout
		if child.Start() != nil {
			os.Exit(9)
		}
		fmt.Print("hunter2")
	case "hang":
		time.Sleep(time.Hour)
	case "dir":
		dir, _ := os.Getwd()
		fmt.Print(dir)
	}
}

func command(t *testing.T, arguments ...string) []string {
	t.Setenv("BULKHEAD_TEST_COMMAND", "1")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{program}, arguments...)
}

func TestValueIsOutputOfCommand(t *testing.T) {
	for printed, want := range map[string]string{"a": "a", "a\n": "a", "a\r\n": "a", "a\n\n": "a\n", " a b ": " a b ", "$HOME;x": "$HOME;x", strings.Repeat("x", 8192) + "\n": strings.Repeat("x", 8192)} {
		var c secret.Commands
		if got, err := c.Value(context.Background(), command(t, "print", printed)); got != want || err != nil {
			t.Errorf("%.20q: got %.20q, %v", printed, got, err)
		}
	}
	t.Setenv("HOME", t.TempDir())
	if runtime.GOOS == "linux" {
		var c secret.Commands
		if got, err := c.Value(context.Background(), command(t, "dir")); got != os.Getenv("HOME") || err != nil {
			t.Errorf("the command ran in %q, %v", got, err)
		}
	}
}

// TestFailuresContainNoOutput checks each way to fail, and that no error has a part of what the command printed.
func TestFailuresContainNoOutput(t *testing.T) {
	ended, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("the call was cancelled"))
	for want, one := range map[string]struct {
		ctx     context.Context
		command []string
	}{
		"its command failed (exit status 3): run it in a terminal": {context.Background(), command(t, "fail")},
		"its command prints more than 8192 bytes":                  {context.Background(), command(t, "repeat")},
		"its command left a process":                               {context.Background(), command(t, "leave")},
		"its command prints nothing":                               {context.Background(), command(t, "print", "\n")},
		"the program of its command was not found":                 {context.Background(), []string{"bulkhead-no-such-program"}},
		"the call was cancelled":                                   {ended, command(t, "print", "hunter2")},
	} {
		var c secret.Commands
		got, err := c.Value(one.ctx, one.command)
		if got != "" || err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "hunter") {
			t.Errorf("got %q, %v, want the error %s", got, err, want)
		}
	}
}

// TestHangingCommandEndsWithContext checks that a command that does not end is killed when its call is cancelled.
func TestHangingCommandEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), 50*time.Millisecond, errors.New("enough"))
	defer cancel()
	var c secret.Commands
	if got, err := c.Value(ctx, command(t, "hang")); got != "" || err == nil || err.Error() != "enough" {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestValueIsKeptForShortTime counts how often a command runs.
func TestValueIsKeptForShortTime(t *testing.T) {
	now := time.Unix(0, 0)
	c := secret.WithClock(func() time.Time { return now })
	count := command(t, "count", t.TempDir()+"/runs")
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if got, err := c.Value(context.Background(), count); got != "1" || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
	wait.Wait()
	for after, want := range []string{"1", "2"} {
		now = now.Add(time.Duration(after*10) * time.Minute)
		if got, err := c.Value(context.Background(), count); got != want || err != nil {
			t.Errorf("after %d minutes: got %q, %v, want %s", after*10, got, err, want)
		}
	}
	if other, err := c.Value(context.Background(), append(count[:len(count):len(count)], "more")); other != "3" || err != nil {
		t.Errorf("another command: got %q, %v", other, err)
	}
}
