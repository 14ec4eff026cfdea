package progress_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/progress"
)

// screen emulates a terminal. It interprets the control sequences that the package writes; any other fails the test.
type screen struct {
	t     *testing.T
	mu    sync.Mutex
	lines []string
	y, x  int
	width int
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := string(p)
	for text != "" {
		var up int
		for len(s.lines) <= s.y {
			s.lines = append(s.lines, "")
		}
		switch {
		case strings.HasPrefix(text, "\x1b[J"):
			text, s.lines = text[3:], append(s.lines[:s.y], s.lines[s.y][:s.x])
		case strings.HasPrefix(text, "\x1b["):
			if n, err := fmt.Sscanf(text, "\x1b[%dA", &up); n != 1 || err != nil || up > s.y {
				s.t.Errorf("unexpected sequence %.10q at line %d", text, s.y)
			}
			s.y -= up
			text = text[strings.IndexByte(text, 'A')+1:]
		case text[0] == '\r':
			text, s.x = text[1:], 0
		case text[0] == '\n':
			text, s.x = text[1:], 0
			s.y++
		default:
			end := strings.IndexAny(text, "\r\n\x1b")
			if end < 0 {
				end = len(text)
			}
			if s.lines[s.y] = s.lines[s.y][:s.x] + text[:end]; len([]rune(s.lines[s.y])) >= s.width {
				s.t.Errorf("a line of %d columns wraps: %q", s.width, s.lines[s.y])
			}
			s.x, text = len(s.lines[s.y]), text[end:]
		}
	}
	return len(p), nil
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.TrimRight(strings.Join(s.lines, "\n"), "\n")
}

func onScreen(t *testing.T, width int) (*screen, *progress.Set) {
	s := &screen{t: t, width: width}
	return s, progress.New(s, func() (int, int) { return width, 24 })
}

func expect(t *testing.T, got fmt.Stringer, want ...string) {
	t.Helper()
	if g, w := got.String(), strings.Join(want, "\n"); g != w {
		t.Errorf("shown:\n%s\nwant:\n%s", g, w)
	}
}

func TestTerminalShowsRunningTasksAndBarOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shown, tasks := onScreen(t, 60)
		a, b, c := tasks.Add("chant"), tasks.Add("aam"), tasks.Add("notes")
		a.Step("compiling")
		b.Step("linking")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		b.Count(1, 2)
		expect(t, shown, "| chant    2 s  compiling", "| aam      2 s  [==========>         ]  50% linking", "[>                   ] 0 of 3  2 s")
		a.Done("3.4 MB")
		b.Fail("no Go\ncompiler")
		b.Step("a task that ended remains so")
		c.Step("compiling")
		expect(t, shown, "chant: 3.4 MB", "aam: failed: no Go compiler", "| notes    0 s  compiling", "[=============>      ] 2 of 3, 1 failed  2 s")
		c.Done("")
		tasks.Close()
		tasks.Close()
		expect(t, shown, "chant: 3.4 MB", "aam: failed: no Go compiler")
	})
}

func TestTerminalShowsOtherOutputAboveRunningTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shown, tasks := onScreen(t, 60)
		out := tasks.Above(shown)
		fmt.Fprintln(out, "before")
		tasks.Add("chant").Step("compiling")
		fmt.Fprintln(out, "a line of the output")
		expect(t, shown, "before", "a line of the output", "| chant    0 s  compiling")
		tasks.Close()
		fmt.Fprintln(out, "after")
		expect(t, shown, "before", "a line of the output", "after")
	})
}

func TestPlainStreamRepeatsLongSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shown strings.Builder
		tasks := progress.New(&shown, nil)
		tasks.RepeatSteps(10 * time.Second)
		chant, aam := tasks.Add("chant"), tasks.Add("aam")
		chant.Step("compiling")
		time.Sleep(15 * time.Second)
		chant.Done("")
		aam.Step("linking")
		time.Sleep(6 * time.Second)
		tasks.Close()
		expect(t, &shown, "chant: compiling", "chant: compiling, 10 s", "aam: linking", "aam: linking, 5 s", "")
	})
}

func TestTerminalBoundsLinesAndColumns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shown, tasks := onScreen(t, 24)
		for i := range 20 {
			tasks.Add(fmt.Sprintf("長い名前-%d", i)).Step("compiling a module with a long name")
		}
		if n := strings.Count(shown.String(), "\n") + 1; n != 10 {
			t.Errorf("the terminal shows %d lines, want 10:\n%s", n, shown)
		}
		tasks.Close()
		expect(t, shown)
		narrow, tasks := onScreen(t, 1)
		tasks.Add("chant").Step("compiling")
		tasks.Close()
		expect(t, narrow)
	})
}

