// Package progress shows the progress of named tasks that run concurrently, such as builds and compilations.
//
// On a terminal the running tasks have a line each, which is redrawn, above a bar of all tasks; a task that ends leaves a
// line. On any other stream each reported step is a line, and so is each running task at the intervals of RepeatSteps. Names and texts are untrusted: invisible code points are replaced.
//
//	tasks := progress.To(os.Stderr)
//	defer tasks.Close()
//	task := tasks.Add("chant")    // waiting
//	task.Step("compiling")        // running
//	task.Done("3.4 MB in 9.8 s")  // or task.Fail("no Go compiler")
package progress

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/term"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

// Set is a set of tasks that are shown on one stream. A nil *Set shows nothing. Methods may be called concurrently.
type Set struct {
	w    io.Writer
	size func() (width, height int) // columns and rows of the terminal; nil if lines are not redrawn

	mu      sync.Mutex
	start   time.Time     // when the first task started
	running []*Task       // in the order of their starts
	tasks   int           // number of all tasks
	ended   int           // number of tasks that are done or failed
	failed  int           // number of tasks that failed
	shown   int           // number of lines at the end of w that the next draw replaces
	partial []byte        // last line written to the set, until its line feed follows
	frame   int           // index of the spinner's frame
	repeat  time.Duration // interval at which a plain stream repeats the steps of running tasks; 0: never
	stop    chan struct{}
	drawer  sync.WaitGroup
}

// Task is one task of a set. A nil *Task shows nothing. Methods may be called concurrently.
type Task struct {
	set         *Set
	name        string
	state       state
	step        string
	done, total int64
	start       time.Time
}

type state int

const (
	waiting state = iota
	running
	ended
)

// To returns a set of tasks that are shown on w. Lines are redrawn if w is a terminal that a person watches.
func To(w io.Writer) *Set {
	if term.CanRedraw(w) {
		return New(w, func() (width, height int) { return term.Size(w) })
	}
	return New(w, nil)
}

// New returns a set of tasks that are shown on w, with lines that are redrawn and fit into size(), or with plain lines if size is
// nil.
func New(w io.Writer, size func() (width, height int)) *Set { return &Set{w: w, size: size} }

// Redraws reports whether lines are redrawn, so that a running task is always visible.
func (s *Set) Redraws() bool { return s != nil && s.size != nil }

// RepeatSteps has a plain stream repeat the step of each running task at an interval, so that a long step is seen to continue. It must
// be called before Add.
func (s *Set) RepeatSteps(interval time.Duration) { s.repeat = interval }

// Add adds a task that is waiting.
func (s *Set) Add(name string) *Task {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tasks == 0 {
		s.start = time.Now()
	}
	s.tasks++
	if s.stop == nil && (s.size != nil || s.repeat > 0) {
		stop := make(chan struct{})
		s.stop = stop
		s.drawer.Go(func() { s.redraw(stop) })
	}
	return &Task{set: s, name: visible.Line(name)}
}

// Step starts the task, or the next step of a task that is running. An empty step is not reported as a line.
func (t *Task) Step(format string, args ...any) {
	t.change(func() {
		t.run()
		t.step, t.done, t.total = visible.Line(fmt.Sprintf(format, args...)), 0, 0
		if t.step != "" {
			t.set.line(t.name, t.step)
		}
	})
}

// Count reports that done of total units of the current step are done. A plain stream does not show it.
func (t *Task) Count(done, total int64) {
	t.change(func() {
		t.run()
		t.done, t.total = done, total
	})
}

// Done ends the task. An empty text leaves no line.
func (t *Task) Done(format string, args ...any) { t.end(false, fmt.Sprintf(format, args...)) }

// Fail ends the task with its error.
func (t *Task) Fail(format string, args ...any) { t.end(true, fmt.Sprintf(format, args...)) }

func (t *Task) end(failed bool, text string) {
	t.change(func() {
		t.set.running = slices.DeleteFunc(t.set.running, func(other *Task) bool { return other == t })
		t.state = ended
		t.set.ended++
		text = visible.Line(text)
		if failed {
			t.set.failed++
			text = strings.TrimSuffix("failed: "+text, ": ")
		}
		if text != "" {
			t.set.print(t.name + ": " + text)
		}
	})
}

// change changes a task that has not ended, and shows the change.
func (t *Task) change(change func()) {
	if t == nil {
		return
	}
	t.set.mu.Lock()
	defer t.set.mu.Unlock()
	if t.state != ended {
		change()
		t.set.draw()
	}
}

func (t *Task) run() {
	if t.state == waiting {
		t.state, t.start = running, time.Now()
		t.set.running = append(t.set.running, t)
	}
}

// Write prints complete lines, such as those of a log, above the lines that are redrawn. The text is not sanitized.
func (s *Set) Write(text []byte) (int, error) {
	if s == nil {
		return len(text), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.size == nil {
		return s.w.Write(text)
	}
	s.partial = append(s.partial, text...)
	if end := bytes.LastIndexByte(s.partial, '\n'); end >= 0 {
		s.print(string(s.partial[:end]))
		s.partial = slices.Delete(s.partial, 0, end+1)
		s.draw()
	}
	return len(text), nil
}

// Above returns a writer to w, which may be the same terminal: complete lines that it writes appear above the lines that are redrawn.
// It does not sanitize them.
func (s *Set) Above(w io.Writer) io.Writer { return above{s, w} }

type above struct {
	set *Set
	w   io.Writer
}

func (a above) Write(text []byte) (int, error) {
	a.set.mu.Lock()
	defer a.set.mu.Unlock()
	a.set.erase()
	defer a.set.draw()
	return a.w.Write(text)
}

// Close removes the lines that are redrawn. Lines of tasks that ended remain. A set can be closed more than once.
func (s *Set) Close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	stop := s.stop
	s.stop, s.running = nil, nil
	s.erase()
	if len(s.partial) > 0 {
		s.w.Write(append(s.partial, '\n'))
		s.partial = nil
	}
	s.mu.Unlock()
	if stop != nil {
		close(stop)
		s.drawer.Wait()
	}
}
