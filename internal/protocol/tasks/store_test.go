package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// newStore returns a Store with a clock that the test sets.
func newStore(t *testing.T, state string) (*Store, *time.Time) {
	t.Helper()
	s := In(state, hclog.NewNullLogger())
	now := time.UnixMilli(1_790_000_000_000)
	s.now = func() time.Time { return now }
	t.Cleanup(s.Close)
	return s, &now
}

var (
	ann = OwnerOf("", "ann")
	bob = OwnerOf("", "bob")
)

func begin(t *testing.T, s *Store, owner Owner, o Options) *Task {
	t.Helper()
	o.ID = NewID()
	task, err := s.Begin(owner, o)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// find returns the state of a task, whose payload is not fetched otherwise.
func find(s *Store, owner Owner, id string) (State, error) {
	state, end, err := s.Fetch(context.Background(), owner, id)
	if err == nil {
		end()
	}
	return state, err
}

func status(t *testing.T, s *Store, owner Owner, id string) Status {
	t.Helper()
	state, err := find(s, owner, id)
	if err != nil {
		t.Fatal(err)
	}
	return state.Status
}

func TestRecordIsDurableBeforeBeginReturns(t *testing.T) {
	state := t.TempDir()
	s, _ := newStore(t, state)
	task := begin(t, s, ann, Options{Time: time.Minute, Writes: true})
	data, err := os.ReadFile(filepath.Join(state, ".tasks", string(ann), task.State().ID))
	if err != nil || !strings.Contains(string(data), `"status":"working"`) {
		t.Errorf("%s, %v", data, err)
	}
}

func TestResultSurvivesTheProcess(t *testing.T) {
	state := t.TempDir()
	s, _ := newStore(t, state)
	task := begin(t, s, ann, Options{Time: time.Minute})
	task.End(Completed, []byte(`{"content":[]}`))
	s.Close()
	again, now := newStore(t, state)
	got, err := find(again, ann, task.State().ID)
	if err != nil || got.Status != Completed || string(got.Payload) != `{"content":[]}` {
		t.Fatalf("%+v, %v", got, err)
	}
	*now = now.Add(keep)
	if got, err := find(again, ann, task.State().ID); !errors.Is(err, ErrUnknown) {
		t.Errorf("after its time: %+v, %v", got, err)
	}
	again.sweep()
	if left, _ := filepath.Glob(filepath.Join(state, ".tasks", "*", "*")); len(left) > 0 {
		t.Errorf("files of expired tasks: %q", left)
	}
}

func TestResultSurvivesChangesOfTheClock(t *testing.T) {
	for _, change := range []time.Duration{-24 * time.Hour, 1000 * day} {
		s, now := newStore(t, t.TempDir())
		task := begin(t, s, ann, Options{Time: time.Minute})
		*now = now.Add(change)
		task.End(Completed, []byte(`{}`))
		if got := status(t, s, ann, task.State().ID); got != Completed {
			t.Errorf("after a change by %v: %s", change, got)
		}
	}
}

func TestLocksOfProcessesThatHaveEndedAreRemoved(t *testing.T) {
	state := t.TempDir()
	for range 2 {
		s, _ := newStore(t, state)
		begin(t, s, ann, Options{Time: time.Minute})
		s.files.lock.Close() // as the system does when the process is killed
		s.files.lock = nil
	}
	s, _ := newStore(t, state)
	begin(t, s, ann, Options{Time: time.Minute})
	if locks, _ := filepath.Glob(filepath.Join(state, ".tasks", "*.lock")); len(locks) != 1 {
		t.Errorf("locks: %q", locks)
	}
}

func TestTaskOfDeadProcessHasFailed(t *testing.T) {
	for _, test := range []struct {
		writes bool
		want   string
	}{{true, "It may have written something"}, {false, "It cannot have written anything"}} {
		state := t.TempDir()
		s, _ := newStore(t, state)
		task := begin(t, s, ann, Options{Time: time.Minute, Writes: test.writes})
		s.files.lock.Close() // as the system does when the process is killed
		s.files.lock = nil
		for range 2 { // the second process reads what the first one has written
			again, _ := newStore(t, state)
			got, err := find(again, ann, task.State().ID)
			if err != nil || got.Status != Failed || !strings.Contains(string(got.Payload), test.want) || !rawjson.Valid(got.Payload) {
				t.Errorf("%+v %s, %v", got, got.Payload, err)
			}
			again.Close()
		}
	}
}

func TestTaskOfLivingProcessGoesOn(t *testing.T) {
	state := t.TempDir()
	s, _ := newStore(t, state)
	task := begin(t, s, ann, Options{Time: time.Minute})
	id := task.State().ID
	other, _ := newStore(t, state)
	begin(t, other, ann, Options{Time: time.Minute})
	if got := status(t, other, ann, id); got != Working {
		t.Errorf("seen by another process: %s", got)
	}
	if err := other.Cancel(ann, id); !errors.Is(err, ErrElsewhere) {
		t.Errorf("cancelled by another process: %v", err)
	}
	if err := other.Answer(ann, id, []byte(`{}`)); !errors.Is(err, ErrElsewhere) {
		t.Errorf("answered by another process: %v", err)
	}
	other.Close()
	task.End(Completed, []byte(`{}`))
	third, _ := newStore(t, state)
	if got := status(t, third, ann, id); got != Completed {
		t.Errorf("after its end: %s", got)
	}
}

func TestOthersTasksAreUnknown(t *testing.T) {
	s, _ := newStore(t, t.TempDir())
	task := begin(t, s, ann, Options{Time: time.Minute})
	id := task.State().ID
	for range 2 { // while it runs, and after
		for _, other := range []Owner{bob, OwnerOf("project", "ann"), OwnerOf("a", "nn")} {
			_, found := find(s, other, id)
			_, absent := find(s, other, NewID())
			if !errors.Is(found, ErrUnknown) || found != absent || s.Cancel(other, id) != absent || s.Answer(other, id, []byte(`{}`)) != absent {
				t.Errorf("%v, want %v", found, absent)
			}
		}
		if task.IsCancelled() {
			t.Fatal("another owner has cancelled the task")
		}
		task.End(Completed, []byte(`{}`))
	}
}

func TestHostileIDsReachNoFile(t *testing.T) {
	s, _ := newStore(t, t.TempDir())
	begin(t, s, ann, Options{Time: time.Minute})
	for _, id := range []string{"", ".", "..", "../" + string(ann), "../../x", strings.Repeat("A", 32), strings.Repeat("0", 33), "con", "a\x00b"} {
		if _, err := find(s, ann, id); !errors.Is(err, ErrUnknown) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestDamagedRecordsAreUnknown(t *testing.T) {
	state := t.TempDir()
	s, _ := newStore(t, state)
	task := begin(t, s, ann, Options{Time: time.Minute})
	task.End(Completed, []byte(`{"a":1}`))
	id := task.State().ID
	path := filepath.Join(state, ".tasks", string(ann), id)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	replaced := func(old, with string) string {
		if !strings.Contains(string(good), old) {
			t.Fatalf("%s has no %s", good, old)
		}
		return strings.Replace(string(good), old, with, 1)
	}
	for name, data := range map[string]string{
		"empty": "", "torn": string(good[:len(good)-3]), "longer": string(good) + "x", "not JSON": replaced(`{"a":1}`, `{"a":1]`),
		"a line break": replaced(`{"a":1}`, "{\"a\"\n1}"), "no object": replaced(`{"a":1}`, `[1,2,3]`), "size": replaced(`"size":7`, `"size":-7`),
		"unknown key": replaced(`"status"`, `"x":1,"status"`), "status": replaced(`"completed"`, `"done"`), "server": replaced(`"server":"`, `"server":"../`),
		"age": replaced(`"expires":1`, `"expires":9999`), "version": replaced(`"version":1`, `"version":2`), "huge number": replaced(`{"a":1}`, `{"a":1e999}`),
	} {
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := find(s, ann, id); !errors.Is(err, ErrUnknown) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	s.Close()
	again, _ := newStore(t, state)
	if err := again.open(); err != nil {
		t.Error(err)
	}
}

func TestBoundsOfTasks(t *testing.T) {
	s, now := newStore(t, t.TempDir())
	begin(t, s, bob, Options{Time: time.Minute})
	s.owned[ann] = usage{tasks: maxOwned}
	full := func(owner Owner, size int64) error {
		_, err := s.Begin(owner, Options{ID: NewID(), Time: time.Minute, Size: size})
		return err
	}
	if err := full(ann, 1); !errors.As(err, new(*FullError)) {
		t.Errorf("tasks of one client: %v", err)
	}
	s.owned[ann] = usage{bytes: maxOwnedBytes}
	if err := full(ann, 1); !errors.As(err, new(*FullError)) {
		t.Errorf("bytes of one client: %v", err)
	}
	delete(s.owned, ann)
	if err := full(ann, maxRequests); err != nil {
		t.Errorf("the first large request: %v", err)
	}
	if err := full(bob, 1); !errors.As(err, new(*FullError)) {
		t.Errorf("requests of tasks that run: %v", err)
	}
	s.all.tasks = maxAll
	if err := full(bob, 0); !errors.As(err, new(*FullError)) {
		t.Errorf("all tasks: %v", err)
	}
	s.all.tasks = 2
	for _, task := range s.running {
		task.End(Completed, []byte(`{}`))
	}
	*now = now.Add(2 * keep)
	s.sweep()
	if s.all != (usage{}) || len(s.owned) != 0 || len(s.running) != 0 {
		t.Errorf("after all have expired: %+v %v", s.all, s.owned)
	}
}

func TestLargeResultIsNotKept(t *testing.T) {
	s, _ := newStore(t, t.TempDir())
	task := begin(t, s, ann, Options{Time: time.Minute, Writes: true})
	task.End(Completed, make([]byte, maxPayload+1))
	got, err := find(s, ann, task.State().ID)
	if err != nil || got.Status != Failed || !strings.Contains(string(got.Payload), "result_size") {
		t.Errorf("%s %s, %v", got.Status, got.Payload, err)
	}
}

func TestResultThatCannotBeWrittenStaysInMemory(t *testing.T) {
	state := t.TempDir()
	s, _ := newStore(t, state)
	task := begin(t, s, ann, Options{Time: time.Minute})
	id := task.State().ID
	dir := filepath.Join(state, ".tasks", string(ann))
	if err := errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	task.End(Completed, []byte(`{}`))
	if got := status(t, s, ann, id); got != Completed {
		t.Error(got)
	}
}

func TestDirectoryThatOthersCanWriteIsRefusedWithRemedy(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no modes")
	}
	state := t.TempDir()
	if err := os.Chmod(state, 0o777); err != nil {
		t.Fatal(err)
	}
	s, _ := newStore(t, state)
	if _, err := s.Begin(ann, Options{ID: NewID(), Time: time.Minute}); err == nil || !strings.Contains(err.Error(), "chmod") {
		t.Errorf("got %v", err)
	}
}

func question(id string) interaction.Request {
	return interaction.Request{ID: id, Kind: interaction.Elicitation, Method: "elicitation/create", Params: []byte(`{}`)}
}

// await waits for a state with n questions.
func await(t *testing.T, s *Store, id string, n int) State {
	t.Helper()
	for {
		state, err := find(s, ann, id)
		if err != nil || state.Status.isFinal() {
			t.Fatal(state, err)
		}
		if len(state.Questions) == n && (n == 0 || state.Status == InputRequired) {
			return state
		}
		time.Sleep(time.Millisecond)
	}
}

func TestQuestionsHaveOwnKeysInEachRound(t *testing.T) {
	s, _ := newStore(t, t.TempDir())
	task := begin(t, s, ann, Options{Time: time.Minute})
	id := task.State().ID
	seen := map[string]bool{}
	for range 2 {
		got := make(chan map[string]json.RawMessage, 1)
		go func() {
			answers, err := task.Ask(context.Background(), []interaction.Request{question("a"), question("b")}, time.Minute, time.Minute)
			if err != nil {
				t.Error(err)
			}
			got <- answers
		}()
		state := await(t, s, id, 2)
		for _, q := range state.Questions {
			if seen[q.Key] {
				t.Errorf("the key %q is used again", q.Key)
			}
			seen[q.Key] = true
		}
		first, second := state.Questions[0].Key, state.Questions[1].Key
		for _, responses := range []string{
			`{"unknown":{"action":"accept"}}`, `{"` + first + `":{"action":"decline"}}`, `{"` + first + `":{"action":"cancel"}}`, // the second answer is too late
		} {
			if err := s.Answer(ann, id, []byte(responses)); err != nil {
				t.Error(err)
			}
		}
		if left := await(t, s, id, 1); left.Questions[0].Key != second {
			t.Errorf("left: %v", left.Questions)
		}
		var invalid *AnswerError
		if err := s.Answer(ann, id, []byte(`{"`+second+`":{"action":"maybe"}}`)); !errors.As(err, &invalid) {
			t.Errorf("an invalid answer: %v", err)
		}
		if err := s.Answer(ann, id, []byte(`{"`+second+`":{"action":"accept","content":{}}}`)); err != nil {
			t.Error(err)
		}
		if answers := <-got; string(answers["a"]) != `{"action":"decline"}` || len(answers) != 2 {
			t.Errorf("%s", answers)
		}
	}
}

func TestCancelBeforeTheCallRuns(t *testing.T) {
	s, _ := newStore(t, t.TempDir())
	task := begin(t, s, ann, Options{Time: time.Minute})
	if err := s.Cancel(ann, task.State().ID); err != nil {
		t.Fatal(err)
	}
	called := false
	task.Run(func() { called = true })
	if !called {
		t.Error("the call is not cancelled")
	}
	task.Stop("")
	if got := status(t, s, ann, task.State().ID); got != Cancelled {
		t.Error(got)
	}
	if err := s.Cancel(ann, task.State().ID); err != nil {
		t.Errorf("cancelled again: %v", err)
	}
}

func TestHandleAndDetail(t *testing.T) {
	state := State{ID: "id", Status: InputRequired, Message: "a\n", Created: time.UnixMilli(0), Updated: time.UnixMilli(1500), Expires: time.UnixMilli(60_000),
		Questions: []Question{{"1-\"", question("\"")}}}
	want := `{"taskId":"id","status":"input_required","statusMessage":"a\n","createdAt":"1970-01-01T00:00:00.000Z","lastUpdatedAt":"1970-01-01T00:00:01.500Z",` +
		`"ttlMs":60000,"pollIntervalMs":1000,"inputRequests":{"1-\"":{"method":"elicitation/create","params":{}}}}`
	if got := "{" + string(state.Detail()) + "}"; got != want || !json.Valid([]byte(got)) {
		t.Errorf("got %s", got)
	}
}

func FuzzDecodeRecord(f *testing.F) {
	valid := record{Status: Completed, Server: NewID(), Expires: 1, payload: []byte(`{"content":[]}`)}
	f.Add(valid.encode())
	f.Add(record{Status: Working, Server: NewID(), Writes: true, Expires: 5}.encode())
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decodeRecord(data)
		if err != nil {
			return
		}
		detail := append(append([]byte("{"), r.state("id").Detail()...), '}')
		if !json.Valid(detail) || strings.ContainsAny(string(detail), "\r\n") {
			t.Errorf("%q gives %q", data, detail)
		}
		again, err := decodeRecord(r.encode())
		if err != nil || again.Status != r.Status || string(again.payload) != string(r.payload) {
			t.Errorf("%q does not survive: %+v, %v", data, again, err)
		}
	})
}
