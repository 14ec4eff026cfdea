package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/tasks"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// TasksExtension is the extension of MCP by which a call is answered at once with a task. Clients of the modern era declare it in each request.
const TasksExtension = "io.modelcontextprotocol/tasks"

const (
	methodTasksGet    = "tasks/get"
	methodTasksUpdate = "tasks/update"
	methodTasksCancel = "tasks/cancel"

	memberTaskID = "taskId"
)

// TaskSupport states whether the calls of a tool run as tasks for the clients that declare the extension. The zero value is: never.
type TaskSupport struct {
	Offered  bool
	Required bool // calls of other clients are refused
	// AsksFirst states that a call runs as a task only when the client has answered its first questions.
	AsksFirst bool
	Writes    bool          // whether a call may write something
	Time      time.Duration // time limit of a call that runs as a task
}

// findTasks returns the tools whose calls can run as tasks; nil if there are none.
func findTasks(tools []Tool) map[string]TaskSupport {
	var found map[string]TaskSupport
	for _, tool := range tools {
		if tool.Task.Offered {
			if found == nil {
				found = map[string]TaskSupport{}
			}
			found[tool.Name] = tool.Task
		}
	}
	return found
}

// taskRuns are the tasks of the clients of one transport.
type taskRuns struct {
	ctx context.Context // ends when tasks are to end
	sync.WaitGroup
}

// declaresTasks reports whether the capabilities of a client have the extension.
func declaresTasks(capabilities []byte) bool {
	return rawjson.Kind(rawjson.Member(rawjson.Member(capabilities, "extensions"), TasksExtension)) == '{'
}

// needsTasks refuses a request of a client that does not declare the extension.
func needsTasks(what string) *abi.Error {
	return &abi.Error{
		Code: codeMissingCapability, Message: what + " needs a client that supports tasks",
		Data: fmt.Appendf(nil, `{"requiredCapabilities":{"extensions":{"%s":{}}}}`, TasksExtension),
	}
}

// planTask decides whether a call runs as a task: it sets Task. The error refuses the request.
func (c *clientRequest) planTask(m *message) *abi.Error {
	if c.how.task {
		if !declaresTasks(m.params.meta.capabilities) {
			return needsTasks(c.Method)
		}
		return nil
	}
	support, ok := c.meta.served.tasks[c.Name]
	if !ok || c.Method != string(mcp.MethodToolsCall) {
		return nil
	}
	can := c.meta.modern && c.session.tasks != nil && c.session.g.tasks != nil && declaresTasks(m.params.meta.capabilities)
	switch {
	case can && support.AsksFirst && c.Interaction.Round == 0:
		return nil // it becomes a task with the answers
	case can:
		c.Task, c.Time = tasks.NewID(), support.Time
		c.meta.token, c.meta.level = nil, "" // a task sends neither progress nor log messages
	case c.session.local != nil:
		c.Time = support.Time // the client waits in this process
	case support.Required:
		return needsTasks(what(&c.Request))
	}
	return nil
}

// owner returns whom the tasks of the request's client belong to.
func (c *clientRequest) owner() tasks.Owner {
	return tasks.OwnerOf(c.session.view.scope, c.Principal.ID)
}

// respondWithTask answers with a task, whose record is durable then, and executes the request after that.
func (c *clientRequest) respondWithTask(ctx context.Context, queued Queued, release func()) {
	store, runs, support := c.session.g.tasks, c.session.tasks, c.meta.served.tasks[c.Name]
	if support.Writes {
		c.notifier.Announce(ctx)
	}
	t, err := store.Begin(c.owner(), tasks.Options{ID: c.Task, Time: support.Time, Writes: support.Writes, Size: c.size})
	if err == nil && ctx.Err() != nil { // the client will not learn of the task
		store.Discard(t)
		err = ctx.Err()
	}
	if err != nil {
		c.abandon(queued)
		c.end(nil, c.taskError(err), release)
		return
	}
	running, stop := context.WithCancel(runs.ctx)
	t.Run(stop)
	unhold := context.AfterFunc(c.session.held, stop)
	runs.Add(1)
	c.notifier.report = t.Report
	handle := fmt.Appendf(nil, `{"resultType":"task","_meta":{%s},%s}`, c.meta.served.info, t.State().Handle())
	c.end(handle, nil, release)
	c.session.runners.start(func() {
		defer runs.Done()
		defer stop()
		defer unhold()
		c.runTask(running, t, queued)
	})
}

// abandon gives back what a request holds that is not executed.
func (c *clientRequest) abandon(queued Queued) {
	ended, end := context.WithCancel(context.Background())
	end()
	_, _, _ = c.execute(ended, queued)
	answered(queued)
}

// taskError returns the error for a request about tasks that failed. Only the local user gets a reason that may name paths of the server.
func (c *clientRequest) taskError(err error) *abi.Error {
	var invalid *tasks.AnswerError
	switch {
	case errors.Is(err, tasks.ErrUnknown):
		return invalidParams("there is no such task, or it has expired")
	case errors.As(err, &invalid):
		return invalidParams(interaction.MemberResponses + ": " + err.Error())
	case errors.As(err, new(*tasks.FullError)), errors.Is(err, tasks.ErrBusy):
		return &abi.Error{Code: codeServerError, Message: err.Error()}
	case errors.Is(err, context.Canceled):
		return shuttingDown()
	case errors.Is(err, tasks.ErrElsewhere):
		return &abi.Error{Code: abi.CodeInternal, Message: err.Error()}
	}
	c.session.g.log.Error("a request about a task failed", "method", c.Method, "reason", err)
	message := "failed on the server, whose log has the reason"
	if c.Principal.ID == LocalUser.ID {
		message = err.Error()
	}
	return &abi.Error{Code: abi.CodeInternal, Message: message}
}

