package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/tasks"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

const taskMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

// taskServer is a gateway whose tools can run as tasks, with clients of several principals.
type taskServer struct {
	t         *testing.T
	gateway   *Gateway
	transport *Transport
	backend   *fakeBackend
}

func newTaskServer(t *testing.T, h *held) *taskServer {
	t.Helper()
	object := json.RawMessage(`{"type":"object"}`)
	tool := func(name string, s TaskSupport) Tool {
		s.Offered, s.Time = true, time.Minute
		return Tool{Name: name, Input: object, Task: s}
	}
	s := &taskServer{t: t, backend: heldBackend(h)}
	s.gateway = newGateway(t, Config{Offers: Offers{Tasks: true}, Tools: []Tool{
		tool("held", TaskSupport{Writes: true}), tool("ask", TaskSupport{}), tool("echo", TaskSupport{Required: true}), {Name: "raw", Input: object},
	}}, s.backend)
	store := tasks.In(t.TempDir(), hclog.NewNullLogger())
	s.gateway.KeepTasks(store)
	ended, end := context.WithCancel(context.Background())
	s.transport = s.gateway.NewTransport(ended)
	t.Cleanup(func() { end(); s.transport.WaitTasks(); store.Close() })
	return s
}

// taskPeer keeps the response of one request.
type taskPeer struct {
	done sync.WaitGroup
	got  Response
}

func (p *taskPeer) Put(...[]byte)           {}
func (p *taskPeer) Respond(r Response)      { p.got = r; p.done.Done() }
func (p *taskPeer) Skip()                   { p.done.Done() }
func (p *taskPeer) Closed() <-chan struct{} { return nil }

// request makes a request of a principal, and returns the result or the error.
func (s *taskServer) request(by, method, params string) string {
	return s.requestIn(s.gateway.View, nil, by, method, params)
}

func (s *taskServer) requestIn(v *View, heldBy context.Context, by, method, params string) string {
	s.t.Helper()
	m, refused := ParseMessage(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s}}`, method, params))
	if refused != nil {
		s.t.Fatal(refused.Err)
	}
	p := &taskPeer{}
	p.done.Add(1)
	principal := &call.Principal{ID: by}
	if rest := s.transport.OpenOne(v, principal, heldBy).Handle(s.t.Context(), m, principal, p); rest != nil {
		rest()
	}
	p.done.Wait()
	if p.got.Err != nil {
		return fmt.Sprintf("error %d: %s %s", p.got.Err.Code, p.got.Err.Message, p.got.Err.Data)
	}
	return string(p.got.Result)
}

func (s *taskServer) call(by, tool, arguments string) string {
	s.t.Helper()
	return taskIDIn(s.t, s.request(by, "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s,%s`, tool, arguments, taskMeta)))
}

func taskIDIn(t *testing.T, result string) string {
	t.Helper()
	var created struct{ ResultType, TaskID, Status string }
	if err := json.Unmarshal([]byte(result), &created); err != nil || created.ResultType != "task" || created.TaskID == "" || created.Status != "working" {
		t.Fatalf("no task: %s", result)
	}
	return created.TaskID
}

func (s *taskServer) about(by, method, id, more string) string {
	s.t.Helper()
	return s.request(by, method, fmt.Sprintf(`"taskId":%q%s,%s`, id, more, taskMeta))
}

