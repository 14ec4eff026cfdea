//go:build unix

package tests

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const taskMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

// taskClient speaks to a server that serves examples/everything over stdio, as a client that supports tasks.
type taskClient struct {
	*server
	last int
}

// serveTasks starts a server with an environment that servers of one test share.
func serveTasks(t *testing.T, dir string, env []string) *taskClient {
	t.Helper()
	cmd := exec.Command(built.program(t), "serve", "--config", filepath.Join(dir, "bulkhead.toml"))
	cmd.Dir, cmd.Env = dir, env
	return &taskClient{server: startServer(t, cmd)}
}

func (c *taskClient) request(method, params string) string {
	c.t.Helper()
	c.last++
	return c.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s,%s}}`, c.last, method, params, taskMeta))
}

// begin calls a tool and returns the id of its task.
func (c *taskClient) begin(tool, arguments string) string {
	c.t.Helper()
	line := c.request("tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, tool, arguments))
	var answer struct {
		Result struct{ ResultType, TaskID string }
	}
	if err := json.Unmarshal([]byte(line), &answer); err != nil || answer.Result.ResultType != "task" {
		c.t.Fatalf("no task: %s", line)
	}
	return answer.Result.TaskID
}

func (c *taskClient) get(id string) string {
	c.t.Helper()
	return c.request("tasks/get", fmt.Sprintf(`"taskId":%q`, id))
}

// await polls until the state of a task contains a text.
func (c *taskClient) await(id, text string) string {
	c.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		state := c.get(id)
		if strings.Contains(state, text) {
			return state
		}
		if time.Now().After(end) {
			c.t.Fatalf("%s, want %s", state, text)
		}
	}
}

func tasksProject(t *testing.T, more string) string {
	t.Helper()
	dir := newDir(t, nil)
	putFile(t, filepath.Join(dir, "bulkhead.toml"), fmt.Sprintf("%s\n[audit]\nfile = %q\n[[plugins]]\npath = %q\n", more,
		filepath.Join(dir, "audit.jsonl"), filepath.Join(builtPlugins(t, "../examples/everything"), "everything")))
	return dir
}

// TestTasksOutliveTheirServer kills a server in the middle of a task, and stops the next one: results of tasks that have ended are there
// afterwards, and tasks that ran have failed.
func TestTasksOutliveTheirServer(t *testing.T) {
	t.Parallel()
	dir, env := tasksProject(t, ""), environment(t)
	c := serveTasks(t, dir, env)
	ended := c.begin("slow_compute", `{"seconds":0,"label":"kept"}`)
	c.await(ended, `Computed kept`)
	killed := c.begin("slow_compute", `{"seconds":600}`)
	c.await(killed, "computing") // its begin is recorded
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-c.exited

	c = serveTasks(t, dir, env)
	if got := c.get(ended); !strings.Contains(got, `"status":"completed"`) || !strings.Contains(got, "Computed kept") {
		t.Errorf("a task that has ended: %s", got)
	}
	if got := c.get(killed); !strings.Contains(got, `"status":"failed"`) || !strings.Contains(got, `"code":"interrupted","may_have_written":false`) {
		t.Errorf("a task of the killed server: %s", got)
	}
	stopped := c.begin("slow_compute", `{"seconds":600}`)
	c.await(stopped, "computing")
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-c.exited

	c = serveTasks(t, dir, env)
	if got := c.get(stopped); !strings.Contains(got, `"status":"failed"`) || !strings.Contains(got, `"interrupted"`) {
		t.Errorf("a task of the stopped server: %s", got)
	}
	last := c.begin("slow_compute", `{"seconds":1,"label":"last"}`)
	if err := c.stdin.Close(); err != nil { // the server waits for the task
		t.Fatal(err)
	}
	<-c.exited
	if got := serveTasks(t, dir, env).get(last); !strings.Contains(got, "Computed last") {
		t.Errorf("a task at the end of the input: %s", got)
	}
	log := readFile(t, filepath.Join(dir, "audit.jsonl"))
	for _, id := range []string{ended, killed, stopped, last} {
		begins, ends := 0, 0
		for line := range strings.Lines(log) {
			if strings.Contains(line, `"task":"`+id+`"`) {
				begins += strings.Count(line, `"kind":"task"`)
				ends += strings.Count(line, `"kind":"call"`)
			}
		}
		if want := 1; begins != want || ends != want && id != killed {
			t.Errorf("task %s has %d records of its begin and %d of its end", id, begins, ends)
		}
	}
}

func TestTasksOverStdio(t *testing.T) {
	t.Parallel()
	c := serveTasks(t, tasksProject(t, ""), environment(t))
	if got := c.request("server/discover", `"x":0`); !strings.Contains(got, `"io.modelcontextprotocol/tasks":{}`) {
		t.Errorf("not declared: %s", got)
	}
	if got := c.ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`); strings.Contains(got, "io.modelcontextprotocol/tasks") {
		t.Errorf("declared in the legacy era: %s", got)
	}
	if got := c.ask(`{"jsonrpc":"2.0","id":-1,"method":"tools/call","params":{"name":"slow_compute","arguments":{"seconds":0}}}`); !strings.Contains(got, "Computed") {
		t.Errorf("of the legacy era: %s", got)
	}
	t.Run("questions", func(t *testing.T) {
		id := c.begin("multi_input", `{}`)
		c.await(id, `"1-confirm":{"method":"elicitation/create"`)
		c.request("tasks/update", fmt.Sprintf(`"taskId":%q,"inputResponses":{"1-confirm":{"action":"accept","content":{"confirm":true}}}`, id))
		if got := c.get(id); strings.Contains(got, "1-confirm") || !strings.Contains(got, "1-user_name") {
			t.Errorf("answered in part: %s", got)
		}
		c.request("tasks/update", fmt.Sprintf(`"taskId":%q,"inputResponses":{"1-user_name":{"action":"decline"}}`, id))
		c.await(id, "name: decline, confirm: accept")
	})
	t.Run("cancellation", func(t *testing.T) {
		id := c.begin("slow_compute", `{"seconds":600,"label":"x"}`)
		c.await(id, `"statusMessage":"computing x"`)
		c.request("tasks/cancel", fmt.Sprintf(`"taskId":%q`, id))
		c.await(id, `"status":"cancelled"`)
	})
	t.Run("errors", func(t *testing.T) {
		c.await(c.begin("protocol_error_job", `{}`), `"status":"failed"`)
		c.await(c.begin("failing_job", `{}`), `"isError":true`)
		c.await(c.begin("slow_compute", `{}`), `"isError":true`) // arguments that do not match the schema
	})
}

// TestTimeLimitOfTasks has the same tool run past the limit of a call, as a task, and past that of a task.
func TestTimeLimitOfTasks(t *testing.T) {
	t.Parallel()
	c := serveTasks(t, tasksProject(t, "[defaults.limits]\ntime = \"200ms\"\ntask = \"3s\""), environment(t))
	if got := c.ask(`{"jsonrpc":"2.0","id":-1,"method":"tools/call","params":{"name":"slow_compute","arguments":{"seconds":1}}}`); !strings.Contains(got, "time limit of 200ms") {
		t.Errorf("a call: %s", got)
	}
	c.await(c.begin("slow_compute", `{"seconds":1,"label":"task"}`), "Computed task")
	c.await(c.begin("slow_compute", `{"seconds":600}`), "time limit of 3s")
}
