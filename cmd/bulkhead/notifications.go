package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/progress"
)

// tasksOn returns a set of tasks that are shown on w: in plain lines if a program reads the output.
func tasksOn(w io.Writer, asJSON bool) *progress.Set {
	if asJSON {
		return progress.New(w, nil)
	}
	return progress.To(w)
}

// notifications shows the notifications that arrive during requests, one request at a time.
type notifications struct {
	tasks *progress.Set
	task  *progress.Task // shows the progress on a terminal; nil before the first notification of progress
	last  string         // the last line that was shown
}

// add shows a notification: progress in the line of a task on a terminal, and anything else as a line. A line that repeats
// the previous one is left out, because the host repeats its reports while it compiles a module.
func (n *notifications) add(method string, params json.RawMessage) {
	var p notification
	if n.tasks.Redraws() && json.Unmarshal(params, &p) == nil && p.Level == "" {
		if n.task == nil {
			n.task = n.tasks.Add("waiting")
		}
		n.task.Step("%s", p.Message)
		if p.Total > 0 {
			const units = 1000
			n.task.Count(int64(units*max(0, min(1, p.Progress/p.Total))), units)
		}
		return
	}
	if line := oneLine(formatNotification(method, params)); line != n.last { // a plugin must not be able to forge a line
		n.last = line
		fmt.Fprintf(n.tasks, "%s\n", line)
	}
}

// end removes the line of the task.
func (n *notifications) end() {
	n.task.Done("")
	n.task, n.last = nil, ""
	n.tasks.Close()
}

// notification has the parameters of a progress or log notification.
type notification struct {
	Progress float64         `json:"progress"`
	Total    float64         `json:"total"`
	Message  string          `json:"message"`
	Level    string          `json:"level"`
	Data     json.RawMessage `json:"data"`
}

// formatNotification formats a progress or log notification as one line.
func formatNotification(method string, params json.RawMessage) string {
	var p notification
	if json.Unmarshal(params, &p) != nil {
		return method
	}
	switch {
	case p.Level != "":
		return fmt.Sprintf("%s: %s", p.Level, p.Data)
	case p.Total > 0:
		return strings.TrimSpace(fmt.Sprintf("%g of %g %s", p.Progress, p.Total, p.Message))
	case p.Message != "" && p.Progress < 0.001: // the host's own reports, which count in millionths
		return p.Message
	}
	return strings.TrimSpace(fmt.Sprintf("%g %s", p.Progress, p.Message))
}
