//go:build unix

package hostile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// action is the argument of a call of the intruder. The package guests/intruder defines the actions.
type action struct {
	Do     string         `json:"do"`
	Path   string         `json:"path,omitempty"`
	To     string         `json:"to,omitempty"`
	Op     string         `json:"op,omitempty"`
	Params map[string]any `json:"params,omitempty"`
	Count  int            `json:"count,omitempty"`
}

// intrusion is a call of the intruder with its expected result. In paths, @ stands for the directory of the workspace.
type intrusion struct {
	name     string
	action   action
	failure  string // code of the host failure; empty if the plugin answers
	wantText string // pattern of the whole text
}

// Texts of the error numbers with which the file tree denies access.
const (
	absent  = "No such file or directory"
	refused = "Operation not permitted"
	denied  = "Permission denied"
)

// intrude makes the calls in sequence and checks that other requests are served during each.
func (w *workspace) intrude(t *testing.T, s *server, all []intrusion) {
	t.Helper()
	for _, one := range all {
		t.Run(one.name, func(t *testing.T) {
			for _, path := range []*string{&one.action.Path, &one.action.To} {
				if rest, ok := strings.CutPrefix(*path, "@"); ok {
					*path = w.path(rest)
				}
			}
			arguments, err := json.Marshal(one.action)
			if err != nil {
				t.Fatal(err)
			}
			reply := s.begin("intrude", string(arguments))
			s.checkOthers()
			got := s.await(reply)
			if got.Failure != one.failure || !regexp.MustCompile(`(?s)^(?:`+one.wantText+`)$`).MatchString(got.Text) {
				t.Errorf("%s: got %+v, want failure %q with text %q", arguments, got, one.failure, one.wantText)
			}
		})
	}
}

// checkRecords checks that the audit log has one line per call, in order.
func (w *workspace) checkRecords(all []intrusion) {
	w.t.Helper()
	got := w.calls("intruder")
	if len(got) != len(all) {
		w.t.Fatalf("the audit log has %d calls, want %d", len(got), len(all))
	}
	for i, one := range all {
		if got[i].Code != one.failure || (one.failure == "") == (got[i].Outcome == "failed") {
			w.t.Errorf("%s: got audit record %+v", one.name, got[i])
		}
	}
}

// addIntruder adds the intruder to the config, with further lines of its table.
func (w *workspace) addIntruder(lines string) {
	w.addPlugin(filepath.Join(built.plugins(w.t), "intruder"), lines)
}

// snapshot maps the paths below a directory to file content, link target, or file type.
func (w *workspace) snapshot(name string) map[string]string {
	w.t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(w.path(name), func(path string, item os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case item.Type()&os.ModeSymlink != 0:
			found[path], err = os.Readlink(path)
		case item.Type().IsRegular():
			var data []byte
			data, err = os.ReadFile(path)
			found[path] = string(data)
		default:
			found[path] = item.Type().String()
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

// unchanged takes snapshots of directories. The returned function compares them with the current state.
func (w *workspace) unchanged(t *testing.T, names ...string) (check func()) {
	t.Helper()
	before := map[string]map[string]string{}
	for _, name := range names {
		before[name] = w.snapshot(name)
	}
	return func() {
		t.Helper()
		for _, name := range names {
			if diff := cmp.Diff(before[name], w.snapshot(name)); diff != "" {
				t.Errorf("%s was changed (-before +after)\n%s", name, diff)
			}
		}
	}
}

// TestGoModuleFaultsAreContained covers faults of modules compiled from Go.
func TestGoModuleFaultsAreContained(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.addIntruder(`limits = { memory = "32MiB", files = 100 }`)
	s := w.serve()
	all := []intrusion{
		{"no fault", action{Do: "nothing"}, "", "nothing"},
		{"endless recursion", action{Do: "recurse", Count: 1}, "stack_overflow", ".*crashed: stack overflow"},
		{"endless allocation", action{Do: "grow"}, "memory", ".*its limit of 32 MiB.*"},
		{"allocation near the limit, with garbage", action{Do: "hold", Count: 20}, "", "20 MiB"},
		{"exit code 3", action{Do: "exit", Count: 3}, "exit", ".*exited with code 3"},
		{"exit code 0", action{Do: "exit"}, "exit", ".*exited with code 0"},
		{"a panic with an escape sequence", action{Do: "panic"}, "trap", "[[:print:]]*"},
		{"printed JSON-RPC messages", action{Do: "print", Count: 100}, "", "printed"},
		{"endless printing", action{Do: "print", Count: 1 << 30}, "log_too_large", ".*1048576 bytes"},
		{"ten thousand goroutines", action{Do: "spawn", Count: 10_000}, "", "100000"},
		{"thousands of open files", action{Do: "open many", Path: "@work/plain.txt", Count: 5000}, "", "99 were opened: Too many open files"},
		{"thousands of open files again", action{Do: "open many", Path: "@work/plain.txt", Count: 5000}, "", "99 were opened: Too many open files"},
		{"a file left open", action{Do: "leave open", Path: "@work/plain.txt"}, "", "descriptor 4"},
		{"a file left open again", action{Do: "leave open", Path: "@work/plain.txt"}, "", "descriptor 4"},
		{"an unknown action", action{}, "", "unknown action .*"},
		{"no fault afterwards", action{Do: "nothing"}, "", "nothing"},
	}
	w.intrude(t, s, all)
	s.end()
	w.checkRecords(all)
	if strings.Contains(s.log.String(), "\x1b") {
		t.Error("the log contains an escape sequence")
	}
}

func TestEndlessGoModuleIsStopped(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.addIntruder(`limits = { time = "1s" }`)
	s := w.serve()
	all := []intrusion{
		{"an endless loop", action{Do: "spin"}, "timeout", ".*time limit of 1s"},
		{"an endless sleep", action{Do: "sleep"}, "timeout", ".*time limit of 1s"},
	}
	w.intrude(t, s, all)
	s.end()
	w.checkRecords(all)
}
