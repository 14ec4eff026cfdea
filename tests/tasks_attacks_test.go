//go:build unix

package tests

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// beginTask calls answer_job and returns the id of the task.
func (a *attackedEndpoints) beginTask(by string, arguments members) string {
	a.t.Helper()
	line := a.call(by, "answer_job", arguments)
	var answer struct{ Result struct{ TaskID string } }
	if err := json.Unmarshal([]byte(line), &answer); err != nil || answer.Result.TaskID == "" {
		a.t.Fatalf("no task: %v: %.500s", err, line)
	}
	return answer.Result.TaskID
}

// awaitTask polls until the state of a task contains a text.
func (a *attackedEndpoints) awaitTask(by, id, text string) string {
	a.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		state := a.request(by, "", "tasks/get", members{"taskId": id})
		if strings.Contains(state, text) {
			return state
		}
		if time.Now().After(end) {
			a.t.Fatalf("%.500s, want %s", state, text)
		}
	}
}

// oneQuestion asks for the string a.
var oneQuestion = json.RawMessage(`{"requests":{"q":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}}}}`)

// TestTasksOfOthersAreUnknown has clients get, answer and cancel tasks of others, of their own in another project, and tasks with forged ids.
func TestTasksOfOthersAreUnknown(t *testing.T) {
	t.Parallel()
	a := serveAttackedHTTP(t, "", "")
	ended := a.beginTask("ann", members{"text": "secret"})
	a.awaitTask("ann", ended, "secret")
	running := a.beginTask("ann", members{"ms": 600_000})
	asks := a.beginTask("ann", members{"text": "answered", "ask": oneQuestion})
	a.awaitTask("ann", asks, `"1-q"`)
	type attack struct{ by, project, id string }
	attacks := map[string]attack{
		"no such id": {"ann", "", strings.Repeat("0", 32)}, "capital letters": {"ann", "", strings.ToUpper(ended)}, "a part of an id": {"ann", "", ended[:31]},
		"a path": {"ann", "", "../" + ended}, "a path below": {"ann", "", ended + "/."}, "a parent": {"ann", "", ".."}, "a lock": {"ann", "", "server-" + ended + ".lock"},
		"encoded": {"ann", "", "%2e%2e%2f" + ended},
	}
	for name, id := range map[string]string{"an ended task": ended, "a running task": running, "a task that asks": asks} {
		attacks[name+" of another client"] = attack{"bob", "", id}
		attacks[name+" of another project"] = attack{"ann", "/two", id}
		attacks[name+" of both"] = attack{"bob", "/two", id}
	}
	for name, attack := range attacks {
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			got := a.request(attack.by, attack.project, method, members{"taskId": attack.id, "inputResponses": json.RawMessage(`{"1-q":{"action":"accept","content":{"a":"forged"}}}`)})
			if !strings.Contains(got, `"error":{"code":-32602,"message":"Invalid params: there is no such task, or it has expired"}`) {
				t.Errorf("%s of %s: %s", method, name, got)
			}
			a.wantRecord(method+" of "+name, `"kind":"refused"`, fmt.Sprintf(`"method":%q`, method), `"tool":`+jsonOf(t, attack.id), `"outcome":"denied"`)
		}
	}
	for name, responses := range map[string]string{
		"of a round to come": `{"2-q":{"action":"accept","content":{"a":"forged"}}}`, "without a round": `{"q":{"action":"accept","content":{"a":"forged"}}}`,
		"of no action": `{"1-q":{"action":"forged"}}`, "as an array": `[]`, "duplicates": `{"1-q":{"action":"accept","action":"decline"}}`,
	} {
		a.request("ann", "", "tasks/update", members{"taskId": asks, "inputResponses": json.RawMessage(responses)})
		if got := a.request("ann", "", "tasks/get", members{"taskId": asks}); !strings.Contains(got, `"status":"input_required"`) {
			t.Errorf("after answers %s: %s", name, got)
		}
	}
	a.request("ann", "", "tasks/update", members{"taskId": asks, "inputResponses": json.RawMessage(`{"1-q":{"action":"accept","content":{"a":"true"}}}`)})
	a.awaitTask("ann", asks, "answered")
	a.request("ann", "", "tasks/cancel", members{"taskId": running})
	a.awaitTask("ann", running, `"status":"cancelled"`)
}

