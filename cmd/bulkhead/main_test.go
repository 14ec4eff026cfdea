package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
)

func TestMain(m *testing.M) {
	host.RunChild()
	os.Exit(m.Run())
}

func TestExitCodeOfErrors(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want int
	}{
		"none":                                  {nil, 0},
		"usage error":                           {&usage.Error{Err: errors.New("no such flag")}, 2},
		"usage error among others":              {errors.Join(errors.New("a"), fmt.Errorf("b: %w", &usage.Error{Err: errors.New("c")})), 2},
		"problems of a file":                    {fmt.Errorf("a: %w", tomlfile.Problems{{File: "f", What: "is wrong"}}), 2},
		"internal error":                        {errors.New("broken"), 3},
		"cancelled":                             {context.Canceled, 3},
		"exit status":                           {exitStatus(1), 1},
		"exit status joined with a close error": {errors.Join(exitStatus(1), errors.New("close")), 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := report(c.err); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestClosedOutputIsNotReported(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"the reader of the output is gone": {fmt.Errorf("a: %w", &fs.PathError{Op: "write", Path: os.Stdout.Name(), Err: syscall.EPIPE}), true},
		"the output is on a full disk":     {&fs.PathError{Op: "write", Path: os.Stdout.Name(), Err: syscall.ENOSPC}, false},
		"a different pipe is broken":       {&fs.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}, false},
	} {
		if got := isClosedOutput(c.err); got != c.want {
			t.Errorf("%s: isClosedOutput returned %t", name, got)
		}
	}
}

// A sender such as timeout(1) or a terminal delivers one signal twice, which must not skip the drain.
func TestRepeatedSignalIsOneRequest(t *testing.T) {
	for name, c := range map[string]struct {
		after time.Duration // time from the first signal to the last one
		exits bool
	}{
		"at once":               {0, false},
		"just before the limit": {repeatTime - 1, false},
		"at the limit":          {repeatTime, true},
		"long after the first":  {time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				signals, cancelled, exited := make(chan os.Signal), make(chan struct{}), make(chan int, 1)
				go func() { exited <- awaitSecondSignal(signals, func() { close(cancelled) }) }()
				signals <- syscall.SIGTERM
				<-cancelled
				time.Sleep(c.after)
				signals <- syscall.SIGINT
				synctest.Wait()
				if got := len(exited) == 1; got != c.exits {
					t.Errorf("exited: %t, want %t", got, c.exits)
				}
				if !c.exits {
					time.Sleep(repeatTime)
					signals <- syscall.SIGINT
				}
				if code := <-exited; code != 128+int(syscall.SIGINT) {
					t.Errorf("exit code %d", code)
				}
			})
		})
	}
}

// TestEveryCommandHasHelp checks that every command has a summary and an example of its use, and validates its arguments.
func TestEveryCommandHasHelp(t *testing.T) {
	visited := 0
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			visit(sub)
		}
		if name, _, _ := strings.Cut(strings.TrimPrefix(c.CommandPath(), "bulkhead "), " "); name == "completion" || name == "help" {
			return // cobra defines this command
		}
		visited++
		if c.Short == "" || !strings.Contains(c.Example, c.CommandPath()) {
			t.Errorf("%s: the help is %q, with the example %q", c.CommandPath(), c.Short, c.Example)
		}
		if c.Args == nil {
			t.Errorf("%s does not validate its arguments", c.CommandPath())
		}
	}
	visit(newRoot())
	if visited < 8 {
		t.Errorf("only %d commands were visited", visited)
	}
}

func TestParseEnv(t *testing.T) {
	t.Setenv("BULKHEAD_TEST_HERE", "from here")
	for name, c := range map[string]struct {
		pairs []string
		want  map[string]string
	}{
		"none":                         {nil, map[string]string{}},
		"pairs":                        {[]string{"A=1", "B=2"}, map[string]string{"A": "1", "B": "2"}},
		"an empty value":               {[]string{"A="}, map[string]string{"A": ""}},
		"a value with an equals sign":  {[]string{"A=b=c"}, map[string]string{"A": "b=c"}},
		"a value from the environment": {[]string{"BULKHEAD_TEST_HERE"}, map[string]string{"BULKHEAD_TEST_HERE": "from here"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseEnv(c.pairs)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseEnvErrorsContainNoValue(t *testing.T) {
	const secret = "s3cret"
	for name, c := range map[string]struct {
		pairs []string
		want  string
	}{
		"without a name": {[]string{"=" + secret}, "--env: the name of the variable is missing: write NAME=VALUE"},
		"empty":          {[]string{""}, "--env: the name of the variable is missing: write NAME=VALUE"},
		"not set":        {[]string{"BULKHEAD_TEST_UNSET"}, "--env: BULKHEAD_TEST_UNSET is not set here: write BULKHEAD_TEST_UNSET=VALUE"},
		"duplicate":      {[]string{"A=" + secret, "A=" + secret}, "--env: A is given twice"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseEnv(c.pairs)
			var correctable *usage.Error
			if !errors.As(err, &correctable) || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}