// await polls a task until its state contains a text.
func (s *taskServer) await(by, id, text string) string {
	s.t.Helper()
	for {
		state := s.about(by, methodTasksGet, id, "")
		if strings.Contains(state, text) {
			return state
		}
		if strings.Contains(state, "error") || !strings.Contains(state, `"status":"working"`) && !strings.Contains(state, `"input_required"`) {
			s.t.Fatalf("%s, want %s", state, text)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestTaskBelongsToItsPrincipal(t *testing.T) {
	h := newHeld()
	s := newTaskServer(t, h)
	id := s.call("ann", "held", `{}`)
	elsewhere, err := s.gateway.NewView(Config{Name: "x", Version: "1", Offers: Offers{Tasks: true}}, s.backend, "project")
	if err != nil {
		t.Fatal(err)
	}
	unknown := strings.Repeat("0", 32)
	for _, ended := range []bool{false, true} {
		for _, method := range []string{methodTasksGet, methodTasksUpdate, methodTasksCancel} {
			want := s.about("bob", method, unknown, `,"inputResponses":{}`)
			if !strings.HasPrefix(want, "error -32602") {
				t.Errorf("%s of an unknown task: %s", method, want)
			}
			params := fmt.Sprintf(`"taskId":%q,"inputResponses":{},%s`, id, taskMeta)
			for _, got := range []string{s.request("bob", method, params), s.requestIn(elsewhere, nil, "ann", method, params)} {
				if got != want {
					t.Errorf("%s of somebody else's task: %s, want %s", method, got, want)
				}
			}
		}
		if state := s.about("ann", methodTasksGet, id, ""); strings.Contains(state, "cancelled") {
			t.Fatalf("the owner: %s", state)
		}
		if !ended {
			close(h.release)
			s.await("ann", id, `"status":"completed"`)
		}
	}
}

// The reason of a failure of the store names paths of the server.
func TestReasonsOfTasksAreForTheLocalUser(t *testing.T) {
	s := newTaskServer(t, &held{})
	state := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(state, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.gateway.KeepTasks(tasks.In(state, hclog.NewNullLogger()))
	for by, want := range map[string]bool{"ann": false, LocalUser.ID: true} {
		for method, params := range map[string]string{"tools/call": `"name":"echo","arguments":{}`, "tasks/get": `"taskId":"` + tasks.NewID() + `"`} {
			got := s.request(by, method, params+","+taskMeta)
			if !strings.HasPrefix(got, "error -32603: ") || strings.Contains(got, "secret") != want {
				t.Errorf("%s of %s: got %s", method, by, got)
			}
		}
	}
}

func TestOnlyDeclaredClientsGetTasks(t *testing.T) {
	s := newTaskServer(t, newHeld())
	plain := strings.Replace(taskMeta, `"io.modelcontextprotocol/tasks"`, `"other"`, 1)
	for _, test := range []struct{ method, params, want string }{
		{"tools/call", `"name":"echo","arguments":{},` + plain, `error -32021: echo needs a client that supports tasks {"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`},
		{"tools/call", `"name":"echo","arguments":{}`, "error -32021"}, // of the legacy era
		{"tools/call", `"name":"raw","arguments":{"content":[]},` + taskMeta, `"resultType":"complete"`},
		{"tools/call", `"name":"ask","arguments":[],` + plain, `"resultType":"complete"`},
		{methodTasksGet, `"taskId":"x",` + plain, "error -32021"},
		{methodTasksUpdate, `"taskId":"x","inputResponses":{},` + plain, "error -32021"},
		{methodTasksCancel, `"taskId":"x",` + plain, "error -32021"},
		{methodTasksGet, `"taskId":"x"`, "error -32601"}, // of the legacy era
		{methodTasksGet, taskMeta, "error -32602: Missing taskId"},
		{methodTasksGet, `"taskId":7,` + taskMeta, "error -32602"},
		{methodTasksGet, `"taskId":"x","taskid":"y",` + taskMeta, "error -32602"},
		{"tasks/list", taskMeta, "error -32601"},
		{"subscriptions/listen", `"notifications":{"taskIds":["x"]},` + plain, "error -32021"},
	} {
		if got := s.request("ann", test.method, test.params); !strings.Contains(got, test.want) {
			t.Errorf("%s %s: %s, want %s", test.method, test.params, got, test.want)
		}
	}
}

func TestTaskAsksInItsState(t *testing.T) {
	s := newTaskServer(t, newHeld())
	id := s.call("ann", "ask", "["+askRoots+","+askRoots+"]")
	for round := 1; round <= 2; round++ {
		key := fmt.Sprintf("%d-r", round)
		state := s.await("ann", id, fmt.Sprintf(`"inputRequests":{%q:{"method":"roots/list","params":{}}}`, key))
		if strings.Contains(state, "requestState") {
			t.Errorf("the state of the call is exposed: %s", state)
		}
		for responses, want := range map[string]string{`{"r":{"roots":[]}}`: `"resultType":"complete"`, `[]`: "error -32602", `{"` + key + `":{"roots":1}}`: "error -32602"} {
			if got := s.about("ann", methodTasksUpdate, id, `,"inputResponses":`+responses); !strings.Contains(got, want) {
				t.Errorf("%s: %s", responses, got)
			}
		}
		if got := s.about("ann", methodTasksUpdate, id, `,"inputResponses":{"`+key+`":{"roots":[]}}`); !strings.Contains(got, `"resultType":"complete"`) {
			t.Error(got)
		}
	}
	s.await("ann", id, `round 2 of fake`)
}

func TestTaskEndsWithAccess(t *testing.T) {
	h := newHeld()
	s := newTaskServer(t, h)
	valid, revoke := context.WithCancel(context.Background())
	id := taskIDIn(t, s.requestIn(s.gateway.View, valid, "ann", "tools/call", `"name":"held","arguments":{},`+taskMeta))
	revoke()
	<-h.ended
	if got := s.await("ann", id, `"status":"failed"`); !strings.Contains(got, `"may_have_written":true`) {
		t.Error(got)
	}
}

func TestCancelledTask(t *testing.T) {
	h := newHeld()
	s := newTaskServer(t, h)
	id := s.call("ann", "held", `{}`)
	if got := s.about("ann", methodTasksCancel, id, ""); !strings.Contains(got, `"resultType":"complete"`) {
		t.Error(got)
	}
	<-h.ended
	s.await("ann", id, `"status":"cancelled"`)
}

func TestTaskIsNotBegunForClientThatHasLeft(t *testing.T) {
	h := newHeld()
	s := newTaskServer(t, h)
	m, _ := ParseMessage([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"held","arguments":{},` + taskMeta + `}}`))
	left, leave := context.WithCancel(context.Background())
	p := &taskPeer{}
	p.done.Add(1)
	ann := &call.Principal{ID: "ann"}
	rest := s.transport.OpenOne(s.gateway.View, ann, nil).Handle(left, m, ann, p)
	leave()
	rest()
	p.done.Wait()
	if p.got.Result != nil {
		t.Errorf("got %s", p.got.Result)
	}
}

// approvedBackend is a backend whose calls need the approval of the user.
type approvedBackend struct{ *fakeBackend }

func (b approvedBackend) Find(r call.Request) (Queued, *abi.Error) { return approvedCall{r}, nil }

type approvedCall struct{ call.Request }

func (c approvedCall) Execute(context.Context, Notifier) (call.Result, error) {
	given := c.Interaction.Approval
	if given == nil || given.Decision == "" {
		return call.Result{}, &Ask{
			Ask: interaction.Ask{Requests: []interaction.Request{{
				ID: interaction.ApprovalID, Kind: interaction.Elicitation, Method: abi.MethodElicit, Params: []byte(`{"message":"Run it?"}`), Needs: interaction.Client{Form: true},
			}}},
			PluginVersion: "fake", Timeout: time.Minute, Approval: &Approval{Approval: interaction.Approval{Shown: []byte("shown")}},
		}
	}
	return call.Result{Body: textResult(fmt.Sprintf("%s of %s, answers %d, round %d", given.Decision, given.Shown, len(c.Interaction.Answers), c.Interaction.Round))}, nil
}

func (c approvedCall) Failure(code, message string) *Failure {
	return &Failure{Code: code, Message: message}
}

func TestTaskAsksForApproval(t *testing.T) {
	s := newTaskServer(t, newHeld())
	s.gateway.View.backend = approvedBackend{s.backend}
	meta := strings.Replace(taskMeta, `"roots":{}`, `"elicitation":{}`, 1)
	for answer, want := range map[string]string{
		`{"action":"decline"}`: string(interaction.Declined), `{"action":"cancel"}`: string(interaction.Cancelled),
	} {
		id := taskIDIn(t, s.request("ann", "tools/call", `"name":"held","arguments":{},`+meta))
		key := "1-" + interaction.ApprovalID
		s.await("ann", id, key)
		s.about("ann", methodTasksUpdate, id, fmt.Sprintf(`,"inputResponses":{%q:%s}`, key, answer))
		s.await("ann", id, want+" of shown, answers 0, round 0")
	}
}