// TestTasksOfOneClientLeaveRoomForOthers has a client begin tasks that wait for answers it never sends: as many as it can, and with the largest
// requests.
func TestTasksOfOneClientLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	a := serveAttackedHTTP(t, "", "")
	for _, flood := range []struct {
		name      string
		arguments members
	}{
		{"large requests", members{"ask": oneQuestion, "pad": strings.Repeat("x", 12<<20)}},
		{"many tasks", members{"ask": oneQuestion}},
	} {
		begun := 0
		for begun <= 256 && !strings.Contains(a.call("ann", "answer_job", flood.arguments), "there are too many tasks") {
			begun++
		}
		if begun == 0 || begun > 256 {
			t.Errorf("%s: %d tasks were begun", flood.name, begun)
		}
		for _, of := range []members{{"text": "mine"}, {"text": "mine", "pad": strings.Repeat("x", 12<<20)}, {"text": "mine", "ask": oneQuestion}} {
			id := a.beginTask("bob", of)
			if of["ask"] != nil {
				a.awaitTask("bob", id, "input_required")
				a.request("bob", "", "tasks/update", members{"taskId": id, "inputResponses": json.RawMessage(`{"1-q":{"action":"decline"}}`)})
			}
			a.awaitTask("bob", id, `"text":"mine"`)
		}
		if got := a.call("bob", "answer_write", members{"text": "mine"}); !strings.Contains(got, `"text":"mine"`) {
			t.Errorf("%s: a call of another client: %s", flood.name, got)
		}
	}
}

// TestUnreadResultsOfTasksAreBounded has a client fetch a large result many times without reading the responses.
func TestUnreadResultsOfTasksAreBounded(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("needs /proc, for the memory of the server")
	}
	const size, requests = 8 << 20, 80
	a := serveAttackedHTTP(t, "", "")
	id := a.beginTask("ann", members{"text": "x", "times": size})
	a.awaitTask("ann", id, `"status":"completed"`)
	params := members{"taskId": id}
	body := messageOf(t, "tasks/get", params)
	var begun, ended sync.WaitGroup
	read := make(chan struct{})
	begun.Add(3)
	first := make(chan struct{}, 3)
	for range requests {
		ended.Go(func() {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.url, strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			headers := append(a.headers("ann", "tasks/get", params), "Content-Type", "application/json", "Accept", "application/json, text/event-stream")
			for i := 0; i < len(headers); i += 2 {
				r.Header.Set(headers[i], headers[i+1])
			}
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			response, err := client.Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			defer response.Body.Close()
			select {
			case first <- struct{}{}:
				begun.Done()
			default:
			}
			<-read
			if n, err := io.Copy(io.Discard, response.Body); err != nil || n < size {
				t.Errorf("read %d bytes: %v", n, err)
			}
		})
	}
	begun.Wait()
	time.Sleep(time.Second) // others may begin, too
	if got := a.request("bob", "", "tools/call", members{"name": "answer", "arguments": members{"text": "mine"}}); !strings.Contains(got, "mine") {
		t.Errorf("another client: %s", got)
	}
	close(read)
	ended.Wait()
	if peak := peakMemory(t, a.cmd.Process.Pid); peak > requests*size {
		t.Errorf("the server took %d MiB for %d results of %d MiB", peak>>20, requests, size>>20)
	}
}

// peakMemory returns the most memory that a process had, in bytes.
func peakMemory(t *testing.T, pid int) int {
	t.Helper()
	for line := range strings.Lines(readFile(t, filepath.Join("/proc", strconv.Itoa(pid), "status"))) {
		if n, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(n), " kB"))
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatal("no VmHWM")
	return 0
}
