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

// order is what the intruder is told to do: guests/intruder has what there is.
type action struct {
	Do     string         `json:"do"`
	Path   string         `json:"path,omitempty"`
	To     string         `json:"to,omitempty"`
	Op     string         `json:"op,omitempty"`
	Params map[string]any `json:"params,omitempty"`
	Count  int            `json:"count,omitempty"`
}

// intrusion is one attempt of the intruder's. Paths begin in the world's folder.
type intrusion struct {
	name     string
	action   action
	failure  string // code of the failure; empty: it answers
	wantText string // pattern of the whole answer
}

// What the host answers where something is not granted, in the words of Go's numbers.
const (
	absent  = "No such file or directory"
	refused = "Operation not permitted"
	denied  = "Permission denied"
)

// intrude has the intruder make attempts one after the other, while the others are served.
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
			from := s.begin("intrude", string(arguments))
			s.checkOthers()
			got := s.await(from)
			if got.Failure != one.failure || !regexp.MustCompile(`(?s)^(?:`+one.wantText+`)$`).MatchString(got.Text) {
				t.Errorf("%s: got %+v, want the failure %q that says %q", arguments, got, one.failure, one.wantText)
			}
		})
	}
}

// checkRecords wants a line for each attempt, in their order.
func (w *workspace) checkRecords(all []intrusion) {
	w.t.Helper()
	got := w.calls("intruder")
	if len(got) != len(all) {
		w.t.Fatalf("the audit log has %d calls, and there were %d", len(got), len(all))
	}
	for i, one := range all {
		if got[i].Code != one.failure || (one.failure == "") == (got[i].Outcome == "failed") {
			w.t.Errorf("%s: the audit log has %+v", one.name, got[i])
		}
	}
}

// intruder adds the intruder to the config.
func (w *workspace) addIntruder(lines string) {
	w.addPlugin(filepath.Join(built.plugins, "intruder"), lines)
}

// all lists the files below a folder, with what they hold or where they lead.
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

// unchanged makes sure that nothing in some folders has changed when the test is over.
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

// TestGoModuleFaultsAreContained does what a compiler's output can do wrong.
func TestGoModuleFaultsAreContained(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.addIntruder(`limits = { memory = "32MiB", files = 100 }`)
	s := w.serve()
	all := []intrusion{
		{"it behaves", action{Do: "nothing"}, "", "nothing"},
		{"recursion without end", action{Do: "recurse", Count: 1}, "stack_overflow", ".*nest too deep.*"},
		{"memory without end", action{Do: "grow"}, "memory", ".*its limit of 32 MiB.*"},
		{"most of its memory, and as much garbage", action{Do: "hold", Count: 20}, "", "20 MiB"},
		{"an exit", action{Do: "exit", Count: 3}, "exit", ".*exit code 3"},
		{"an exit that says that all is well", action{Do: "exit"}, "exit", ".*exit code 0"},
		{"a panic that would clear the screen", action{Do: "panic"}, "trap", "[[:print:]]*"},
		{"lines of the protocol", action{Do: "print", Count: 100}, "", "printed"},
		{"printing without end", action{Do: "print", Count: 1 << 30}, "log_too_large", ".*1048576 bytes"},
		{"ten thousand goroutines", action{Do: "spawn", Count: 10_000}, "", "100000"},
		{"thousands of open files", action{Do: "open many", Path: "@work/plain.txt", Count: 5000}, "", "99 were opened: I/O error"},
		{"and again", action{Do: "open many", Path: "@work/plain.txt", Count: 5000}, "", "99 were opened: I/O error"},
		{"a file left open", action{Do: "leave open", Path: "@work/plain.txt"}, "", "descriptor 4"},
		{"and another", action{Do: "leave open", Path: "@work/plain.txt"}, "", "descriptor 4"},
		{"arguments of another form", action{}, "", "unknown action .*"},
		{"it behaves all the same", action{Do: "nothing"}, "", "nothing"},
	}
	w.intrude(t, s, all)
	s.end()
	w.checkRecords(all)
	if strings.Contains(s.log.String(), "\x1b") {
		t.Error("the log would steer a terminal")
	}
}

// TestEndlessGoModuleIsStopped is stopped at its time limit, which no call that works comes near.
func TestEndlessGoModuleIsStopped(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.addIntruder(`limits = { time = "1s" }`)
	s := w.serve()
	all := []intrusion{
		{"a loop without end", action{Do: "spin"}, "timeout", ".*time limit of 1s"},
		{"a sleep of centuries", action{Do: "sleep"}, "timeout", ".*time limit of 1s"},
	}
	w.intrude(t, s, all)
	s.end()
	w.checkRecords(all)
}