// runTask executes the request of a task, as often as it asks the client, and ends the task.
func (c *clientRequest) runTask(ctx context.Context, t *tasks.Task, queued Queued) {
	for {
		result, ask, err := c.execute(ctx, queued)
		answered(queued) // nothing of the backend is held while the client is asked
		if ask != nil {
			again := false
			if result, again, err = c.askInTask(ctx, t, queued, ask); again {
				if queued, err = c.session.view.find(c.Request); err == nil {
					continue
				}
			}
		}
		c.notifier.announce()
		switch {
		case ctx.Err() != nil:
			t.Stop("The server ended while the task ran, or the token of the client was revoked.")
		case err != nil:
			t.End(tasks.Failed, withoutBreaks(encodeError(c.meta.translated(err))))
		default:
			t.End(tasks.Completed, result)
		}
		return
	}
}

// encodeError encodes an error object.
func encodeError(err *abi.Error) []byte {
	out := fmt.Appendf(nil, `{"code":%d,"message":%s`, err.Code, rawjson.Quote(err.Message))
	if rawjson.Valid(err.Data) {
		out = append(append(out, `,"data":`...), err.Data...)
	}
	return append(out, '}')
}

// askInTask asks the client in the state of the task, and waits for its answers. again is set if they are there, so that the request is
// executed again.
func (c *clientRequest) askInTask(ctx context.Context, t *tasks.Task, queued Queued, ask *Ask) (result []byte, again bool, err *abi.Error) {
	if ask.Approval == nil {
		if failure := c.checkAsk(queued, ask); failure != nil {
			result, err = c.report(failure)
			return result, false, err
		}
		if again, err = c.takeAhead(ask); again || err != nil {
			return nil, again, err
		}
	}
	if missing := c.missing(ask); missing != nil {
		return nil, false, missing
	}
	end, why := c.beginQuestion()
	if why != "" {
		result, err = c.report(c.failure(queued, failureAsks, "cannot ask the client: "+why))
		return result, false, err
	}
	defer end()
	answers, failed := t.Ask(ctx, ask.Requests, ask.Timeout, c.Time)
	switch {
	case ask.Approval != nil && (failed == nil || errors.Is(failed, tasks.ErrTimeout)):
		given := ask.Approval.Approval
		if given.Decision = interaction.Expired; failed == nil {
			given.Decision, given.Why = interaction.DecisionOf(answers[interaction.ApprovalID])
		}
		c.Interaction.PluginVersion, c.Interaction.Approval = ask.PluginVersion, &given // the backend refuses the call, and records that
		return nil, true, nil
	case errors.Is(failed, tasks.ErrTimeout):
		result, err = c.report(c.failure(queued, failureTimeout, fmt.Sprintf("asked the client, which did not answer within %s: see limits.ask", ask.Timeout)))
		return result, false, err
	case failed != nil:
		return nil, false, shuttingDown()
	}
	i := &c.Interaction
	all, err := c.withEarlier(answers)
	if err != nil {
		return nil, false, err
	}
	i.Round, i.PluginVersion, i.Answers, i.State = i.Round+1, ask.PluginVersion, all, ask.State
	return nil, true, nil
}

// taskRequest is a request about a task, which no plugin executes.
type taskRequest struct {
	*clientRequest
	fetched func() // ends the use of the payload; nil if there is none
}

// ResponseWritten implements ResponseWritten.
func (r *taskRequest) ResponseWritten() {
	if r.fetched != nil {
		r.fetched()
	}
}

// Execute implements Queued.
func (r *taskRequest) Execute(ctx context.Context, _ Notifier) (call.Result, error) {
	store, owner := r.session.g.tasks, r.owner()
	var err error
	body := []byte(`{}`)
	switch r.Method {
	case methodTasksGet:
		var state tasks.State
		if state, r.fetched, err = store.Fetch(ctx, owner, r.Name); err == nil {
			body = fmt.Appendf(nil, `{%s}`, state.Detail())
		}
	case methodTasksUpdate:
		responses := rawjson.Member(r.Params, interaction.MemberResponses)
		if rawjson.Kind(responses) != '{' {
			return call.Result{}, invalidParams(interaction.MemberResponses + " must be an object")
		}
		err = store.Answer(owner, r.Name, responses)
	case methodTasksCancel:
		err = store.Cancel(owner, r.Name)
	}
	if errors.Is(err, tasks.ErrUnknown) {
		r.session.view.backend.ReportRefused(r.Request)
	}
	if err != nil {
		return call.Result{}, r.taskError(err)
	}
	return call.Result{Body: body}, nil
}

// Failure implements Queued.
func (r *taskRequest) Failure(code, message string) *Failure {
	return &Failure{Code: code, Message: message}
}

// progressText describes the progress of a task.
func progressText(params []byte) string {
	if text, _ := rawjson.Unquote(rawjson.Member(params, "message")); text != "" {
		return text
	}
	text := string(rawjson.Member(params, "progress"))
	if total := rawjson.Member(params, "total"); total != nil {
		text += " of " + string(total)
	}
	return visible.Bounded(text, 64)
}

// withEarlier returns the answers of the client with those of earlier rounds.
func (c *clientRequest) withEarlier(answers map[string]json.RawMessage) (map[string]json.RawMessage, *abi.Error) {
	all := maps.Clone(c.Interaction.Answers)
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	maps.Copy(all, answers)
	if size := sizeOf(all); size > abi.MaxAskAnswers {
		return nil, invalidParams(fmt.Sprintf("%s: all answers have %d bytes, and the limit is %d", interaction.MemberResponses, size, abi.MaxAskAnswers))
	}
	return all, nil
}