// Lines that scroll out of the screen at its top cannot be redrawn, so a terminal with few rows shows fewer lines.
func TestTerminalBoundsRows(t *testing.T) {
	const bar = "[>                   ] 0 of 3  0 s"
	for height, want := range map[int][]string{
		24: {"| a    0 s  x", "| b    0 s  x", "| c    0 s  x", bar},
		5:  {"| a    0 s  x", "| b    0 s  x", "| c    0 s  x", bar},
		4:  {"| a    0 s  x", "  and 2 more", bar},
		3:  {"| a    0 s  x", bar},
		2:  {bar},
		1:  {},
	} {
		synctest.Test(t, func(t *testing.T) {
			shown := &screen{t: t, width: 60}
			tasks := progress.New(shown, func() (int, int) { return 60, height })
			for _, name := range []string{"a", "b", "c"} {
				tasks.Add(name).Step("x")
			}
			expect(t, shown, want...)
			tasks.Close()
			expect(t, shown)
		})
	}
}

func TestWriteKeepsLinesAboveTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shown, tasks := onScreen(t, 60)
		tasks.Add("chant").Step("compiling")
		fmt.Fprint(tasks, "warning: a\nwarn")
		expect(t, shown, "warning: a", "| chant    0 s  compiling")
		fmt.Fprint(tasks, "ing: b\nend")
		expect(t, shown, "warning: a", "warning: b", "| chant    0 s  compiling")
		tasks.Close()
		expect(t, shown, "warning: a", "warning: b", "end")
	})
}

func TestOtherStreamsGetALineForEachStep(t *testing.T) {
	var out strings.Builder
	tasks := progress.New(&out, nil)
	a, b := tasks.Add("chant"), tasks.Add("aam")
	a.Step("compiling")
	a.Count(1, 2)
	fmt.Fprint(tasks, "warning: a\n")
	b.Step("")
	b.Fail("%d errors", 2)
	a.Done("3.4 MB")
	tasks.Close()
	expect(t, &out, "chant: compiling", "warning: a", "aam: failed: 2 errors", "chant: 3.4 MB", "")
}

func TestToWritesPlainLinesToFiles(t *testing.T) {
	var out strings.Builder
	tasks := progress.To(&out)
	tasks.Add("chant").Step("compiling")
	tasks.Close()
	expect(t, &out, "chant: compiling", "")
}

func TestInvisibleCodePointsAreReplaced(t *testing.T) {
	for _, size := range []func() (int, int){nil, func() (int, int) { return 70, 24 }} {
		synctest.Test(t, func(t *testing.T) {
			shown := &screen{t: t, width: 70}
			tasks := progress.New(shown, size)
			defer tasks.Close()
			task := tasks.Add("ch\x1b[2Jant\u202e")
			task.Step("a\rb\x07\u009b\xff")
			task.Done("c\nd\x1b]0;title\x07")
			expect(t, shown, append(map[bool][]string{true: {"ch·[2Jant·: a b··�"}}[size == nil], "ch·[2Jant·: c d·]0;title·")...)
		})
	}
}

func TestNilSetShowsNothing(t *testing.T) {
	stream, err := os.Create(filepath.Join(t.TempDir(), "stream"))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	defer func(out, errors *os.File) { os.Stdout, os.Stderr = out, errors }(os.Stdout, os.Stderr)
	os.Stdout, os.Stderr = stream, stream
	var tasks *progress.Set
	task := tasks.Add("chant")
	if task != nil {
		t.Error("a nil Set has a task")
	}
	task.Step("compiling")
	task.Count(1, 2)
	task.Done("done")
	task.Fail("failed")
	if n, err := fmt.Fprintln(tasks, "line"); n != len("line\n") || err != nil {
		t.Errorf("a line to a nil Set: %d, %v", n, err)
	}
	tasks.Close()
	if info, err := stream.Stat(); err != nil || info.Size() > 0 {
		t.Errorf("%d bytes were shown, %v", info.Size(), err)
	}
}

func TestConcurrentTasks(t *testing.T) {
	shown, tasks := onScreen(t, 60)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			task := tasks.Add(fmt.Sprintf("task-%d", i))
			for n := range int64(50) {
				task.Step("step %d", n)
				task.Count(n, 50)
			}
			task.Done("done")
		})
	}
	all.Wait()
	tasks.Close()
	if n := strings.Count(shown.String(), ": done"); n != 20 {
		t.Errorf("%d tasks left a line, want 20:\n%s", n, shown)
	}
}
