package build_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
)

// TestCancelledBuildKillsProcessesAndRemovesFiles opens a FIFO in every process of a build: the reader of the FIFO gets EOF
// when the last process exits. Background processes of a shell ignore the interrupt.
func TestCancelledBuildKillsProcessesAndRemovesFiles(t *testing.T) {
	const script = `exec 3>alive; echo started >&3; sleep 300 & wait`
	dir := files{"plugin.toml": head + "[build]\ncommand = ['sh', '-c', '" + script + "']\n" + tools("one")}.write(t, t.TempDir())
	alive := filepath.Join(dir, "alive")
	if err := mkfifo(alive); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := build.All(ctx, []string{dir, "testdata/greeter"}, build.Options{Out: out})
		ended <- err
	}()
	fifo, err := os.Open(alive)
	if err != nil {
		t.Fatal(err)
	}
	defer fifo.Close()
	processes := bufio.NewReader(fifo)
	if line, err := processes.ReadString('\n'); line != "started\n" {
		t.Fatalf("the build command wrote %q, want started: %v", line, err)
	}
	cancel()
	if _, err := io.ReadAll(processes); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) || err.Error() != dir+": not built: context canceled\ntestdata/greeter: not built: context canceled" {
		t.Errorf("got %v", err)
	}
	if left := read(t, out); len(left) > 0 {
		t.Errorf("the cancelled build left %v", left)
	}
}

// A plugin whose build command exits with 69 is left out of a build of several. Alone, or without LeftOut, it is a failure, and another exit
// code always is.
func TestAllLeavesOutPluginThatLacksTool(t *testing.T) {
	fails := func(name, script string) string {
		manifest := strings.Replace(head, `"hand"`, `"`+name+`"`, 1) + "[build]\ncommand = ['sh', '-c', '" + script + "']\n" + tools("one")
		return files{"plugin.toml": manifest}.write(t, t.TempDir())
	}
	lacking, failing, works := fails("lacking", "echo there is no clang >&2; exit 69"), fails("failing", "exit 70"), good().write(t, t.TempDir())
	all := func(report bool, dirs ...string) (built, leftOut []string, err error) {
		options := build.Options{Out: t.TempDir()}
		if report {
			options.LeftOut = func(e build.UnavailableError) { leftOut = append(leftOut, e.Name+": "+e.Reason) }
		}
		results, err := build.All(t.Context(), dirs, options)
		for _, r := range results {
			built = append(built, r.Name)
		}
		return built, leftOut, err
	}
	if built, leftOut, err := all(true, lacking, works); err != nil || !slices.Equal(built, []string{"hand"}) || !slices.Equal(leftOut, []string{"lacking: there is no clang"}) {
		t.Errorf("got %q, left out %q, %v", built, leftOut, err)
	}
	for name, c := range map[string]struct {
		report bool
		dirs   []string
		want   string
	}{
		"alone":             {true, []string{lacking}, "exit status 69:\n  there is no clang"},
		"not reported":      {false, []string{lacking, works}, "exit status 69:\n  there is no clang"},
		"another exit code": {true, []string{failing, works}, "exit status 70"},
	} {
		if _, leftOut, err := all(c.report, c.dirs...); err == nil || !strings.Contains(err.Error(), c.want) || leftOut != nil {
			t.Errorf("%s: got %v, left out %q, want %s", name, err, leftOut, c.want)
		}
	}
}

// A build command that hangs is ended, so that the builds that wait for it go on.
func TestCommandThatHangsIsEnded(t *testing.T) {
	hangs := files{"plugin.toml": head + "[build]\ncommand = ['sh', '-c', 'echo waiting; sleep 300']\n" + tools("one")}.write(t, t.TempDir())
	other := good()
	other["plugin.toml"] = strings.Replace(other["plugin.toml"], `name = "hand"`, `name = "other"`, 1)
	results, err := build.All(t.Context(), []string{hangs, other.write(t, t.TempDir())}, build.Options{Out: t.TempDir(), CommandTime: 200 * time.Millisecond})
	if len(results) != 1 || results[0].Name != "other" {
		t.Errorf("built %v", results)
	}
	for _, want := range []string{"build.command: ", "ran for more than 200ms and was ended: ", "\n  waiting", "run it in " + hangs + " to see what it waits for"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}

func TestFailedCommandQuotesEndOfOutput(t *testing.T) {
	const script = `i=0; while [ $i -lt 3000 ]; do echo "line $i"; i=$((i+1)); done; exit 1`
	dir := files{"plugin.toml": head + "[build]\ncommand = ['sh', '-c', '''" + script + "''']\n" + tools("one")}.write(t, t.TempDir())
	_, err := build.Build(t.Context(), dir, build.Options{Out: t.TempDir()})
	what := problems(t, err)[0].What
	_, quoted, ok := strings.Cut(what, "exit status 1:\n  …\n  line ")
	if !ok || !strings.HasSuffix(quoted, "\n  line 2999") {
		t.Errorf("got the problem %s", what)
	}
	first := 0
	if _, err := fmt.Sscan(quoted, &first); err != nil || len(what) > 12<<10 || len(what) < 8<<10 || strings.Count(quoted, "\n") != 2999-first {
		t.Errorf("got %d bytes from line %d on: %v", len(what), first, err)
	}
}
