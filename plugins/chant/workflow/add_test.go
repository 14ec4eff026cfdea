package workflow_test

import (
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/workflow"
)

func TestAdd(t *testing.T) {
	t.Run("the sequence number is one above today's highest, members included", func(t *testing.T) {
		p := newProject(t, files{"specs/2026-03-02-009-xxx.md": "", "specs/2026-03-02-00a-yyy.2.md": "", "specs/2026-03-01-00z-abc.md": ""})
		got := answer(p.Add("New", nil))
		if !regexp.MustCompile(`^Created spec: 2026-03-02-00b-[0-9a-z]{3}$`).MatchString(got) {
			t.Error(got)
		}
	})
	t.Run("archived specs do not count, and the date is local", func(t *testing.T) {
		p := newProject(t, files{"archive/2026-03-02/2026-03-02-009-xxx.md": ""})
		if got := answer(p.Add("New", nil)); !strings.HasPrefix(got, "Created spec: 2026-03-02-001-") {
			t.Error(got)
		}
	})
	t.Run("lines after the first are the body, and the prompt is quoted", func(t *testing.T) {
		p := newProject(t, nil)
		id := strings.TrimPrefix(answer(p.Add("A\nB", new("x: y"))), "Created spec: ")
		details, err := p.Get(id)
		if err != nil {
			t.Fatal(err)
		}
		if *details.Title != "A" || details.Body != "# A\nB" || *details.Prompt != "x: y" || details.Status != "pending" {
			t.Errorf("got %+v", details)
		}
	})
	t.Run("concurrent calls create distinct files", func(t *testing.T) {
		p := newProject(t, nil)
		const many = 40
		var all sync.WaitGroup
		for range many {
			all.Go(func() {
				if got := answer(p.Add("New", nil)); !strings.HasPrefix(got, "Created spec: ") {
					t.Error(got)
				}
			})
		}
		all.Wait()
		if got := contents(t, p); len(got) != many {
			t.Errorf("%d files, want %d", len(got), many)
		}
	})
	t.Run("another id is generated if the first exists", func(t *testing.T) {
		p := newProject(t, nil)
		p.Random = strings.NewReader("\x00\x00\x00" + "\x01\x01\x01")
		first := answer(p.Add("One", nil))
		if first != "Created spec: 2026-03-02-001-000" {
			t.Fatal(first)
		}
		race := &racing{p: p, t: t, suffixes: "\x02\x02\x02\x02\x02\x02\x03\x03\x03"}
		p.Random = race
		if got := answer(p.Add("Two", nil)); got != "Created spec: 2026-03-02-003-222" {
			t.Error(got)
		}
		if got := get(t, p, "specs/2026-03-02-002-222.md"); got != "theirs" {
			t.Errorf("the other server's file has the content %q", got)
		}
	})
}

// racing is a source of random suffixes. It simulates another server that creates the file with the first suffix.
type racing struct {
	p        *workflow.Project
	t        *testing.T
	suffixes string
	read     int
}

func (r *racing) Read(into []byte) (int, error) {
	if r.read == 2 {
		put(r.t, r.p, "specs/2026-03-02-002-222.md", "theirs")
	}
	n := copy(into, r.suffixes[r.read:])
	r.read += n
	return n, nil
}
