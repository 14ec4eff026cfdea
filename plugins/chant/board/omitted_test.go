package board

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/spec"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/store"
)

func mustLoadWith(t *testing.T, root string, limits limits) *Board {
	t.Helper()
	board, err := load(store.Dir{Root: root}, nil, limits)
	if err != nil {
		t.Fatal(err)
	}
	return board
}

func TestLimitsOmitOldestSpecs(t *testing.T) {
	root := t.TempDir()
	write(t, root, files{
		"2026-01-01-001-aaa":   file("completed"),
		"2026-01-01-002-bbb":   file("failed"),
		"2026-01-02-001-ccc":   withBody("pending", "# D\n\n## Acceptance Criteria\n- [ ] x\n"),
		"2026-01-02-001-ccc.1": file("completed"),
		"2026-01-02-001-ccc.2": file("pending"),
		"2026-03-01-001-ddd":   file("pending", after("2026-01-01-001-aaa")),
		"2026-03-01-002-eee":   file("pending", after("2026-01-01-002-bbb")),
		"named":                file("pending"),
	})
	board := mustLoadWith(t, root, limits{specs: 4, bytes: 1 << 20})
	want := []string{"2026-01-02-001-ccc.2 pending*", "2026-03-01-001-ddd pending*", "2026-03-01-002-eee blocked", "named pending*"}
	if diff := cmp.Diff(want, statuses(board)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	text := "4 not included: 4 files from .chant/specs/2026-01-01-001-aaa.md to .chant/specs/2026-01-02-001-ccc.md (there are more than 4 specs: archive completed ones)"
	if got := board.Omitted(); got != text {
		t.Errorf("got %q\nwant %q", got, text)
	}
	for id, want := range map[string]string{
		"2026-01-01-001-aaa": "2026-01-01-001-aaa completed", "bbb": "2026-01-01-002-bbb failed", "ddd": "2026-03-01-001-ddd pending",
		"-001-":              "Ambiguous spec ID '-001-'. Matches: 2026-01-01-001-aaa, 2026-01-02-001-ccc, 2026-01-02-001-ccc.1, 2026-01-02-001-ccc.2, 2026-03-01-001-ddd",
		"2026-01-02-001-ccc": "2026-01-02-001-ccc pending",
	} {
		entry, err := board.Find(id, today)
		got := fmt.Sprint(err)
		if err == nil {
			got = entry.ID + " " + string(entry.Status)
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", id, got, want)
		}
	}
}

func TestOmittedNamesOnlyLimits(t *testing.T) {
	root := t.TempDir()
	write(t, root, files{
		"a": file("pending"), "bad": file("done"), "deep": "---\nx: " + strings.Repeat("[", 99) + strings.Repeat("]", 99) + "\n---\n",
		"front": "---\nx: " + strings.Repeat("x", 130<<10) + "\n---\n", "large": strings.Repeat("x", 5<<20),
	})
	board := mustLoad(t, root, nil)
	got := board.Omitted()
	for _, want := range []string{"2 not included: ", "/front.md (frontmatter is larger than 128 KiB)", "/large.md (larger than 4 MiB)"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %s in it", got, want)
		}
	}
	if _, err := board.Find("fron", today); err == nil || !strings.Contains(err.Error(), "larger than 128 KiB") {
		t.Errorf("Find by the abbreviated id: got the error %v", err)
	}
	if _, err := board.Find("ba", today); err == nil || err.Error() != "Spec not found: ba" {
		t.Errorf("Find by the id of an invalid file: got the error %v", err)
	}
}

func TestListedSpecIsReadWhenItIsFound(t *testing.T) {
	root := t.TempDir()
	const body = "# A\n\n## Acceptance Criteria\n- [ ] x"
	write(t, root, files{"a": withBody("pending", body), "a.1": file("pending"), "b": file("pending")})
	board := mustLoad(t, root, nil)
	if diff := cmp.Diff([]string{"a pending", "a.1 pending*", "b pending*"}, statuses(board)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if entry := board.byID["a"]; entry.Spec.Body != "" || *entry.Title() != "A" || board.Omitted() != "" {
		t.Errorf("got %+v, omitted %q", entry, board.Omitted())
	}
	if found, err := board.Find("a", today); err != nil || found.Spec.Body != body || *found.Title() != "A" || found.Sum == 0 {
		t.Errorf("Find: got %+v, %v", found, err)
	}
}

func TestFoundSpecHasTheStatusOfItsFileAsItIsNow(t *testing.T) {
	root := t.TempDir()
	write(t, root, files{"a": file("pending")})
	board := mustLoad(t, root, nil)
	write(t, root, files{"a": file("failed")})
	if found, err := board.Find("a", today); err != nil || found.Status != spec.Failed {
		t.Errorf("got %+v, %v", found, err)
	}
}
